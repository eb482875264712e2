"""`lance-sql index` and `lance-sql explain`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from lance_sql.format.file.learned import LEARNED


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lance_sql.write({"id": range(20_000), "k": [i % 7 for i in range(20_000)], "word": ["a"] * 20_000}, "data.lance")
    return "data.lance"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_an_index_from_beginning_to_end(table: str) -> None:
    made = run("index", "create", table, "id", "btree")
    assert made.exit_code == 0
    assert made.stderr == "data.lance is at version 2\n"
    assert run("index", "create", table, "k", "bitmap", "--name", "by_k").exit_code == 0
    listed = run("index", "list", table, "-o", "csv").stdout.splitlines()
    assert [line.rpartition(",")[0] for line in listed] == [
        "name,kind,columns,segments,fragments,uncovered",
        "id_idx,btree,id,1,1,0",
        "by_k,bitmap,k,1,1,0",
    ]
    assert run("index", "optimize", table).stderr == "Nothing to do.\n"
    lance_sql.write({"id": [20_000], "k": [7]}, table, mode="append")
    assert run("index", "optimize", table, "by_k").stderr == "data.lance is at version 5\n"
    assert [each.num_uncovered for each in lance_sql.open(table).indices.list()] == [1, 0]
    assert "Would drop the index 'by_k'" in run("index", "drop", table, "by_k", "--dry-run").stderr
    assert run("index", "drop", table, "no", "--dry-run").exit_code == 2
    asked = run("index", "drop", table, "by_k")
    assert "pass --yes to drop the index 'by_k'" in asked.stderr
    assert run("index", "drop", table, "by_k", "--yes").exit_code == 0
    assert [each.name for each in lance_sql.open(table).indices.list()] == ["id_idx"]


def test_explain_counts_pruned_rows(table: str) -> None:
    run("index", "create", table, "id", "zonemap")
    shown = run("explain", table, "id = 9000", "--columns", "k", "--analyze").stdout
    assert "ruled out by scalar indices: 0 of 1 fragments, 0 of 2 pages, 11808 of 20000 rows" in shown
    assert "id_idx (zonemap): covers 1 of 1 fragments" in shown
    assert "returned: 1 of 8192 rows, planned in" in shown
    assert "ruled out by scalar" not in run("explain", table, "id = 9000", "--no-indices").stdout


def test_a_kind_may_have_the_name_of_pylance(table: str) -> None:
    assert run("index", "create", table, "word", "FTS").exit_code == 0
    assert [index.kind for index in lance_sql.open(table).indices.list()] == ["fulltext"]


def test_what_is_refused(table: str) -> None:
    for name in ("column", "kind", "name", "replace", "progress", "properties", "job"):
        refused = run("index", "create", table, "id", "btree", "--option", f"{name}=x")
        assert refused.exit_code == 2
        assert "--option is NAME=VALUE" in refused.stderr
    assert run("index", "create", table, "id", "hash").exit_code == 2
    assert run("index", "create", f"{table}@1", "id", "btree").exit_code == 2
    refused = run("index", "drop", table, "nope", "--yes")
    assert refused.exit_code != 0
    assert "has no index 'nope'; it has none" in refused.stderr


def test_later_processes_use_analyzed_statistics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"id": range(60_000), "k": [i % 7 for i in range(60_000)], "note": [[1]] * 60_000}
    lance_sql.write(rows, "large.lance")
    refused = run("analyze", "large.lance", "id")
    assert refused.exit_code == 2
    assert "Name a folder" in refused.stderr
    LEARNED.clear()
    shown = run("analyze", "large.lance", "id", "k", "--cache", "kept")
    assert shown.stdout == "id: 8 of 8 zones learned\nk: 8 of 8 zones learned\n"
    LEARNED.clear()
    monkeypatch.setenv("LANCE_SQL_STATISTICS_CACHE", str(tmp_path / "kept"))
    assert "id: 8 of 8 zones learned" in run("explain", "large.lance", "id = 9").stdout
    LEARNED.clear()
    assert run("analyze", "large.lance").stdout == shown.stdout
    assert "Column 'note' is" in run("analyze", "large.lance", "note").stderr
    LEARNED.clear()
    failed = run("analyze", "large.lance", "id", "--cache", "large.lance/_versions/latest_version_hint.json")
    assert (failed.exit_code, failed.stdout) == (3, "")
    assert "statistics cannot be stored in large.lance/_versions/latest_version_hint.json: File exists" in failed.stderr
