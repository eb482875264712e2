"""The contract of catalogs, and one folder as seen by pylance and this library."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance_namespace
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, TableExists, TableNotFound, UnsupportedFeature
from tests.catalogs.server import TOKEN, serving

ROWS = {"id": [1, 2, 3]}


@pytest.fixture(params=["directory", "rest"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[lance_sql.Catalog]:
    if request.param == "directory":
        yield lance_sql.catalog(tmp_path)
        return
    with serving(str(tmp_path)) as address:
        yield lance_sql.catalog(address, token=TOKEN)


def test_namespaces_and_tables_are_created_listed_and_dropped(catalog: lance_sql.Catalog) -> None:
    assert (catalog.namespaces(), catalog.tables()) == ([], [])
    catalog.create_namespace("sales", {"owner": "us"})
    catalog.create_namespace("sales.eu")
    assert catalog.properties("sales") == {"owner": "us"}
    for name in ("sales.orders", "sales.eu.orders", "orders", "a", "b", "c"):
        assert catalog.create_table(name, ROWS, properties={"name": name}).version == 1
    assert (catalog.namespaces(), catalog.namespaces("sales")) == (["sales"], ["eu"])
    assert catalog.tables() == ["a", "b", "c", "orders"]
    assert list(catalog.walk())[-2:] == [("sales", "orders"), ("sales", "eu", "orders")]
    assert catalog.describe("sales.eu.orders").properties == {"name": "sales.eu.orders"}
    assert catalog.open("sales.orders").count_rows() == 3
    catalog.drop_table("sales.eu.orders")
    with pytest.raises(TableNotFound):
        catalog.describe("sales.eu.orders")
    catalog.drop_namespace("sales.eu")
    assert catalog.namespaces("sales") == []


@pytest.fixture
def view(catalog: lance_sql.Catalog, tmp_path: Path) -> lance_sql.View:
    source = lance_sql.write(ROWS, tmp_path / "outside" / "source.lance")
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", ROWS)
    return lance_sql.materialize(f"SELECT id FROM '{source.uri}'", catalog.declare("sales.ids").path)


def test_a_view_is_dropped_as_a_view_alone(catalog: lance_sql.Catalog, view: lance_sql.View) -> None:
    catalog.declare("sales.declared")
    with pytest.raises(InvalidArgument, match="is a materialized view: use drop_view"):
        catalog.drop_table("sales.ids")
    with pytest.raises(InvalidArgument, match="is a table, not a materialized view: use drop_table"):
        catalog.drop_view("sales.orders")
    with pytest.raises(TableNotFound):
        catalog.drop_view("sales.declared")
    assert view.refresh().dataset.count_rows() == catalog.open("sales.orders").count_rows() == 3
    catalog.drop_view("sales.ids")
    catalog.drop_table("sales.declared")
    assert catalog.tables("sales") == ["orders"]


@pytest.mark.usefixtures("view")
def test_sql_drops_the_name_of_a_view_with_it(catalog: lance_sql.Catalog) -> None:
    connection = lance_sql.connect(catalog=catalog)
    for statement in ("DROP TABLE lake.sales.ids", "DROP MATERIALIZED VIEW lake.sales.orders"):
        with pytest.raises(InvalidArgument, match="materialized view"):
            lance_sql.sql(statement, connection=connection)
    lance_sql.sql("DROP MATERIALIZED VIEW lake.sales.ids", connection=connection)
    assert catalog.tables("sales") == ["orders"]


def test_existing_names_are_refused_and_missing_ones_not_found(catalog: lance_sql.Catalog) -> None:
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", ROWS)
    for make in (lambda: catalog.create_namespace("sales"), lambda: catalog.create_table("sales.orders", ROWS)):
        with pytest.raises(TableExists):
            make()
    with pytest.raises(InvalidArgument):
        catalog.drop_namespace("sales")
    for ask in (
        lambda: catalog.tables("nothing"),
        lambda: catalog.describe("sales.nothing"),
        lambda: catalog.create_table("nothing.orders", ROWS),
        lambda: catalog.drop_table("nothing"),
    ):
        with pytest.raises(TableNotFound):
            ask()
    assert catalog.open("sales.orders").version == 1


def test_tables_are_renamed_and_stay_what_they_are(catalog: lance_sql.Catalog) -> None:
    for name in ("sales", "old"):
        catalog.create_namespace(name)
    catalog.create_table("sales.orders", ROWS)
    path = catalog.describe("sales.orders").path
    catalog.rename_table("sales.orders", "old.orders")
    assert (catalog.tables("sales"), catalog.tables("old")) == ([], ["orders"])
    assert catalog.describe("old.orders").path == path


def test_a_table_that_cannot_be_written_leaves_no_name(catalog: lance_sql.Catalog) -> None:
    catalog.create_namespace("sales")
    with pytest.raises(LanceError):
        catalog.create_table("sales.orders", {"id": [1], "ID": object()})
    assert catalog.tables("sales") == []


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder as pylance makes it: sales.orders, sales.eu.orders, orders, and one that is only declared."""
    names = lance_namespace.connect("dir", {"root": str(tmp_path)})
    for id in (["sales"], ["sales", "eu"]):
        names.create_namespace(lance_namespace.CreateNamespaceRequest(id=id, properties={"of": id[-1]}))
    for id in (["sales", "orders"], ["sales", "eu", "orders"], ["orders"]):
        stream = io.BytesIO()
        table = pa.table({"id": list(range(len(id)))})
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        names.create_table(lance_namespace.CreateTableRequest(id=id), stream.getvalue())
    names.declare_table(lance_namespace.DeclareTableRequest(id=["sales", "empty"]))
    return tmp_path


