"""One name means one table, whatever statement names it and by whatever door."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, TableNotFound
from lance_sql.providers.duckdb.protocol import has_sources

Run = Callable[[str], list[tuple[Any, ...]]]

_STATEMENTS = pytest.param(
    "connection", marks=pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 take no statements")
)


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=["sql", _STATEMENTS])
def door(request: pytest.FixtureRequest) -> Callable[[Any], Run]:
    """Runs statements on a connection, by a method of its own or by `lance_sql.sql`."""

    def of(connection: Any) -> Run:
        if request.param == "connection":
            return lambda text: connection.execute(text).fetchall()
        return lambda text: lance_sql.sql(text, connection=connection).fetchall()

    return of


@pytest.mark.parametrize("first", ["lance", "LANCE", "memory", "t"])
def test_a_schema_of_duckdb_goes_before_a_path(first: str, door: Callable[[Any], Run]) -> None:
    second = "lance" if first == "t" else "orders"
    for path in (second, f"{first}.lance"):
        lance_sql.write({"id": [1, 2, 3]}, path)
    connection = lance_sql.connect()
    if first != "memory":
        connection.execute(f"CREATE SCHEMA {first}")
    connection.sql(f"CREATE TABLE {first}.{second} AS SELECT 7::BIGINT AS id")
    run = door(connection)
    assert run(f"SELECT * FROM {first}.{second}") == [(7,)]
    for text in (
        f"INSERT INTO {first}.{second} VALUES (8)",
        f"DELETE FROM {first}.{second} WHERE id = 8",
        f"UPDATE {first}.{second} SET id = 9 WHERE true",
        f"TRUNCATE {first}.{second}",
        f"DROP TABLE {first}.{second}",
    ):
        with suppress(LanceError):
            run(text)
    for path in (second, f"{first}.lance"):
        assert lance_sql.open(path).version == 1


@pytest.mark.parametrize("name", ["lance.fresh", "LANCE.fresh", "lance.more"])
def test_a_name_without_the_ending_makes_no_folder(name: str, door: Callable[[Any], Run], tmp_path: Path) -> None:
    connection = lance_sql.connect()
    connection.execute("CREATE SCHEMA lance")
    run = door(connection)
    for text in (f"CREATE TABLE {name} (id BIGINT)", f"CREATE OR REPLACE TABLE {name} AS SELECT 1 AS id"):
        with suppress(LanceError):
            run(text)
    assert not list(tmp_path.iterdir())


def test_a_database_that_is_called_lance(door: Callable[[Any], Run], tmp_path: Path) -> None:
    connection = lance_sql.connect("lance.duckdb")
    connection.execute("CREATE TABLE lance.orders AS SELECT 7::BIGINT AS id")
    lance_sql.write({"id": [1]}, "orders")
    with suppress(LanceError):
        door(connection)("INSERT INTO lance.orders VALUES (8)")
    assert lance_sql.open("orders").version == 1
    connection.close()


@pytest.mark.parametrize("as_", ["lake", "lance", "Lake"])
def test_tables_are_made_and_changed_in_an_attached_catalog(
    as_: str, door: Callable[[Any], Run], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    lance_sql.write({"id": [1]}, folder / "t.lance")
    connection = lance_sql.attach(lance_sql.connect(), folder, as_=as_)
    run = door(connection)
    run(f"CREATE TABLE {as_}.fresh AS SELECT 1::BIGINT AS id")
    run(f"INSERT INTO {as_.upper()}.FRESH VALUES (2)")
    assert run(f"SELECT * FROM {as_}.fresh ORDER BY id") == [(1,), (2,)]
    assert run(f"SELECT * FROM {as_}.Fresh VERSION AS OF 1") == [(1,)]
    run(f"CREATE TABLE {as_}.main.typed (id BIGINT)")
    run(f"ALTER TABLE {as_}.typed RENAME TO {as_}.other")
    assert run(f"SELECT count(*) FROM {as_}.other") == [(0,)]
    run(f"DROP TABLE {as_}.OTHER")
    assert sorted(path.name for path in folder.iterdir()) == ["fresh.lance", "t.lance"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert lance_sql.open(folder / "fresh.lance").count_rows() == 2


def test_tables_are_made_in_namespaces(door: Callable[[Any], Run], tmp_path: Path) -> None:
    catalog = lance_sql.catalog(tmp_path)
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", {"id": [1]})
    connection = lance_sql.attach(lance_sql.connect(), tmp_path, as_="lake")
    run = door(connection)
    run("CREATE TABLE lake.sales.more AS SELECT 2::BIGINT AS id")
    run("INSERT INTO lake.Sales.More VALUES (3)")
    assert run("SELECT * FROM lake.sales.more ORDER BY id") == [(2,), (3,)]
    with pytest.raises(LanceError):
        run("CREATE TABLE lake.sales.bad AS SELECT error('no') AS id")
    with pytest.raises(TableNotFound, match="no namespace other"):
        run("CREATE TABLE lake.other.more AS SELECT 2 AS id")
    run("DROP TABLE lake.sales.orders")
    assert list(catalog.walk()) == [("sales", "more")]


def test_the_catalog_in_use_has_the_names_without_its_own(door: Callable[[Any], Run], tmp_path: Path) -> None:
    lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    connection = lance_sql.attach(lance_sql.connect(), tmp_path, as_="lake")
    connection.execute("USE lake")
    run = door(connection)
    run("INSERT INTO t VALUES (2)")
    run("INSERT INTO main.T VALUES (3)")
    run("CREATE TABLE fresh AS SELECT 1::BIGINT AS id")
    assert run("SELECT count(*) FROM t") == [(3,)]
    assert run("SELECT count(*) FROM t VERSION AS OF 1") == [(1,)]
    assert run("WITH t AS (SELECT 7 AS a) SELECT * FROM t") == [(7,)]
    assert run("SELECT * FROM fresh") == [(1,)]
    connection.execute("CREATE TEMP TABLE t AS SELECT 70::BIGINT AS id")
    assert run("SELECT * FROM t") == [(70,)]
    assert lance_sql.open(tmp_path / "t.lance").count_rows() == 3


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE lake.x AS SELECT 1 AS a",
        "CREATE VIEW lake.x AS SELECT 1 AS a",
        "CREATE SCHEMA lake.x",
        "DROP VIEW lake.t",
    ],
)
def test_duckdb_itself_writes_nothing_into_an_attached_catalog(text: str, tmp_path: Path) -> None:
    lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    connection = lance_sql.attach(lance_sql.register(duckdb.connect()), tmp_path, as_="lake")
    with pytest.raises(duckdb.Error, match="read-only"):
        connection.execute(text)
    with pytest.raises(InvalidArgument, match="already"):
        lance_sql.attach(connection, tmp_path, as_="memory")
    lance_sql.attach(connection, tmp_path, as_="lake")
    assert connection.execute("SELECT * FROM lake.t").fetchall() == [(1,)]


def test_names_that_differ_in_case_alone_are_not_guessed(door: Callable[[Any], Run], tmp_path: Path) -> None:
    lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    connection = lance_sql.attach(lance_sql.connect(), tmp_path, as_="lake")
    lance_sql.write({"id": [1]}, tmp_path / "T.lance")
    run = door(connection)
    run("INSERT INTO lake.t VALUES (2)")
    assert lance_sql.open(tmp_path / "t.lance").version == 2
    run("DROP TABLE lake.T")
    lance_sql.write({"id": [1]}, tmp_path / "Up.lance")
    lance_sql.write({"id": [1]}, tmp_path / "uP.lance")
    with pytest.raises(InvalidArgument, match="may be"):
        run("INSERT INTO lake.UP VALUES (2)")


@pytest.mark.parametrize("name", [".lance", "s/.lance", "x\\.lance"])
@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_a_path_without_a_stem(tmp_path: Path, name: str, engine: Any) -> None:
    path = tmp_path / name
    lance_sql.write({"id": [1, 2]}, path)
    assert lance_sql.sql(f"SELECT count(*) AS n FROM '{path}'", engine).to_pylist() == [{"n": 2}]
    assert lance_sql.sql(f"SELECT id FROM '{path}' VERSION AS OF 1 WHERE id = 2", engine).to_pylist() == [{"id": 2}]
    lance_sql.sql(f"DELETE FROM '{path}' WHERE id = 1")
    lance_sql.sql(f"UPDATE '{path}' SET id = id + 1 WHERE id = 2")
    assert lance_sql.open(path).to_table()["id"].to_pylist() == [3]
