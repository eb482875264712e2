"""Patterns and lists of tables in DuckDB itself, versions counted from the newest, and prepared statements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument


@pytest.fixture
def connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("a", "b", "c")):
        lance_sql.write({"id": [number, number + 10]}, f"{name}.lance")
    with lance_sql.connect() as connection:
        yield connection


@pytest.mark.parametrize(
    ("table", "ids"),
    [
        ("'*.lance'", [0, 1, 2, 10, 11, 12]),
        ("'[ab].lance'", [0, 1, 10, 11]),
        ("'?.lance@1'", [0, 1, 2, 10, 11, 12]),
        ("lance_scan('*.lance')", [0, 1, 2, 10, 11, 12]),
        ("lance_table(['c.lance', 'a.lance'])", [0, 2, 10, 12]),
        ("lance_scan(['[ab].lance', 'c.lance'], filter := 'id > 9')", [10, 11, 12]),
        ("lance_scan(['a.lance', 'a.lance'])", [0, 0, 10, 10]),
        ("lance_scan(['?.lance', 'a.lance@1'])", [0, 0, 1, 2, 10, 10, 11, 12]),
    ],
)
def test_several_tables_are_read_together(connection: Any, table: str, ids: list[int]) -> None:
    assert connection.execute(f"SELECT id FROM {table} ORDER BY id").fetchall() == [(each,) for each in ids]


def test_filters_reach_every_table(connection: Any) -> None:
    assert connection.execute("SELECT count(*) FROM '*.lance' WHERE id = 11").fetchall() == [(1,)]
    assert connection.execute("SELECT max(_rowid), count(*) FROM lance_scan('*.lance')").fetchall() == [(1, 6)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("'z*.lance'", "No Lance table matches 'z"),
        ("lance_scan([])", "The list of tables is empty"),
        ("lance_scan('s3://bucket/*.lance')", "only local folders support"),
        ("lance_scan(['a.lance', 'other.lance'])", "other.lance has word string where a.lance has id int64"),
        ("lance_scan(['a.lance', 'wide.lance'])", "wide.lance has more int64 where a.lance has no such column"),
        ("lance_scan(['wide.lance', 'a.lance'])", "wide.lance has more than a.lance"),
        ("lance_scan(['a.lance', 'old.lance'])", "old.lance has no stable row ids, and so no _row_created_at_version"),
        ("lance_scan(['old.lance', 'a.lance'])", "old.lance has no stable row ids, and so no _row_created_at_version"),
    ],
)
def test_tables_that_do_not_go_together_are_refused(connection: Any, table: str, message: str) -> None:
    lance_sql.write({"word": ["x"]}, "other.lance")
    lance_sql.write({"id": [1], "more": [1]}, "wide.lance")
    lance_sql.write({"id": [7]}, "old.lance", stable_row_ids=False)
    with pytest.raises(duckdb.Error, match=message.replace("(", r"\(")):
        connection.execute(f"FROM {table}")


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_tables_with_and_without_stable_row_ids_are_read_without_system_columns(connection: Any, engine: str) -> None:
    lance_sql.write({"id": [7]}, "old.lance", stable_row_ids=False)
    text = "SELECT count(*) AS n FROM {}(['a.lance', 'old.lance'])"
    assert lance_sql.sql(text.format("lance_table"), engine).to_pylist() == [{"n": 3}]
    with pytest.raises(InvalidArgument, match=r"old\.lance has no stable row ids, .* Use lance_table"):
        lance_sql.sql(text.format("lance_scan"), engine)


def test_a_folder_with_signs_of_a_pattern_is_a_table(connection: Any) -> None:
    lance_sql.write({"id": [7]}, "odd[1].lance")
    assert connection.execute("FROM 'odd[1].lance'").fetchall() == [(7,)]


def test_versions_are_counted_from_the_newest(connection: Any) -> None:
    lance_sql.write({"id": [7]}, "a.lance", mode="append")
    lance_sql.write({"id": [8]}, "a.lance", mode="append")
    for table, rows in (("lance_scan('a.lance', version := -1)", 3), ("'a.lance@-2'", 2)):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchall() == [(rows,)]
    with pytest.raises(duckdb.Error, match=r"Version -3 does not exist in a.lance: versions 1 to 3 are available"):
        connection.execute("FROM lance_scan('a.lance', version := -3)")
    assert lance_sql.open("a.lance", version=-1).version == 2
    assert lance_sql.open("a.lance", version=-1) == lance_sql.open("a.lance", version=2)


def test_a_connection_keeps_what_its_scans_learn(tmp_path: Path) -> None:
    lance_sql.write({"id": range(100_000)}, tmp_path / "t.lance")
    cache = tmp_path / "cache"
    connection = lance_sql.connect(statistics_cache=cache)
    query = f"SELECT id FROM lance_scan('{tmp_path}/t.lance') WHERE id = 17"
    assert connection.execute(query).fetchall() == [(17,)]
    connection.close()
    assert [each for each in cache.rglob("*") if each.is_file()]


def test_queries_that_begin_before_a_commit_end_after_it(connection: Any) -> None:
    relation = connection.sql("SELECT a.id FROM 'a.lance' a JOIN 'a.lance' b USING (id)")
    assert relation.fetchall()
    lance_sql.write({"id": [7]}, "a.lance", mode="append")
    assert len(connection.sql("SELECT a.id FROM 'a.lance' a JOIN 'a.lance' b USING (id)").fetchall()) == 3
