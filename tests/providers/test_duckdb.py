"""DuckDB only: paths as tables, variables, cursors, views, prepared statements, its types."""

from __future__ import annotations

import gc
import pickle
import shutil
import subprocess
import sys
import threading
from datetime import datetime, tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.providers.duckdb.protocol import has_sources
from lance_sql.providers.duckdb.tables import DuckDBTable
from lance_sql.providers.duckdb.tables import table as duckdb_table
from lance_sql.writes.commit import committer


@pytest.fixture
def path(tmp_path: Path) -> str:
    """1,000 rows in version 1, 1,100 in version 2, which a tag and a branch name."""
    path = str(tmp_path / "it's data.lance")
    rows = pa.table({"id": range(1000), "name": [f"n{number % 7}" for number in range(1000)]})
    lance.write_dataset(rows, path, enable_stable_row_ids=True)
    lance.write_dataset(rows.slice(0, 100), path, mode="append")
    lance.dataset(path).tags.create("second", 2)
    return path


@pytest.fixture
def connection() -> Any:
    with lance_sql.connect() as connection:
        yield connection


def quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def test_a_path_is_a_table_with_its_own_columns(connection: Any, path: str) -> None:
    assert connection.sql(f"FROM {quoted(path)} LIMIT 1").fetchall() == [(0, "n0")]
    assert connection.execute(f"SELECT count(*) FROM {quoted(path)} WHERE id < 10").fetchall() == [(20,)]


def test_a_connection_that_was_open_already_has_the_function(path: str) -> None:
    with duckdb.connect() as existing:
        assert lance_sql.register(existing) is existing
        assert existing.execute(f"SELECT count(*) FROM lance_scan({quoted(path)})").fetchall() == [(1100,)]
        existing.execute(f"CREATE VIEW v AS FROM lance_scan({quoted(path)})")
        assert existing.execute("SELECT count(*) FROM v").fetchall() == [(1100,)]


def test_a_connection_is_one_of_duckdb(connection: Any) -> None:
    assert isinstance(connection, duckdb.DuckDBPyConnection)
    assert isinstance(connection.cursor(), duckdb.DuckDBPyConnection)


def test_paths_in_views_macros_and_prepared_statements(connection: Any, path: str) -> None:
    connection.execute(f"CREATE VIEW v AS SELECT id FROM {quoted(path)} WHERE id < 10")
    connection.execute(f"CREATE MACRO m(n) AS TABLE SELECT id FROM {quoted(path)} WHERE id < n")
    connection.execute(f"PREPARE p AS SELECT count(*) FROM {quoted(path)} WHERE id < ?")
    connection.execute(f"CREATE TABLE t AS FROM {quoted(path)}")
    for _ in range(2):
        assert connection.execute("SELECT count(*) FROM v").fetchall() == [(20,)]
        assert connection.cursor().execute("SELECT count(*) FROM m(10)").fetchall() == [(20,)]
        assert connection.execute("EXECUTE p(10)").fetchall() == [(20,)]
    assert connection.sql(f"FROM {quoted(path)}").filter("id < 10").aggregate("count(*)").fetchall() == [(20,)]
    assert connection.table_function("lance_scan", [path]).aggregate("count(*)").fetchall() == [(1100,)]
    nested = f"WITH c AS (FROM {quoted(path)}) SELECT count(*) FROM c JOIN {quoted(path)} AS d USING (id)"
    assert connection.execute(nested).fetchall() == [(1300,)]
    lance.write_dataset(pa.table({"id": [1], "name": ["x"]}), path, mode="append")
    assert connection.execute("SELECT count(*) FROM v").fetchall() == [(21,)]


def test_paths_with_quotes_points_and_letters_of_all_kinds(connection: Any, tmp_path: Path) -> None:
    for name in ("a b.c.lance", 'say "x".lance', "ünï.lance", "with;semicolon--.lance"):
        lance_sql.write({"id": [1]}, tmp_path / name)
        assert connection.execute(f"FROM {quoted(str(tmp_path / name))}").fetchall() == [(1,)]
        double = '"' + str(tmp_path / name).replace('"', '""') + '"'
        assert connection.execute(f"FROM {double}").fetchall() == [(1,)]


