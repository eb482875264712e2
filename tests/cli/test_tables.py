"""`lance-sql describe`, `head`, `merge`, `branch` and `repair`."""

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
    lance_sql.write({"id": [1, 2, 3], "v": ["a", "b", "c"]}, "t.lance").tags.create("start")
    (tmp_path / "new.csv").write_text("id,v\n2,B\n9,new\n")
    return "t.lance"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def rows(path: str) -> dict[int, str]:
    read = lance_sql.open(path).scan(["id", "v"]).to_table()
    return dict(zip(read["id"].to_pylist(), read["v"].to_pylist(), strict=True))


def test_describe_is_a_screen(table: str) -> None:
    content = json.loads(run("describe", table, "-o", "json").stdout)
    assert (content["rows"], content["version"], content["stable_row_ids"]) == (3, 1, True)
    assert content["tags"] == ["start@1"]
    assert content["columns"][1] == {"column": "v", "type": "string", "nullable": True}
    text = run("describe", "t.lance@start").stdout
    assert "stable row ids  yes" in text
    assert "  v   string" in text


def test_head_shows_the_first_rows(table: str) -> None:
    assert run("head", table, "-n", "1").stdout == "id  v\n--  -\n 1  a\n"
    assert run("head", table, "--columns", "v", "-w", "id > 1", "-o", "csv").stdout == "v\nb\nc\n"
    assert run("head", table, "--columns", "w").exit_code == 2


def test_merging(table: str) -> None:
    result = run("merge", table, "new.csv", "--on", "id", "--yes")
    assert (result.exit_code, rows(table)) == (0, {1: "a", 2: "B", 3: "c", 9: "new"})
    assert "version 2: inserted 1 row, updated 1 row" in result.stderr
    result = run("merge", table, "SELECT 1 AS id", "--on", "id", "--when-matched", "delete", "--delete-unmatched", "-y")
    assert rows(table) == {}


def test_a_merge_describes_its_dry_run(table: str) -> None:
    result = run("merge", table, "new.csv", "--on", "id", "--dry-run")
    assert result.stderr == "Would insert 1 row, update 1 row in t.lance version 1.\n"
    assert lance_sql.open(table).version == 1
    result = run("merge", table, "SELECT 99 AS id", "--on", "id", "--when-not-matched", "ignore", "--dry-run")
    assert result.stderr == "Nothing to merge: no row would change.\n"
    assert run("merge", table, "new.csv", "--on", "id").exit_code == 2
    assert run("merge", table, "new.csv", "--on", "nn", "--yes").exit_code == 2
    assert run("merge", "t.lance@1", "new.csv", "--on", "id", "--yes").exit_code == 2


def test_branches(table: str) -> None:
    assert run("branch", "t.lance@start", "dev").exit_code == 0
    assert run("branch", table).stdout == "dev\tmain@1\n"
    assert json.loads(run("describe", "t.lance@dev", "-o", "json").stdout)["branch"] == "dev"
    result = run("restore", "t.lance@dev", "--yes")
    assert (result.exit_code, "'dev' is a branch: give a version or a tag to restore." in result.stderr) == (2, True)
    assert run("branch", table, "dev").exit_code == 2
    assert run("branch", table, "dev", "--delete").exit_code == 2
    assert run("branch", table, "none", "--delete", "--yes").exit_code == 3
    assert run("branch", table, "dev", "--delete", "--yes").exit_code == 0
    assert run("branch", table).stdout == ""


def damage(path: str) -> None:
    """Cuts the newest data file."""
    newest = max(Path(path, "data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:50])


def test_a_damaged_table_is_repaired(table: str) -> None:
    assert "is healthy: nothing to repair" in run("repair", table).stderr
    lance_sql.write({"id": [7], "v": ["x"]}, table, mode="append")
    damage(table)
    result = run("repair", table, "--dry-run")
    assert (
        "Would return to version 1 with 3 rows, from version 2, which has 4 rows by its manifest; 'lance-sql salvage'"
        in result.stderr
    )
    assert lance_sql.open(table).version == 2
    assert run("repair", table).exit_code == 2
    result = run("repair", table, "--yes")
    assert (result.exit_code, rows(table)) == (0, {1: "a", 2: "b", 3: "c"})
    assert lance_sql.open(table).version == 3
    assert run("repair", table).exit_code == 0


def test_a_damaged_manifest_is_repaired(table: str) -> None:
    lance_sql.write({"id": [7], "v": ["x"]}, table, mode="append")
    manifest = min(Path(table, "_versions").glob("*.manifest"))
    manifest.write_bytes(b"\x00" * 40)
    result = run("repair", table, "--yes")
    assert (result.exit_code, rows(table)) == (0, {1: "a", 2: "b", 3: "c"}), result.stderr
    assert "cannot be read" in result.stderr


def test_irreparable_tables_are_reported(table: str) -> None:
    damage(table)
    result = run("repair", table, "--yes")
    assert (result.exit_code, lance_sql.open(table).version) == (3, 1)
    assert "no version of t.lance is healthy" in result.stderr
