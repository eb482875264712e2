"""`lance-sql diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    made = lance_sql.write({"id": [1, 2, 3], "v": ["a", "b", "c"]}, "t.lance")
    made.tags.create("start")
    made = made.update({"v": "'x'"}, "id = 2")
    made.delete("id = 3")
    return "t.lance"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", *arguments])


@pytest.mark.parametrize(
    ("arguments", "counts"),
    [
        (["t.lance@1", "t.lance@2"], (0, 1, 0)),
        (["t.lance@start", "t.lance"], (0, 1, 1)),
        (["t.lance", "1", "2"], (0, 1, 0)),
        (["t.lance", "1"], (0, 1, 1)),
        (["t.lance@start"], (0, 1, 1)),
        (["t.lance"], (0, 0, 1)),
        (["t.lance", "3", "1"], (1, 1, 0)),
        (["t.lance@1", "t.lance@2", "--key", "id"], (0, 1, 0)),
    ],
)
def test_versions_are_named_in_many_ways(table: str, arguments: list[str], counts: tuple[int, int, int]) -> None:
    result = run(*arguments, "-o", "json")
    content = json.loads(result.stdout)
    assert tuple(content[f"rows_{what}"] for what in ("inserted", "updated", "deleted")) == counts
    assert result.exit_code == 1


def test_a_branch_is_named_as_a_tag_is(table: str) -> None:
    branch = lance_sql.open("t.lance").branches.create("dev")
    branch.delete("id = 1")
    result = run("t.lance", "t.lance@dev", "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)["rows_deleted"]) == (1, 1)
    result = run("t.lance", "t.lance@none")
    assert (result.exit_code, "No tag or branch 'none'" in result.stderr) == (3, True), result.stderr


def test_text_shows_cells_and_counts(table: str) -> None:
    result = run("t.lance", "1", "2")
    assert "1 row updated, by _rowid: v 1\n  ~ _rowid=1, id=2\n      v  b -> x\n" in result.stdout
    assert "... 1 more" in run("t.lance", "1", "--limit", "0").stdout


def test_the_same_version_has_no_differences(table: str) -> None:
    result = run("t.lance@1", "t.lance@start")
    assert result.stdout.endswith("No differences.\n")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        ([], 2, "Missing argument"),
        (["a", "b", "c", "d"], 2, "not 4 arguments"),
        (["t.lance@1", "1", "2"], 2, "without a version"),
        (["t.lance@9", "t.lance"], 3, "Version 9 does not exist"),
        (["none.lance", "t.lance"], 3, "No Lance table at 'none.lance'"),
        (["other.lance", "t.lance"], 2, "--key id"),
        (["other.lance", "t.lance", "--key", "nn"], 2, "No column 'nn'"),
        (["other.lance"], 2, "has one version"),
    ],
)
def test_failures_name_the_cure(table: str, arguments: list[str], exit_code: int, message: str) -> None:
    lance_sql.write({"id": [1]}, "other.lance")
    result = run(*arguments)
    assert (result.exit_code, message in result.stderr) == (exit_code, True), result.stderr
    assert "Traceback" not in result.stderr


def test_the_last_run_of_a_job_is_compared(table: str) -> None:
    with lance_sql.job("nightly"):
        lance_sql.open(table).update({"v": "'y'"}, "id = 1").update({"v": "'z'"}, "id = 1")
    lance_sql.open(table).delete("id = 1")
    result = run(table, "--job", "nightly")
    assert result.exit_code == 1
    assert "t.lance version 3 -> t.lance version 5" in result.stdout
    assert "job nightly" in result.stdout
    assert run(table, table, "--job", "nightly").exit_code == 2
    assert "No commit of t.lance is of the job 'weekly'" in run(table, "--job", "weekly").stderr