@pytest.mark.parametrize("engine", ["a connection", "duckdb", "datafusion"])
def test_the_name_of_a_table_may_have_an_at(connection: Any, tmp_path: Path, engine: str) -> None:
    path = str(tmp_path / "me@home.lance")

    def count(name: str) -> list[tuple[int]]:
        text = f"SELECT count(*) FROM '{name}'"
        return list((connection.sql(text) if engine == "a connection" else lance_sql.sql(text, engine)).fetchall())

    with pytest.raises((duckdb.Error, LanceError), match=r"No Lance table at '.*me@home\.lance'"):
        count(path)
    lance_sql.write({"id": [1, 2]}, path)
    lance_sql.write({"id": [3]}, path, mode="append")
    assert [count(path), count(f"{path}@1"), count(f"{path}@-1")] == [[(3,)], [(2,)], [(2,)]]
    elsewhere = f"memory://{tmp_path.name}/me@home.lance"
    lance_sql.write({"id": [1]}, elsewhere)
    assert count(elsewhere) == [(1,)]


@pytest.mark.parametrize("engine", ["a connection", "duckdb", "datafusion"])
def test_a_branch_is_named_behind_the_path(connection: Any, path: str, engine: str) -> None:
    branch = lance_sql.open(path).branches.create("load")
    branch.delete("id = 1")
    text = f"SELECT count(*) FROM {quoted(path + '@load')}"
    rows = connection.sql(text) if engine == "a connection" else lance_sql.sql(text, engine)
    assert rows.fetchall() == [(1098,)]
    assert lance_sql.open(f"{path}@load").count_rows() == 1098
    with pytest.raises((duckdb.Error, LanceError), match="names a version, and so does version"):
        connection.sql(f"FROM lance_scan({quoted(path + '@load')}, version := 1)")


def test_a_database_in_a_file_has_paths(tmp_path: Path, path: str) -> None:
    database = str(tmp_path / "native.duckdb")
    with lance_sql.connect(database) as connection:
        connection.execute(f"CREATE VIEW v AS FROM {quoted(path)}")
        assert connection.execute("SELECT count(*) FROM v").fetchall() == [(1100,)]
    with lance_sql.connect(database, read_only=True, config={"threads": 1}) as connection:
        assert connection.execute("SELECT count(*) FROM v").fetchall() == [(1100,)]
        assert connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]


def test_a_database_that_is_open_already(tmp_path: Path, path: str) -> None:
    database = str(tmp_path / "native.duckdb")
    with duckdb.connect(database) as first, lance_sql.connect(database) as second:
        first.execute("CREATE TABLE t AS SELECT 1 AS id")
        both = f"SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM lance_scan({quoted(path)}))"
        assert second.execute(both).fetchall() == [(1, 1100)]


def test_a_result_that_is_fetched_in_part_does_not_hold_anybody_up(path: str) -> None:
    """In a process of its own, which would not end if it hung."""
    code = f"""
import lance_sql, threading
connection = lance_sql.connect()
result = connection.execute("SELECT a.id FROM {quoted(path)} AS a, {quoted(path)} AS b")
assert len(result.fetchmany(10)) == 10
other = connection.cursor().execute("FROM {quoted(path)}")
other.fetchone()
reader = connection.cursor().sql("FROM {quoted(path)}").to_arrow_reader(100)
reader.read_next_batch()
thread = threading.Thread(target=lambda: lance_sql.connect().execute("FROM {quoted(path)}").fetchone())
thread.start()
thread.join()
del connection, result, other, reader
"""
    ended = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_path_keeps_the_callers_variables_in_reach(connection: Any, path: str) -> None:
    local = pa.table({"id": [5]})
    assert local.num_rows == 1
    joined = f"SELECT count(*) FROM {quoted(path)} JOIN local USING (id)"
    assert connection.sql(joined).fetchall() == [(2,)]


def test_a_path_in_a_text_is_only_a_text(connection: Any, path: str) -> None:
    assert connection.execute("SELECT 'nowhere.lance'").fetchall() == [("nowhere.lance",)]


def test_a_missing_path_is_named(connection: Any, path: str) -> None:
    with pytest.raises(duckdb.Error, match=r"No Lance table at 'nowhere\.lance'"):
        connection.execute("FROM 'nowhere.lance'")


