"""`--storage KEY=VALUE` of the command line, and what the client of a store is given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.store import ObjectStore
from lance_sql.store.access import Access
from tests.object_stores.places import Place


@pytest.fixture(autouse=True)
def _nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def options(place: Place) -> list[str]:
    given = place.options | {"dynamodb_endpoint": ""}
    return [word for name, value in given.items() for word in ("--storage", f"{name}={value}")]


VERBS = {
    "head": ["head", "{}"],
    "history": ["history", "{}"],
    "query": ["SELECT count(*) FROM '{}'"],
    "recipe": ["queries", "growth", "{}"],
    "verify": ["verify", "{}", "--quiet"],
    "merge": ["merge", "{}", "SELECT 1 AS id", "--on", "id", "--yes"],
    "index": ["index", "create", "{}", "id", "btree", "--quiet"],
    "write": ["write", "{}", "FROM '{}'", "--mode", "append", "--quiet"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_take_storage_options(place: Place, verb: str) -> None:
    uri = place.new_uri()
    lance_sql.write({"id": [1, 2]}, uri, storage_options=place.options)
    result = CliRunner().invoke(main, [*(each.format(uri) for each in VERBS[verb]), *options(place)])
    assert result.exit_code == 0, result.output
    assert Access.of().options == ()


@pytest.mark.parametrize("joined", [False, True])
def test_options_before_a_statement(place: Place, joined: bool) -> None:
    uri = place.new_uri()
    lance_sql.write({"id": [1, 2]}, uri, storage_options=place.options)
    given = options(place)
    if joined:
        given = [f"--storage={value}" for value in given[1::2]]
    result = CliRunner().invoke(main, [*given, f"SELECT sum(id) FROM '{uri}'", "--output", "csv"])
    assert result.stdout.split()[-1] == "3"


@pytest.mark.parametrize("given", ["endpoint", "=x", ""])
def test_mistakes(given: str) -> None:
    result = CliRunner().invoke(main, ["head", "s3://b/t.lance", "--storage", given])
    assert result.exit_code == 2
    assert f"{given!r} is not of the form KEY=VALUE" in result.output


@pytest.mark.parametrize(("given", "expected"), [({}, "15s"), ({"pool_idle_timeout": "60s"}, "60s")])
def test_idle_connections_are_closed(place: Place, given: dict[str, str], expected: str) -> None:
    store = ObjectStore(place.new_uri(), place.options | given)
    assert store._client.client_options["pool_idle_timeout"] == expected
