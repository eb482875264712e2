"""ATTACH and DETACH, and the tables that other processes create and drop in an attached folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from datafusion import SessionContext

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, TableNotFound, UnsupportedFeature
from lance_sql.providers.duckdb.protocol import has_sources

parses = pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 parse no statements")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lance_sql.write({"id": [1]}, tmp_path / "orders.lance")
    lance_sql.write({"id": [1, 2]}, tmp_path / "gone.lance")
    return tmp_path


@pytest.fixture
def connection(folder: Path) -> Any:
    return lance_sql.attach(lance_sql.connect(), folder, as_="lake")


@parses
@pytest.mark.parametrize("method", ["execute", "sql", "query", "from_query"])
@pytest.mark.parametrize("name", ["lake.new", "LAKE.main.New", "new"])
def test_a_table_of_another_process_is_found(connection: Any, folder: Path, method: str, name: str) -> None:
    if "." not in name:
        connection.execute("USE lake")
    lance_sql.write({"id": [7]}, folder / "new.lance")
    assert getattr(connection, method)(f"SELECT id FROM {name}").fetchall() == [(7,)]


@parses
@pytest.mark.parametrize("method", ["execute", "sql", "query", "from_query"])
@pytest.mark.parametrize(
    "name", ["lake.orders", 'LAKE . "orders"', "lake.main.orders", "lake.sales.orders", 'lake."a.b".orders']
)
def test_a_table_of_another_process_is_no_variable(tmp_path: Path, method: str, name: str) -> None:
    connection = lance_sql.attach(lance_sql.connect(), tmp_path, as_="lake")
    catalog = lance_sql.catalog(tmp_path)
    above = ("sales",) if "sales" in name else ("a", "b") if "a.b" in name else ()
    for depth in range(len(above)):
        catalog.create_namespace(above[: depth + 1])
    catalog.create_table((*above, "orders"), {"id": [7]})
    orders = pa.table({"id": [99]})
    assert getattr(connection, method)(f"SELECT id FROM {name}").fetchall() == [(7,)]
    assert orders.num_rows == 1


@parses
@pytest.mark.parametrize(
    "query",
    [
        "SHOW TABLES FROM lake",
        "SELECT table_name FROM information_schema.tables",
        "SELECT view_name FROM duckdb_views() WHERE database_name = 'lake' AND NOT internal",
        "SELECT name FROM (SHOW ALL TABLES)",
    ],
)
def test_lists_have_the_tables_of_now(connection: Any, folder: Path, query: str) -> None:
    lance_sql.write({"id": [7]}, folder / "new.lance")
    shutil.rmtree(folder / "gone.lance")
    assert sorted(connection.execute(query).fetchall()) == [("new",), ("orders",)]


@parses
def test_a_dropped_table_is_not_found(connection: Any, folder: Path) -> None:
    shutil.rmtree(folder / "gone.lance")
    with pytest.raises(duckdb.Error, match="gone"):
        connection.execute("SELECT * FROM lake.gone")
    lance_sql.write({"other": ["x"]}, folder / "gone.lance")
    assert connection.execute("SELECT other FROM lake.gone").fetchall() == [("x",)]


@parses
def test_a_dropped_table_is_found_in_another_case(connection: Any, folder: Path) -> None:
    shutil.rmtree(folder / "gone.lance")
    lance_sql.write({"id": [7]}, folder / "GONE.lance")
    assert connection.execute("SELECT id FROM lake.gone").fetchall() == [(7,)]


@parses
def test_a_table_of_a_namespace_is_found(connection: Any, folder: Path) -> None:
    catalog = lance_sql.catalog(folder)
    catalog.create_namespace("sales")
    catalog.create_table("sales.new", {"id": [7]})
    assert connection.cursor().execute("SELECT id FROM lake.sales.new").fetchall() == [(7,)]


@parses
def test_no_statement_runs_twice(connection: Any, folder: Path) -> None:
    connection.execute("CREATE TEMP TABLE own (id INT)")
    lance_sql.write({"id": [7]}, folder / "new.lance")
    assert connection.execute("INSERT INTO own VALUES (1); SELECT * FROM lake.new").fetchall() == [(7,)]
    with pytest.raises(duckdb.CatalogException):
        connection.execute("SELECT * FROM lake.nothing; INSERT INTO own VALUES (1)")
    assert connection.execute("SELECT count(*) FROM own").fetchall() == [(1,)]
    lance_sql.write({"id": [7]}, folder / "newer.lance")
    connection.execute("INSERT INTO own SELECT id FROM lake.newer")
    assert connection.execute("SELECT count(*) FROM own").fetchall() == [(2,)]


@parses
def test_an_unknown_table_is_the_error_of_duckdb(connection: Any, folder: Path) -> None:
    for text in ("SELECT * FROM lake.nothing", "SELECT * FROM nothing"):
        with pytest.raises(duckdb.CatalogException, match="nothing does not exist"):
            connection.execute(text)
    connection.execute("BEGIN")
    lance_sql.write({"id": [7]}, folder / "new.lance")
    with pytest.raises(duckdb.CatalogException, match="new does not exist"):
        connection.execute("SELECT * FROM lake.new")


@parses
def test_a_folder_that_is_gone_is_no_error_of_other_queries(connection: Any, folder: Path) -> None:
    shutil.rmtree(folder)
    assert connection.execute("SELECT count(*) FROM information_schema.tables").fetchall() == [(0,)]
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


@parses
@pytest.mark.parametrize(
    "text",
    [
        "ATTACH '{}' AS other (TYPE lance)",
        "attach or replace database '{}' as Other (type LANCE);",
        "ATTACH IF NOT EXISTS '{}' AS other (TYPE 'lance')",
        "ATTACH '{}/' AS other (TYPE = lance)",
    ],
)
def test_folders_are_attached(folder: Path, text: str) -> None:
    connection = lance_sql.connect()
    assert connection.execute(text.format(folder)).fetchall()[0][1:] in [("other", True), ("Other", True)]
    assert connection.execute("SELECT * FROM other.orders").fetchall() == [(1,)]
    connection.execute("INSERT INTO other.orders VALUES (2)")
    connection.execute("DETACH other")
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT * FROM other.orders")
    with pytest.raises(duckdb.Error):
        connection.execute("INSERT INTO other.orders VALUES (3)")
    assert lance_sql.open(folder / "orders.lance").count_rows() == 2
    connection.execute(text.format(folder))
    assert connection.execute("SELECT count(*) FROM other.orders").fetchall() == [(2,)]


def test_the_name_is_that_of_the_folder(folder: Path) -> None:
    connection = lance_sql.connect()
    (folder / "sales.v2").mkdir()
    lance_sql.write({"id": [5]}, folder / "sales.v2" / "t.lance")
    lance_sql.sql(f"ATTACH '{folder}/sales.v2' (TYPE lance)", connection=connection)
    assert lance_sql.sql("SELECT id FROM sales.t", connection=connection).fetchall() == [(5,)]


def test_names_that_are_attached_already(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    connection = lance_sql.connect()
    other = tmp_path_factory.mktemp("other")
    lance_sql.write({"id": [9]}, other / "orders.lance")

    def orders(text: str) -> Any:
        lance_sql.sql(text.format(folder=folder, other=other), connection=connection)
        return lance_sql.sql("SELECT id FROM lake.orders", connection=connection).fetchall()

    assert orders("ATTACH '{folder}' AS lake (TYPE lance)") == [(1,)]
    with pytest.raises(InvalidArgument, match="LAKE already: use ATTACH OR REPLACE"):
        orders("ATTACH '{other}' AS LAKE (TYPE lance)")
    assert orders("ATTACH IF NOT EXISTS '{other}' AS lake (TYPE lance)") == [(1,)]
    assert orders("ATTACH OR REPLACE '{other}' AS lake (TYPE lance)") == [(9,)]


def test_datafusion_attaches_folders(folder: Path) -> None:
    session = SessionContext()
    lance_sql.sql(f"ATTACH '{folder}' AS lake (TYPE lance)", session=session)
    assert lance_sql.sql("SELECT id FROM lake.orders", session=session).fetchall() == [(1,)]
    with pytest.raises(UnsupportedFeature, match="DataFusion has no DETACH"):
        lance_sql.sql("DETACH lake", session=session)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("ATTACH '{}' AS l (TYPE lance, READ_ONLY)", UnsupportedFeature, "takes no READ_ONLY"),
        (
            "ATTACH 'ns' AS l (TYPE lance, ENDPOINT 'http://x')",
            UnsupportedFeature,
            r"takes no ENDPOINT.*lance_sql\.attach",
        ),
        ("ATTACH '{}/nothing' AS l (TYPE lance)", TableNotFound, "No folder"),
        ("ATTACH '{}' AS l (TYPE lance) now", InvalidArgument, "the end is expected"),
        ("ATTACH '{}' AS memory (TYPE lance)", InvalidArgument, "choose another name"),
    ],
)
def test_refused_attachments(folder: Path, text: str, kind: type[LanceError], message: str) -> None:
    connection = lance_sql.connect()
    with pytest.raises(kind, match=message):
        lance_sql.sql(text.format(folder), connection=connection)
    assert lance_sql.sql(
        "SELECT count(*) FROM duckdb_databases() WHERE NOT internal", connection=connection
    ).fetchall() == [(1,)]


def test_attaching_needs_a_connection(folder: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="pass connection= or session="):
        lance_sql.sql(f"ATTACH '{folder}' AS l (TYPE lance)")


@parses
def test_databases_of_duckdb_are_left_to_it(connection: Any, tmp_path: Path) -> None:
    file = tmp_path / "own.duckdb"
    for attach in (
        "ATTACH '{}' AS own",
        "ATTACH '{}' AS own (TYPE duckdb)",
        "ATTACH IF NOT EXISTS '{}' AS own (READ_ONLY)",
    ):
        connection.execute(attach.format(file))
        assert connection.execute("SELECT count(*) FROM duckdb_databases() WHERE database_name = 'own'").fetchall() == [
            (1,)
        ]
        connection.execute("DETACH DATABASE IF EXISTS own")
    connection.execute("DETACH DATABASE IF EXISTS lake")
    connection.execute("DETACH DATABASE IF EXISTS lake")
    with pytest.raises(duckdb.Error, match="lake"):
        connection.execute("DETACH lake")