def test_a_variable_is_a_table(connection: Any, path: str) -> None:
    events = lance_sql.open(path)
    assert connection.sql("SELECT count(*), max(id) FROM events WHERE id < 10").fetchall() == [(20, 9)]
    assert connection.sql("FROM events LIMIT 0").columns == ["id", "name"]
    assert events.version == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", 1100),
        (", version := 1", 1000),
        (", tag := 'second'", 1100),
        (", as_of := TIMESTAMP '2999-01-01'", 1100),
        (", as_of := '2999-01-01'", 1100),
    ],
)
def test_time_travel_has_named_arguments(connection: Any, path: str, arguments: str, expected: int) -> None:
    query = f"SELECT count(*) FROM lance_scan({quoted(path)}{arguments})"
    assert connection.execute(query).fetchall() == [(expected,)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (", version := 9", "Version 9 does not exist"),
        (", tag := 'nope'", "No tag 'nope'"),
        (", as_of := TIMESTAMP '2000-01-01'", "did not exist at 2000-01-01"),
        (", version := 1, tag := 'second'", "version|tag"),
    ],
)
def test_wrong_time_travel_is_reported(connection: Any, path: str, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message) as caught:
        connection.execute(f"FROM lance_scan({quoted(path)}{arguments})")
    assert ".py" not in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        "lance_scan('{path}', version := repeat('9', 5000))",
        "lance_scan('{path}@' || repeat('9', 5000))",
        "lance_changes('{path}', repeat('9', 5000))",
    ],
)
def test_no_version_has_so_many_digits(connection: Any, path: str, call: str) -> None:
    with pytest.raises(duckdb.Error, match="is not a version: it has 5000 digits"):
        connection.execute(f"FROM {call.format(path=quoted(path)[1:-1])}")


def test_macros_of_the_user_are_not_taken_for_duckdbs_own(connection: Any, path: str) -> None:
    for name in ("query", "query_table"):
        connection.execute(f"CREATE MACRO {name}(text) AS TABLE SELECT 42 AS x")
    assert connection.execute(f"SELECT count(*) FROM lance_scan({quoted(path)})").fetchall() == [(1100,)]
    assert connection.execute(f"SELECT count(*) FROM lance_scan([{quoted(path)}, {quoted(path)}])").fetchall() == [
        (2200,)
    ]
    with pytest.raises(duckdb.Error, match="No Lance table"):
        connection.execute("FROM lance_scan('nowhere')")


