"""The change feed in SQL: the functions of DuckDB and DataFusion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Version 2 updates row 1, version 3 deletes row 2, version 4 inserts rows 8 and 9."""
    made = lance_sql.write(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}), tmp_path / "t.lance")
    made = made.update({"s": "'new'"}, "id = 1").delete("id = 2")
    made = lance_sql.write(pa.table({"id": [8, 9], "s": ["h", "i"]}), made.uri, mode="append")
    made.tags.create("second", 2)
    return made.uri


class Engine:
    """One engine, and how it writes a call."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        raise NotImplementedError


class DuckDB(Engine):
    def __init__(self) -> None:
        pytest.importorskip("duckdb")
        self.connection = lance_sql.connect()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.connection.sql(sql).fetchall()
        return rows


class DataFusion(Engine):
    def __init__(self) -> None:
        datafusion = pytest.importorskip("datafusion")
        self.context = lance_sql.register(datafusion.SessionContext())

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.context.sql(sql).to_pylist()]


@pytest.fixture(params=[DuckDB, DataFusion])
def engine(request: pytest.FixtureRequest) -> Engine:
    made: Engine = request.param()
    return made


def test_changes_come_by_start_and_end(engine: Engine, path: str) -> None:
    sql = "SELECT id, s, _change_type, _commit_version, _rowid FROM lance_changes('{}', {}) ORDER BY 4, 1, 3 DESC"
    updates = [(1, "a", "update_preimage", 2, 0), (1, "new", "update_postimage", 2, 0)]
    deletes = [(2, "b", "delete", 3, 1)]
    inserts = [(8, "h", "insert", 4, 3), (9, "i", "insert", 4, 4)]
    assert engine.rows(sql.format(path, "2, 3")) == updates + deletes
    assert engine.rows(sql.format(path, "3")) == deletes + inserts
    assert engine.rows(sql.format(path, "'second', 'second'")) == updates
    assert len(engine.rows(f"SELECT id FROM lance_changes('{path}')")) == 8


def test_insertions_and_deletions(engine: Engine, path: str) -> None:
    assert engine.rows(f"SELECT id, _commit_version FROM lance_insertions('{path}', 2, 4) ORDER BY 1") == [
        (8, 4),
        (9, 4),
    ]
    assert engine.rows(f"SELECT id, s, _commit_version FROM lance_deletions('{path}', 2, 4)") == [(2, "b", 3)]
    assert engine.rows(f"SELECT id FROM lance_deletions('{path}', 2, 4) WHERE s <> 'b'") == []


def test_row_history(engine: Engine, path: str) -> None:
    sql = (
        f"SELECT id, s, valid_from_version, valid_to_version, is_current FROM lance_row_history('{path}') WHERE id < 3"
    )
    expected = [(1, "a", 1, 2, False), (1, "new", 2, None, True), (2, "b", 1, 3, False)]
    assert engine.rows(f"{sql} ORDER BY 1, 3") == expected
    assert engine.rows(f"SELECT count(*) FROM lance_row_history('{path}') WHERE valid_to < now()") == [(2,)]


def test_filters_and_groups(engine: Engine, path: str) -> None:
    counted = f"SELECT _change_type, count(*) FROM lance_changes('{path}', 2) WHERE id <> 9 GROUP BY 1 ORDER BY 1"
    assert engine.rows(counted) == [("delete", 1), ("insert", 1), ("update_postimage", 1), ("update_preimage", 1)]
    assert engine.rows(f"SELECT id FROM lance_changes('{path}', 2) WHERE _rowid = 0 AND s = 'new'") == [(1,)]
    assert engine.rows(f"SELECT id FROM lance_changes('{path}', 2) WHERE _commit_version > 3 AND s > 'h'") == [(9,)]


def test_a_new_query_sees_new_commits(engine: Engine, path: str) -> None:
    sql = f"SELECT count(*) FROM lance_changes('{path}', 5)"
    assert engine.rows(sql) == [(0,)]
    lance_sql.open(path).delete("id = 3")
    assert engine.rows(sql) == [(1,)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'{path}', 2, 99", "Version 99 does not exist"),
        ("'{path}', 'nosuch'", "neither a tag of t.lance nor a time"),
        ("'{path}x', 2", "No Lance table"),
    ],
)
def test_wrong_arguments_are_reported(engine: Engine, path: str, arguments: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as raised:
        engine.rows(f"SELECT * FROM lance_changes({arguments.format(path=path)})")
    # the modules that the error went through; DataFusion shows the function itself
    assert "lance_sql/changes" not in str(raised.value)


def test_options_have_names_in_duckdb(path: str) -> None:
    engine = DuckDB()
    kinds = "SELECT _change_type FROM lance_changes('{}', {}) ORDER BY ALL"
    assert engine.rows(kinds.format(path, "since := 3")) == [("insert",), ("insert",)]
    assert engine.rows(kinds.format(path, "since := 'second', end_version := 3")) == [("delete",)]
    assert len(engine.rows(kinds.format(path, "mode := 'net'"))) == 4
    assert len(engine.rows(kinds.format(path, "2, mode := 'net', key := ['id']"))) == 5
    assert len(engine.rows(kinds.format(path, "2, 2, drop_unchanged := true"))) == 2
    when = lance_sql.open(path).versions()[2].timestamp
    assert when is not None
    assert engine.rows(kinds.format(path, f"TIMESTAMPTZ '{when.isoformat()}', 3")) == [("delete",)]
    with pytest.raises(Exception, match="mode='x' is not one of"):
        engine.rows(kinds.format(path, "mode := 'x'"))
    with pytest.raises(Exception, match="lance_changes needs a path"):
        engine.rows("FROM lance_changes(NULL)")


def test_types_are_those_of_delta_in_duckdb(path: str) -> None:
    described = DuckDB().rows(f"DESCRIBE FROM lance_changes('{path}', 2)")
    assert [row[:2] for row in described] == [
        ("id", "BIGINT"),
        ("s", "VARCHAR"),
        ("_change_type", "VARCHAR"),
        ("_commit_version", "UBIGINT"),
        ("_commit_timestamp", "TIMESTAMP WITH TIME ZONE"),
        ("_rowid", "UBIGINT"),
    ]


def test_branches_are_read_in_duckdb(path: str) -> None:
    lance_sql.open(path).branches.create("dev").delete("id = 1")
    sql = f"SELECT id FROM lance_deletions('{path}', 3, branch := 'dev') ORDER BY 1"
    assert DuckDB().rows(sql) == [(1,), (2,)]


def test_a_variable_is_a_table_in_duckdb(path: str) -> None:
    feed = lance_sql.open(path).changes(2, mode="net")
    assert DuckDB().connection.sql("SELECT count(*) FROM feed").fetchall() == [(5,)]
    assert feed.count_rows() == 5


def test_modes_are_positional_in_datafusion(path: str) -> None:
    engine = DataFusion()
    assert len(engine.rows(f"SELECT id FROM lance_changes('{path}', NULL, NULL, 3)")) == 2
    assert len(engine.rows(f"SELECT id FROM lance_changes('{path}', 1, 4, NULL, 'net')")) == 4
    assert len(engine.rows(f"SELECT id FROM lance_changes('{path}', 1, 4, NULL, 'net', true, false)")) == 4
    with pytest.raises(Exception, match="drop_unchanged=5 is neither true nor false"):
        engine.rows(f"SELECT * FROM lance_changes('{path}', 1, 2, NULL, 'all', 5)")
    for arguments in ("", "3", f"'{path}', 1, 2, 3, 'all', true, true, 'id', 'main', true, 5"):
        with pytest.raises(Exception, match="lance_changes takes a path"):
            engine.rows(f"SELECT * FROM lance_changes({arguments})")
    with pytest.raises(Exception, match="not a version, a tag or a time"):
        engine.rows(f"SELECT * FROM lance_changes('{path}', 1.5)")


def test_the_job_of_commits_is_a_column_on_request(engine: Engine, path: str) -> None:
    lance_sql.open(path).delete("id = 3", job="nightly")
    call = (
        f"lance_changes('{path}', NULL, NULL, 1, 'all', false, false, NULL, NULL, true)"
        if isinstance(engine, DataFusion)
        else f"lance_changes('{path}', since := 1, origin := true)"
    )
    jobs = f"SELECT id, _commit_job FROM {call} WHERE _commit_version > 3 ORDER BY 1"
    assert engine.rows(jobs) == [(3, "nightly"), (8, None), (9, None)]
    assert engine.rows(f"SELECT id FROM {call} WHERE _commit_job = 'nightly'") == [(3,)]
    expected = [
        tuple(row.values())
        for row in lance_sql.open(path)
        .changes(since=1, origin=True)
        .scan(["id", "_change_type", "_commit_user", "_commit_host"])
        .to_table()
        .to_pylist()
    ]
    rows = engine.rows(f"SELECT id, _change_type, _commit_user, _commit_host FROM {call}")
    assert sorted(rows) == sorted(expected)
    history = (
        f"lance_row_history('{path}', NULL, NULL, NULL, true)"
        if isinstance(engine, DataFusion)
        else f"lance_row_history('{path}', origin := true)"
    )
    assert engine.rows(f"SELECT id, valid_from_job FROM {history} WHERE valid_to_job = 'nightly'") == [(3, None)]
    assert len(engine.rows(f"SELECT * FROM lance_changes('{path}')")[0]) == 6
