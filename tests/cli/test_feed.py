"""`lance-sql changes`: what is listed, and what is said where that is not possible."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`t.lance`: version 2 updates row 1, version 3 deletes row 2, version 4 inserts row 8; a branch deletes row 1."""
    monkeypatch.chdir(tmp_path)
    made = lance_sql.write(pa.table({"id": [1, 2], "s": ["a", "b"]}), "t.lance").update({"s": "'new'"}, "id = 1")
    made = made.delete("id = 2")
    made.create_tag("third")
    made.create_branch("dev").delete("id = 1")
    lance_sql.write(pa.table({"id": [8], "s": ["h"]}), "t.lance", mode="append")
    return "t.lance"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["changes", *arguments])


def listed(*arguments: str) -> list[tuple[str, ...]]:
    """Id, kind and version of each row."""
    result = run(*arguments, "--output", "csv")
    assert result.exit_code == 0, result.output
    rows = csv.DictReader(io.StringIO(result.stdout))
    return [(row["id"], row["_change_type"], row["_commit_version"]) for row in rows]


UPDATE = [("1", "update_preimage", "2"), ("1", "update_postimage", "2")]
DELETE = [("2", "delete", "3")]
INSERT = [("8", "insert", "4")]


def test_a_range_has_deletes_and_both_images(table: str) -> None:
    assert listed(table, "2", "4") == listed(table, "2") == UPDATE + DELETE + INSERT
    assert listed(table, "2", "2") == UPDATE
    assert listed(table, "third", "third") == DELETE
    assert listed(table, "--since", "third") == INSERT
    assert listed(f"{table}@3", "2") == UPDATE + DELETE
    assert listed(table, "3", "--branch", "dev") == [*DELETE, ("1", "delete", "4")]
    assert listed(table, "--since", "4") == []


def test_modes_filters_and_limits(table: str) -> None:
    assert listed(table, "--mode", "insert_only", "--since", "1") == INSERT
    assert sorted(listed(table, "2", "--mode", "net")) == sorted(UPDATE + DELETE + INSERT)
    assert listed(table, "2", "--where", "_change_type = 'delete' AND s = 'b'") == DELETE
    assert listed(table, "2", "--limit", "1") == UPDATE[:1]
    assert listed(table, "2", "--key", "id", "--drop-unchanged") == UPDATE + DELETE + INSERT


def test_results_are_json_and_text(table: str) -> None:
    (row,) = json.loads(run(table, "3", "3", "-o", "json").stdout)
    assert (row["s"], row["_commit_version"], row["_rowid"]) == ("b", 3, 1)
    assert run(table, "3", "3").stdout.splitlines()[2].split()[:4] == ["2", "b", "delete", "3"]
    assert run(table, "2", "3", "--explain").stdout.splitlines()[0] == "changes of t.lance versions 2 to 3, mode all"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2", "9"), "Version 9 does not exist in t.lance"),
        (("nosuch",), "neither a tag of t.lance nor a time"),
        (("2", "--since", "1"), "not both"),
        (("2", "--where", "nosuch = 1"), "nosuch"),
        (("2", "--mode", "some"), "some"),
    ],
)
def test_what_is_wrong_goes_to_stderr(table: str, arguments: tuple[str, ...], message: str) -> None:
    result = run(table, *arguments)
    assert result.exit_code in (2, 3)
    assert message in result.stderr
    assert result.stdout == ""


def test_what_a_cleanup_removed_is_said(table: str) -> None:
    lance_sql.open(table).cleanup(retain_versions=1)
    result = run(table, "2")
    assert result.exit_code in (2, 3)
    assert "The oldest start that is possible is 4 (since=3)" in result.stderr
