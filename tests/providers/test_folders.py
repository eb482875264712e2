"""Folders of tables as schemas, and versions that are named by the path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, TableNotFound
from tests.writes.commit.test_early_releases import edit_manifest, newest_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`orders` with 10 rows in version 1 and 15 in version 2, which has a tag; `it's` with 3."""
    orders = lance_sql.write(pa.table({"id": range(10)}), tmp_path / "orders.lance")
    lance_sql.write(pa.table({"id": range(5)}), tmp_path / "orders.lance", mode="append")
    lance_sql.open(orders.uri).tags.create("audited")
    lance_sql.write(pa.table({"id": range(3)}), tmp_path / "it's.lance")
    (tmp_path / "notes.lance").mkdir()
    (tmp_path / "notes.txt").write_text("no table")
    return tmp_path


class DuckDB:
    """Queries of one connection."""

    def __init__(self, connection: Any = None) -> None:
        self.target = connection or lance_sql.connect()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.target.execute(query).fetchall()
        return found


class DataFusion:
    """Queries of one context."""

    def __init__(self) -> None:
        datafusion = pytest.importorskip("datafusion")
        self.target = lance_sql.register(datafusion.SessionContext())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self.target.sql(query).to_pylist()]


@pytest.fixture(params=[DuckDB, DataFusion])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_a_folder_is_a_schema(engine: Any, folder: Path) -> None:
    assert lance_sql.attach(engine.target, folder, as_="lake") is engine.target
    assert engine.rows("SELECT count(*) FROM lake.orders") == [(15,)]
    assert engine.rows('SELECT count(*) FROM lake."it\'s"') == [(3,)]
    assert engine.rows("SELECT * FROM lake.orders ORDER BY id LIMIT 1") == [(0,)]


def test_queries_of_a_folder_read_the_newest_version(engine: Any, folder: Path) -> None:
    lance_sql.attach(engine.target, folder, as_="lake")
    assert engine.rows("SELECT count(*) FROM lake.orders") == [(15,)]
    lance_sql.write(pa.table({"id": range(4)}), folder / "orders.lance", mode="append")
    assert engine.rows("SELECT count(*) FROM lake.orders") == [(19,)]
    lance_sql.write(pa.table({"id": range(7)}), folder / "new.lance")
    lance_sql.attach(engine.target, folder, as_="lake")
    assert engine.rows("SELECT count(*) FROM lake.new") == [(7,)]


def test_folders_that_cannot_be_attached(engine: Any, folder: Path) -> None:
    with pytest.raises(TableNotFound, match="No folder"):
        lance_sql.attach(engine.target, folder / "nothing", as_="lake")


def test_a_database_of_the_user_is_not_replaced(folder: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "lake.db")) as connection:
        with pytest.raises(InvalidArgument, match="has a database 'lake' already"):
            lance_sql.attach(connection, folder, as_="lake")
        lance_sql.attach(connection, folder, as_="tables")
        assert connection.execute("SELECT count(*) FROM tables.orders").fetchall() == [(15,)]


def test_no_other_target_has_schemas(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"Cannot attach a folder to a builtins\.dict"):
        lance_sql.attach({}, folder, as_="lake")


def test_a_path_names_a_version_or_a_tag(engine: Any, folder: Path) -> None:
    path = folder / "orders.lance"
    for function in ("lance_scan", "lance_table"):
        counts = [engine.rows(f"SELECT count(*) FROM {function}('{path}{at}')") for at in ("", "@1", "@2", "@audited")]
        assert counts == [[(15,)], [(10,)], [(15,)], [(15,)]]
    given = "version := 2" if isinstance(engine, DuckDB) else "2"
    with pytest.raises(Exception, match=r"@1.*names a version, and so does version"):
        engine.rows(f"SELECT * FROM lance_scan('{path}@1', {given})")
    with pytest.raises(Exception, match=r"[Vv]ersion 7 does not exist"):
        engine.rows(f"SELECT * FROM lance_scan('{path}@7')")


def test_paths_in_quotes_name_versions_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = DuckDB()
    monkeypatch.chdir(folder)
    names = ("orders.lance", "orders.lance/", "orders.lance@1", "orders.lance@audited", f"{folder}/orders.lance@1")
    assert [connection.rows(f"SELECT count(*) FROM '{name}'")[0][0] for name in names] == [15, 15, 10, 15, 10]
    assert connection.rows("SELECT * FROM 'orders.lance@1' EXCEPT SELECT * FROM 'orders.lance@2'") == []
    lance_sql.write(pa.table({"id": [1, 2]}), "LOUD.LANCE")
    assert connection.rows("SELECT count(*) FROM 'LOUD.LANCE'") == [(2,)]
    with pytest.raises(duckdb.Error, match=r"orders\.txt@1"):
        connection.rows("FROM 'orders.txt@1'")


