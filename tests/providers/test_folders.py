"""Folders of tables as schemas, and versions that are named by the path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, TableNotFound


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`orders` with 10 rows in version 1 and 15 in version 2, which has a tag; `it's` with 3."""
    orders = lance_sql.write(pa.table({"id": range(10)}), tmp_path / "orders.lance")
    lance_sql.write(pa.table({"id": range(5)}), tmp_path / "orders.lance", mode="append")
    lance_sql.open(orders.uri).create_tag("audited")
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
    lance_sql.write(pa.table({"id": [1]}), folder / "ORDERS")
    with pytest.raises(InvalidArgument, match="differ only in case"):
        lance_sql.attach(engine.target, folder, as_="lake")


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
