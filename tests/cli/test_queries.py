"""Ready-made queries: each runs in DuckDB and DataFusion and finds the rows of the example table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.recipes import EverydayQuery, everyday_queries, everyday_query

ORDERS = str(Path(__file__).parents[2] / "examples" / "orders.lance")
VALUES = {"since": "4", "key": "customer,status", "row": "369"}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["queries", *arguments])


def rows(name: str, *options: str, table: str = ORDERS) -> list[dict[str, Any]]:
    result = run(name, table, *options, "-o", "json")
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("query", everyday_queries(), ids=lambda query: query.name)
def test_every_query_gives_the_same_rows_in_both_engines(query: EverydayQuery) -> None:
    given = {parameter.name: VALUES[parameter.name] for parameter in query.parameters if parameter.name in VALUES}
    text = query.to_sql(ORDERS, given)
    found = lance_sql.sql(text, "duckdb").fetchall()
    assert lance_sql.sql(text, "datafusion", dialect="duckdb").to_table().num_rows == len(found)
    assert query.about.endswith(".")


def test_they_are_listed() -> None:
    lines = run().stdout.splitlines()
    assert len(lines) == len(everyday_queries()) >= 12
    assert lines == sorted(lines)
    assert any(line.startswith("changed-since ") and "[--since ...]" in line for line in lines)


def test_changes_are_counted_by_commit() -> None:
    found = rows("changed-since", "--since", "4")
    assert [(row["version"], row["inserted"], row["updated"], row["deleted"]) for row in found] == [
        (5, 0, 0, 50),
        (6, 12, 12, 0),
        (9, 8, 0, 0),
    ]
    assert rows("changed-since", "--since", "audited") == found[1:]


def test_rows_that_changed_come_with_their_values() -> None:
    assert len(rows("changed-rows", "--since", "4")) == 82
    assert len(rows("changed-rows", "--since", "4", "--limit", "3")) == 3
    assert {row["_change_type"] for row in rows("deleted-rows", "--since", "4")} == {"delete"}


def test_duplicates_are_found(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2, 2], "day": [1, 1, 2]}, path)
    lance_sql.write({"id": [1, 2, 3], "day": [1, 1, 2]}, path, mode="append")
    assert rows("duplicates", "--key", "id", table=path) == [{"id": 2, "rows": 3}, {"id": 1, "rows": 2}]
    assert rows("duplicates", "--key", "id, day", table=path) == [
        {"id": 1, "day": 1, "rows": 2},
        {"id": 2, "day": 1, "rows": 2},
    ]
    assert rows("duplicate-versions", "--key", "id", table=path) == [
        {"created_version": 1, "rows": 1},
        {"created_version": 2, "rows": 2},
    ]


def test_missing_keys_are_found() -> None:
    assert len(rows("missing-keys", "--key", "id", "--since", "4")) == 50


def test_dead_rows_and_growth(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2, 3, 4]}, path).delete("id = 2")
    assert [(row["deleted_rows"], row["percent"]) for row in rows("dead-rows", table=path)] == [(1, 25.0)]
    assert rows("dead-rows", "--share", "0.5", table=path) == []
    assert rows("dead-rows") == []
    assert sum(row["commits"] for row in rows("growth")) == 9
    assert sum(row["rows"] for row in rows("ages")) == 370
    assert len(rows("row-story", "--row", "369")) == 3


def test_updates_long_after_the_insert(tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2]}, path).update({"id": "id + 10"}, "id = 2")
    (found,) = rows("late-updates", "--seconds", "0", table=path)
    assert (found["created_version"], found["updated_version"]) == (1, 2)
    assert rows("late-updates", table=path) == []


def test_the_sql_is_shown() -> None:
    result = run("duplicates", "it's.lance", "--key", 'a"b', "--show")
    assert "lance_table('it''s.lance')" in result.stdout
    assert 'SELECT "a""b", count(*)' in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["changed-sinc", ORDERS], "Did you mean 'changed-since'?"),
        (["changed-since", ORDERS], "Missing option '--since'"),
        (["duplicates", ORDERS, "--key", "id,,day"], "pass columns"),
        (["churn", ORDERS, "--since", "4", "--limit", "many"], "pass number"),
        (["dead-rows", ORDERS, "--share", "1; DROP"], "pass fraction"),
        (["growth", ORDERS + "@4"], "without a version"),
        (["growth", "none.lance"], "No Lance table"),
    ],
)
def test_mistakes_are_reported(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (2, 3)
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_parameters_are_checked() -> None:
    with pytest.raises(InvalidArgument, match="has no parameter 'sinc'"):
        everyday_query("churn").to_sql("t.lance", {"sinc": 4})
    with pytest.raises(InvalidArgument, match="needs since"):
        everyday_query("churn").to_sql("t.lance")
    assert "since => '2026-11-21'" in everyday_query("churn").to_sql("t.lance", {"since": "2026-11-21"})