def test_tables_of_pylance_are_listed(lake: Path) -> None:
    catalog = lance_sql.catalog(lake)
    assert list(catalog.walk()) == [("orders",), ("sales", "empty"), ("sales", "orders"), ("sales", "eu", "orders")]
    assert catalog.properties("sales.eu") == {"of": "eu"}
    assert [catalog.open(name).count_rows() for name in ("orders", "sales.orders", "sales.eu.orders")] == [1, 2, 3]


def test_pylance_sees_what_is_made_here(lake: Path) -> None:
    catalog = lance_sql.catalog(lake)
    catalog.create_namespace("sales.us", {"of": "us"})
    catalog.create_table("sales.us.orders", ROWS, properties={"a": "b"})
    catalog.rename_table("sales.orders", "sales.all")
    catalog.drop_table("sales.eu.orders")
    names = lance_namespace.connect("dir", {"root": str(lake)})
    listed = names.list_tables(lance_namespace.ListTablesRequest(id=["sales"])).tables
    assert sorted(listed) == ["all", "empty"]
    assert sorted(names.list_namespaces(lance_namespace.ListNamespacesRequest(id=["sales"])).namespaces) == ["eu", "us"]
    found = names.describe_namespace(lance_namespace.DescribeNamespaceRequest(id=["sales", "us"]))
    assert found.properties == {"of": "us"}
    where = names.describe_table(lance_namespace.DescribeTableRequest(id=["sales", "us", "orders"])).location
    assert where is not None
    assert lance_sql.open(where.removeprefix("file://")).count_rows() == 3
    names.drop_table(lance_namespace.DropTableRequest(id=["sales", "us", "orders"]))
    assert catalog.tables("sales.us") == []


def test_duckdb_has_namespaces_as_schemas(lake: Path) -> None:
    connection = lance_sql.connect(catalog=lake)
    query = "SELECT (SELECT count(*) FROM lake.orders), (SELECT count(*) FROM lake.sales.orders), count(*)"
    assert connection.execute(f'{query} FROM lake."sales.eu".orders').fetchall() == [(1, 2, 3)]
    names = connection.execute("SELECT view_name FROM duckdb_views() WHERE database_name = 'lake' AND NOT internal")
    assert sorted(name for (name,) in names.fetchall()) == ["orders", "orders", "orders"]
    assert lance_sql.sql("SELECT count(*) AS n FROM lake.sales.orders", connection=connection).to_pylist() == [{"n": 2}]