def test_a_time_in_datafusion(folder: Path) -> None:
    engine, path = DataFusion(), folder / "orders.lance"
    first, second = lance_sql.open(path).versions()
    query = f"SELECT count(*) FROM lance_scan('{path}', NULL, '{{}}')"
    assert engine.rows(query.format(first.timestamp)) == [(10,)]
    assert engine.rows(query.format(second.timestamp)) == [(15,)]
    with pytest.raises(Exception, match="version 1"):
        engine.rows(query.format("2001-01-01"))


def test_a_path_may_begin_with_the_home_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert lance_sql.open("~/orders.lance").count_rows() == 15
    assert DuckDB().rows("SELECT count(*) FROM '~/orders.lance@1'") == [(10,)]


def damaged(folder: Path, name: str) -> None:
    """Cuts the manifest of a new table."""
    lance_sql.write(pa.table({"id": [1]}), folder / name)
    (manifest,) = (folder / name / "_versions").glob("*.manifest")
    os.truncate(manifest, 20)


def of_a_newer_format(folder: Path, name: str) -> None:
    """Sets a reader flag that this release does not know."""
    lance_sql.write(pa.table({"id": [1]}), folder / name)

    def demand(message: Any) -> None:
        message.reader_feature_flags |= 1 << 40

    edit_manifest(newest_manifest(folder / name), demand)


def of_another_type(folder: Path, name: str) -> None:
    """Has a column of a type that DuckDB lacks."""
    lance_sql.write(pa.table({"id": pa.array([None], pa.decimal256(70, 50))}), folder / name)


@pytest.mark.parametrize("spoil", [damaged, of_a_newer_format, of_another_type])
def test_one_bad_table_does_not_block_the_folder(
    folder: Path, spoil: Callable[[Path, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    spoil(folder, "bad.lance")
    connection = lance_sql.attach(lance_sql.connect(), folder, as_="lake")
    assert connection.execute("SELECT count(*) FROM lake.orders").fetchall() == [(15,)]
    for _ in range(2):
        with pytest.raises(duckdb.Error, match=r"bad\.lance|DuckDB has no type"):
            connection.execute("SELECT count(*) FROM lake.bad")
    # statements over other tables are done, and report no error
    lance_sql.sql("CREATE TABLE lake.x AS SELECT 1 AS id", connection=connection)
    lance_sql.sql("ALTER TABLE lake.x RENAME TO y", connection=connection)
    assert connection.execute("SELECT * FROM lake.y").fetchall() == [(1,)]
    lance_sql.sql("DROP TABLE lake.y", connection=connection)
    (record,) = caplog.records
    assert "'bad'" in record.getMessage()
    shutil.rmtree(folder / "bad.lance")
    lance_sql.write(pa.table({"name": ["a", "b"]}), folder / "bad.lance")
    assert connection.execute("SELECT count(*), max(name) FROM lake.bad").fetchall() == [(2, "b")]


def test_names_that_differ_in_case_block_only_these(folder: Path) -> None:
    lance_sql.write(pa.table({"id": [1]}), folder / "ORDERS")
    connection = lance_sql.attach(lance_sql.connect(), folder, as_="lake")
    assert connection.execute("""SELECT count(*) FROM lake."it's" """).fetchall() == [(3,)]
    with pytest.raises(duckdb.Error, match="'ORDERS' and 'orders' differ only in case"):
        connection.execute("SELECT * FROM lake.orders")
    lance_sql.sql("CREATE TABLE lake.x AS SELECT 1 AS id", connection=connection)
    counts = [
        lance_sql.sql(f"SELECT count(*) FROM lake.{name}", connection=connection).fetchall()
        for name in ("orders", '"ORDERS"')
    ]
    assert counts == [[(15,)], [(1,)]]
    with pytest.raises(InvalidArgument, match="may be 'ORDERS' or 'orders'"):
        lance_sql.sql("SELECT count(*) FROM lake.Orders", connection=connection)
    shutil.rmtree(folder / "ORDERS")
    assert connection.execute("SELECT count(*) FROM lake.orders").fetchall() == [(15,)]