class StoppedClock(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> StoppedClock:
        return cls(2026, 1, 1, tzinfo=tz)


@pytest.mark.parametrize(
    "later",
    [
        {"s": [10, 20]},
        {"s": ["x", "y"], "more": [1, 2]},
        {"s": pa.array(["x", "y"], pa.large_binary())},
    ],
)
def test_a_table_in_the_place_of_another_has_columns_of_its_own(
    connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: dict[str, Any]
) -> None:
    """Its version and its time are equal."""
    monkeypatch.setattr(committer, "datetime", StoppedClock)
    path = tmp_path / "s.lance"
    handles = []
    for rows in ({"s": ["x" * 40, "y" * 40]}, later):
        shutil.rmtree(path, ignore_errors=True)
        handles.append(lance_sql.write(rows, path))
        expected = pa.table(rows)
        found = connection.sql(f"FROM lance_table({quoted(str(path))})").to_arrow_table()
        assert found.column_names == expected.column_names
        assert found.to_pylist() == expected.to_pylist()
    assert handles[0] != handles[1]


def test_filters_and_columns_are_pushed_down(connection: Any, path: str) -> None:
    plan = connection.execute(f"EXPLAIN SELECT id FROM lance_scan({quoted(path)}) WHERE id = 5").fetchall()[0][1]
    assert "Filters" in plan
    assert "name" not in plan


def test_parameters_views_and_copies_work(connection: Any, path: str) -> None:
    count = connection.execute("SELECT count(*) FROM lance_scan(?) WHERE id < ?", [path, 10]).fetchall()
    assert count == [(20,)]
    connection.execute(f"CREATE VIEW v AS FROM lance_scan({quoted(path)})")
    connection.execute("CREATE TABLE t AS FROM v WHERE _row_created_at_version = 2")
    assert connection.execute("SELECT count(*), (SELECT count(*) FROM v) FROM t").fetchall() == [(100, 1100)]
    connection.execute(f"PREPARE p AS SELECT count(*) FROM lance_scan({quoted(path)}) WHERE id < ?")
    assert connection.execute("EXECUTE p(10)").fetchall() == [(20,)]


def test_a_view_sees_new_commits(connection: Any, path: str) -> None:
    connection.execute(f"CREATE VIEW v AS FROM lance_scan({quoted(path)})")
    lance.write_dataset(pa.table({"id": [1], "name": ["x"]}), path, mode="append")
    assert connection.execute("SELECT count(*) FROM v").fetchall() == [(1101,)]


def test_a_relation_outlives_its_names(connection: Any, path: str) -> None:
    relation = connection.sql(f"FROM lance_scan({quoted(path)})")
    for _ in range(300):
        connection.execute(f"SELECT 1 FROM lance_scan({quoted(path)}) LIMIT 1").fetchall()
    assert relation.aggregate("count(*)").fetchall() == [(1100,)]
    assert sum(name.startswith("__lance_") for name in globals()) <= 256


def test_cursors_and_threads_read_at_once(connection: Any, path: str) -> None:
    failures: list[object] = []

    def work(cursor: Any) -> None:
        for _ in range(10):
            rows = cursor.execute(f"SELECT sum(id) FROM lance_scan({quoted(path)})").fetchall()
            if rows != [(499500 + 4950,)]:
                failures.append(rows)

    threads = [threading.Thread(target=work, args=(connection.cursor(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_database_in_a_file_keeps_nothing(tmp_path: Path, path: str) -> None:
    database = str(tmp_path / "native.duckdb")
    with lance_sql.connect(database) as connection:
        assert connection.execute(f"SELECT count(*) FROM lance_scan({quoted(path)})").fetchall() == [(1100,)]
        cursor = lance_sql.register(connection.cursor())
        assert cursor.execute(f"SELECT count(*) FROM lance_scan({quoted(path)})").fetchall() == [(1100,)]
    with duckdb.connect(database) as plain:
        lasting = "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'lance_scan'"
        assert plain.execute(lasting).fetchall() == [(0,)]


@pytest.mark.parametrize("method", ["cursor", "duplicate"])
def test_cursors_of_a_database_in_a_file_have_lance_tables(tmp_path: Path, path: str, method: str) -> None:
    database = str(tmp_path / "native.duckdb")
    with lance_sql.connect(database) as connection:
        connection.execute("CREATE TABLE own AS SELECT 1 AS a")
        first = getattr(connection, method)()
        for cursor in (first, getattr(first, method)()):
            for table in (quoted(path), f"lance_scan({quoted(path)})", f"lance_table({quoted(path)})"):
                assert cursor.execute(f"SELECT count(*) FROM {table}, own").fetchall() == [(1100,)]
            assert cursor.execute(f"SELECT count(*) > 0 FROM lance_versions({quoted(path)})").fetchall() == [(True,)]
        lasting = "SELECT DISTINCT database_name FROM duckdb_functions() WHERE function_name = 'lance_scan'"
        assert cursor.execute(lasting).fetchall() == [("temp",)]
    with lance_sql.connect(database, read_only=True) as connection, getattr(connection, method)() as cursor:
        assert cursor.execute(f"SELECT count(*) FROM {quoted(path)}").fetchall() == [(1100,)]
    plain = getattr(duckdb.connect(str(tmp_path / "other.duckdb")), method)()
    with pytest.raises(duckdb.CatalogException):
        plain.execute(f"FROM lance_scan({quoted(path)})")


def test_registering_twice_changes_nothing(connection: Any, path: str) -> None:
    assert lance_sql.register(connection) is connection
    assert connection.execute(f"SELECT count(*) FROM lance_scan({quoted(path)})").fetchall() == [(1100,)]


@pytest.mark.parametrize("database", [":memory:", "file.duckdb"])
def test_registering_leaves_a_transaction_as_it_is(database: str, path: str, tmp_path: Path) -> None:
    with lance_sql.connect(database if database == ":memory:" else str(tmp_path / database)) as connection:
        cursor = connection.cursor()
        cursor.execute("BEGIN; CREATE TABLE mine AS SELECT 42 AS x")
        lance_sql.register(cursor)
        assert cursor.execute(f"SELECT count(*) FROM lance_scan({quoted(path)})").fetchall() == [(1100,)]
        cursor.execute("COMMIT")
        assert connection.execute("SELECT x FROM mine").fetchall() == [(42,)]


def test_a_connection_without_replacements_is_refused() -> None:
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:  # noqa: SIM117
        with pytest.raises(InvalidArgument, match="python_enable_replacements = false"):
            lance_sql.register(connection)


def test_a_table_by_its_path_gets_a_name(connection: Any, path: str) -> None:
    lance_sql.register(connection, "old", path, version=1)
    assert connection.execute("SELECT count(*) FROM old").fetchall() == [(1000,)]
    with pytest.raises(InvalidArgument, match="a fixed version"):
        lance_sql.register(connection, "old", lance_sql.open(path), version=1)
    with pytest.raises(InvalidArgument, match="both a name and a table"):
        lance_sql.register(connection, "old")
    with pytest.raises(InvalidArgument, match=r"builtins\.object"):
        lance_sql.register(object())


def test_counting_a_registered_table_reads_no_column(
    connection: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_sources():
        pytest.skip("DuckDB before 2.0 reads the first column")
    asked: list[list[str]] = []
    scan = DuckDBTable.scan

    def record(self: DuckDBTable, columns: Any = None, *rest: Any, **options: Any) -> Any:
        asked.append(list(columns))
        return scan(self, columns, *rest, **options)

    monkeypatch.setattr(DuckDBTable, "scan", record)
    lance_sql.register(connection, 'so "named"', path)
    for query, expected in (("count(*)", 1100), ("count(*) FILTER (id < 5)", 10), ("sum(id)", 504450)):
        assert connection.execute(f'SELECT {query} FROM "so ""named"""').fetchall() == [(expected,)]
    assert asked == [["__lance_no_column"], ["id"], ["id"]]
    assert connection.sql('FROM "so ""named"""').columns == ["id", "name"]
    connection.unregister('so "named"')
    with pytest.raises(duckdb.CatalogException):
        connection.execute('FROM "so ""named"""')


def test_a_database_is_closed_with_the_last_connection(tmp_path: Path, path: str) -> None:
    file = str(tmp_path / "file.duckdb")
    connection = duckdb.connect(file)
    lance_sql.register(connection, "t", path)
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(1100,)]
    del connection
    gc.collect()
    # another configuration is refused as long as the database is open
    with duckdb.connect(file, read_only=True) as again:
        assert again.execute("SHOW TABLES").fetchall() == []


def test_a_registered_table_may_have_any_columns(connection: Any, tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"__lance_no_column": [1, 2]}), tmp_path / "t.lance")
    lance_sql.register(connection, "t", tmp_path / "t.lance")
    assert connection.execute("SELECT count(*), sum(__lance_no_column) FROM t").fetchall() == [(2, 3)]


def test_types_that_duckdb_refuses_are_widened(connection: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "types.lance")
    rows = pa.table(
        {
            "half": pa.array([1.5, None], pa.float16()),
            "halves": pa.array([[1.0, 2.0], None], pa.list_(pa.float16(), 2)),
            "member": pa.array([{"half": 0.5}, None], pa.struct([("half", pa.float16())])),
            "wide": pa.array([Decimal("1.50"), None], pa.decimal256(50, 2)),
            "a": [3, 4],
        }
    )
    lance.write_dataset(rows, path)
    found = connection.execute(f"SELECT * EXCLUDE (_rowid, _rowaddr) FROM lance_scan({quoted(path)})").fetchall()
    assert found == [(1.5, (1.0, 2.0), {"half": 0.5}, Decimal("1.50"), 3), (None, None, None, None, 4)]
    filtered = f"SELECT a FROM lance_scan({quoted(path)}) WHERE half > 1 AND wide = 1.5 AND member.half < 1"
    assert connection.execute(filtered).fetchall() == [(3,)]


def test_a_dataset_for_an_engine_pickles(path: str) -> None:
    dataset = duckdb_table(lance_sql.open(path), with_system_columns=True)
    restored = pickle.loads(pickle.dumps(dataset))
    assert restored.schema == dataset.schema
    assert restored.count_rows() == 1100


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary(2)], ids=str)
@pytest.mark.parametrize("is_dictionary", [False, True])
def test_binaries_of_few_values_are_compared(
    connection: Any, tmp_path: Path, type: pa.DataType, is_dictionary: bool
) -> None:
    path = str(tmp_path / "few.lance")
    values = pa.array([b"\xffa", b"bb", None] * 2000, type)
    keeps = is_dictionary and not pa.types.is_fixed_size_binary(type)
    lance_sql.write(pa.table({"id": range(6000), "b": values.dictionary_encode() if keeps else values}), path)
    query = f"SELECT count(*), min(id) FROM lance_scan({quoted(path)}) WHERE b "
    assert connection.execute(query + "= '\\xFFa'::BLOB").fetchone() == (2000, 0)
    assert connection.execute(query + "> 'a'::BLOB AND id > 10").fetchone() == (3992, 12)
    assert connection.execute(query + "IS NULL").fetchone() == (2000, 2)