def test_datafusion_has_a_catalog(lake: Path) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = lance_sql.attach(datafusion.SessionContext(), lake, as_="lake")

    def count(table: str) -> int:
        found: int = context.sql(f"SELECT count(*) AS n FROM {table}").to_pydict()["n"][0]
        return found

    assert [count(name) for name in ("lake.orders", "lake.sales.orders", 'lake."sales.eu".orders')] == [1, 2, 3]
    assert lance_sql.sql("SELECT count(*) AS n FROM lake.sales.orders", session=context).to_pylist() == [{"n": 2}]


def of_connection(connection: Any, text: str) -> list[Any]:
    rows: list[Any] = connection.execute(text).fetchall()
    return rows


def of_sql(connection: Any, text: str) -> list[Any]:
    return lance_sql.sql(text, connection=connection).fetchall()


@pytest.mark.parametrize("run", [of_connection, of_sql])
def test_statements_write_and_travel_by_name(lake: Path, run: Any) -> None:
    connection = lance_sql.connect(catalog={"lake": lake, "other": lake})
    if run is of_connection and type(connection).__name__ != "Connection":
        pytest.skip("DuckDB 1.5 has connections of its own only")
    run(connection, "INSERT INTO lake.sales.orders VALUES (7), (8)")
    assert run(connection, "SELECT count(*) FROM lake.sales.orders") == [(4,)]
    assert run(connection, "SELECT count(*), max(orders.id) FROM lake.sales.orders VERSION AS OF 1") == [(2, 1)]
    run(connection, "UPDATE lake.sales.orders SET id = 70 WHERE id = 7")
    run(connection, "DELETE FROM other.sales.orders AS o WHERE o.id = 8")
    assert run(connection, "SELECT id FROM lake.sales.orders ORDER BY id") == [(0,), (1,), (70,)]
    lance_sql.catalog(lake).create_table("sales.mine", ROWS).delete("id = 1")
    assert run(connection, "SELECT id FROM lake.sales.table_changes('mine', 2, 2)") == [(1,)]
    run(connection, "OPTIMIZE lake.sales.orders")
    run(connection, "ALTER TABLE lake.orders ADD COLUMN note VARCHAR")
    assert run(connection, "DESCRIBE HISTORY lake.orders LIMIT 1")[0][2] == "add_columns"


def test_objects_of_the_engine_stay_its_own(lake: Path) -> None:
    connection = lance_sql.connect(catalog=lake)
    connection.execute("CREATE TABLE orders (id INTEGER); INSERT INTO orders VALUES (1); UPDATE orders SET id = 2")
    connection.execute("ALTER TABLE orders ADD COLUMN n INTEGER; DROP TABLE orders; CREATE SCHEMA sales")
    with pytest.raises(UnsupportedFeature, match="OPTIMIZE applies to Lance tables"):
        lance_sql.sql("OPTIMIZE nothing", connection=connection)


def test_rest_namespaces_are_attached(lake: Path) -> None:
    with serving(str(lake)) as address:
        connection = lance_sql.connect(catalog=lance_sql.catalog(address, token=TOKEN))
        assert connection.execute("SELECT count(*) FROM lake.sales.orders").fetchall() == [(2,)]
        with pytest.raises(LanceError, match="returned 401"):
            lance_sql.catalog(address).tables()
    with pytest.raises(LanceError, match="does not respond"):
        lance_sql.catalog(address, token=TOKEN).tables()


def test_a_folder_that_no_path_can_name_hides_no_table(tmp_path: Path) -> None:
    (tmp_path / "back\\slash.lance").mkdir()
    lance_sql.write(ROWS, tmp_path / "orders.lance")
    assert lance_sql.catalog(tmp_path).tables() == ["orders"]


def test_a_folder_without_a_table_of_contents_is_one_of_tables(tmp_path: Path) -> None:
    lance_sql.write(ROWS, tmp_path / "orders.lance")
    catalog = lance_sql.catalog(tmp_path)
    assert list(catalog.walk()) == [("orders",)]
    catalog.create_table("more", ROWS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["more.lance", "orders.lance"]
    catalog.rename_table("more", "less")
    catalog.drop_table("orders")
    assert list(catalog.walk()) == [("less",)]
    with pytest.raises(UnsupportedFeature, match="to store properties in"):
        catalog.declare("x", {"a": "b"})
    with pytest.raises(TableNotFound, match="No folder"):
        lance_sql.catalog(tmp_path / "nothing")
