"""Names in catalogs: nothing is written, moved or dropped outside of the folder, or where no listing finds it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datafusion import SessionContext

import lance_sql
from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, TableExists, TableNotFound
from tests.catalogs.server import TOKEN, serving

ROWS = {"id": [1, 2, 3]}
BAD = [
    "../x",
    "a/b",
    "a\\b",
    "..\\x",
    "/",
    "x/",
    "/abs",
    "..",
    ".",
    "a$b",
    "a\0b",
    "a\nb",
    "\x1b[m",
    "x" * 300,
    "é" * 130,
]
PLACES = ["plain", "with_contents"]


@pytest.fixture(params=PLACES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the tables abs and orders, and one beside it."""
    folder = tmp_path / "lake"
    folder.mkdir()
    catalog = lance_sql.catalog(folder)
    if request.param == "with_contents":
        catalog.create_namespace("sales")
    for name in ("abs", "orders"):
        catalog.create_table(name, ROWS)
    lance_sql.write({"secret": [42]}, tmp_path / "victim.lance")
    return folder


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


DOORS: dict[str, Callable[[lance_sql.Catalog, str], object]] = {
    "create_table": lambda catalog, name: catalog.create_table((name,), ROWS),
    "declare": lambda catalog, name: catalog.declare((name,)),
    "rename_table": lambda catalog, name: catalog.rename_table("orders", (name,)),
    "create_namespace": lambda catalog, name: catalog.create_namespace((name,)),
}


@pytest.mark.parametrize("door", DOORS)
def test_names_that_cannot_be_found_again_are_refused(lake: Path, door: str) -> None:
    catalog = lance_sql.catalog(lake)
    before = files(lake.parent)
    for name in BAD:
        with pytest.raises(InvalidArgument) as raised:
            DOORS[door](catalog, name)
        assert "\n" not in str(raised.value)
        assert files(lake.parent) == before
    assert catalog.tables() == ["abs", "orders"]


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_sql_refuses_them_too(lake: Path, engine: str) -> None:
    target: Any = lance_sql.connect()
    if engine == "datafusion":
        target = pytest.importorskip("datafusion").SessionContext()
    lance_sql.attach(target, lake, as_="lake")
    before = files(lake.parent)
    for name in ["../x", "../victim", "/abs", "p/q", "a\\b", "a$b", "x" * 300]:
        for text in (
            f'CREATE TABLE lake."{name}" AS SELECT 77 AS id',
            f'CREATE OR REPLACE TABLE lake."{name}" AS SELECT 77 AS id',
            f'CREATE TABLE lake."{name}" (id BIGINT)',
            f'ALTER TABLE lake.orders RENAME TO "{name}"',
        ):
            with pytest.raises(LanceError):
                lance_sql.sql(text, **{"connection" if engine == "duckdb" else "session": target})
            assert files(lake.parent) == before
    assert lance_sql.open(lake / "abs.lance").count_rows() == 3


@pytest.mark.parametrize("target", ['"x.lance"', '"X.LANCE"', "'x.lance'", "'x'"])
def test_a_renamed_table_stays_in_its_catalog(lake: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lake.parent)
    connection = lance_sql.attach(lance_sql.connect(), lake, as_="lake")
    before = files(lake.parent)
    with pytest.raises(InvalidArgument, match="RENAME TO takes another name in lake, not "):
        lance_sql.sql(f"ALTER TABLE lake.orders RENAME TO {target}", connection=connection)
    assert files(lake.parent) == before


@pytest.mark.parametrize("door", ["create_table", "declare", "rename_table"])
@pytest.mark.parametrize(("existing", "name"), [("abs", "ABS"), ("é", "e\u0301"), ("ß", "SS"), ("abs", "abs")])
def test_names_that_are_alike_are_refused(lake: Path, door: str, existing: str, name: str) -> None:
    catalog = lance_sql.catalog(lake)
    if existing not in catalog.tables():
        catalog.create_table((existing,), ROWS)
    before = files(lake.parent)
    with pytest.raises(TableExists, match=r"exists in .*"):
        DOORS[door](catalog, name)
    assert files(lake.parent) == before


def test_a_table_may_change_its_own_case(lake: Path) -> None:
    catalog = lance_sql.catalog(lake)
    catalog.rename_table("orders", "Orders")
    assert catalog.tables() == ["Orders", "abs"]
    assert catalog.open("Orders").count_rows() == 3


def test_a_name_is_free_after_a_rename(lake: Path) -> None:
    catalog = lance_sql.catalog(lake)
    catalog.rename_table("orders", "old")
    catalog.create_table("orders", {"id": [9]})
    assert [catalog.open(name).count_rows() for name in ("old", "orders")] == [3, 1]


def test_two_folders_of_one_name_are_not_chosen_from(lake: Path) -> None:
    lance_sql.write({"id": [1]}, lake / "twice")
    lance_sql.write({"id": [2]}, lake / "twice.lance")
    catalog = lance_sql.catalog(lake)
    assert catalog.tables() == ["abs", "orders", "twice"]
    for ask in (catalog.open, catalog.drop_table, lambda name: catalog.rename_table(name, "new")):
        with pytest.raises(InvalidArgument, match=r"'twice' and 'twice\.lance'"):
            ask("twice")
    with pytest.raises(TableExists):
        catalog.create_table("twice", ROWS)


def test_folders_without_a_name_or_a_version_are_no_tables(lake: Path) -> None:
    lance_sql.write(ROWS, lake / ".lance")
    (lake / "tmp.lance" / "_versions").mkdir(parents=True)
    (lake / "tmp.lance" / "_versions" / ".tmp_1.manifest_x").touch()
    os.symlink("loop.lance", lake / "loop.lance")
    assert list(lance_sql.catalog(lake).walk()) == [("abs",), ("orders",)]


LOCATIONS = [
    "../victim.lance",
    "abs.lance/../../victim.lance",
    "/victim.lance",
    "",
    ".",
    "..",
    "__manifest",
    "a\\b",
    "out/victim.lance",
]


@pytest.mark.parametrize("location", LOCATIONS)
def test_a_location_that_leaves_the_catalog_is_not_used(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "lake"
    folder.mkdir()
    lance_sql.write({"secret": [42]}, tmp_path / "victim.lance")
    (folder / "out").symlink_to(tmp_path)
    catalog = lance_sql.catalog(folder)
    catalog.create_namespace("sales")
    catalog.create_table("fine", ROWS)
    contents = lance_sql.open(folder / "__manifest")
    columns = {"object_id": ["evil"], "object_type": ["table"], "location": [location], "metadata": [None]}
    schema = pa.schema([contents.schema.field(name) for name in columns])
    lance_sql.write(pa.table(columns, schema=schema), contents, mode="append")
    before = files(tmp_path)
    for ask in (catalog.describe, catalog.open, catalog.drop_table, lambda name: catalog.rename_table(name, "new")):
        with pytest.raises(CorruptFile, match="the table evil at"):
            ask("evil")
    connection = lance_sql.attach(lance_sql.connect(), catalog, as_="lake")
    assert connection.execute("SELECT count(*) FROM lake.fine").fetchall() == [(3,)]
    for statement in ("DROP TABLE lake.evil", "DELETE FROM lake.evil WHERE true", "INSERT INTO lake.evil VALUES (1)"):
        with pytest.raises(LanceError):
            lance_sql.sql(statement, connection=connection)
    assert files(tmp_path) == before
    assert lance_sql.open(tmp_path / "victim.lance").version == 1


def test_a_name_with_the_separator_is_no_table_of_a_namespace(tmp_path: Path) -> None:
    catalog = lance_sql.catalog(tmp_path)
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", ROWS)
    for ask in (catalog.describe, catalog.drop_table):
        with pytest.raises(TableNotFound):
            ask(("sales$orders",))
    assert catalog.open("sales.orders").count_rows() == 3


@pytest.mark.parametrize("name", [".", "..", "a$b", "a/b", "a\\b", "a\nb"])
def test_names_are_refused_before_a_request(name: str) -> None:
    pytest.importorskip("lance_namespace_urllib3_client")
    # nobody answers there
    catalog = lance_sql.catalog("http://127.0.0.1:9")
    for make in (catalog.declare, catalog.create_namespace, lambda new: catalog.rename_table("orders", new)):
        with pytest.raises(InvalidArgument, match="cannot be the name"):
            make((name,))


WITH_AT = ["@", "@1", "a@", "a@1", "sales@audited", "a@2026-11-21"]


def by_every_door(catalog: Any, name: str) -> None:
    """Reads and writes `sales.{name}`, which has one row and no other version, by every door."""
    where = f'lake.sales."{name}"'
    assert catalog.open(("sales", name)).count_rows() == 1
    assert lance_sql.open(catalog.describe(("sales", name)).path).count_rows() == 1
    connection = lance_sql.attach(lance_sql.connect(), catalog, as_="lake")
    session = lance_sql.attach(SessionContext(), catalog, as_="lake")
    for query in (f"SELECT id FROM {where}", f'SELECT "{name}".id FROM {where}', f"SELECT x.id FROM {where} AS x"):
        assert connection.execute(query).fetchall() == [(1,)]
        assert lance_sql.sql(query, connection=connection).fetchall() == [(1,)]
        assert lance_sql.sql(query, session=session).fetchall() == [(1,)]
    assert lance_sql.sql(f"SELECT id FROM {where} VERSION AS OF 1", connection=connection).fetchall() == [(1,)]
    lance_sql.sql(f"INSERT INTO {where} VALUES (2)", connection=connection)
    lance_sql.sql(f"DELETE FROM {where} WHERE id = 1", session=session)
    assert connection.execute(f"SELECT id FROM {where}").fetchall() == [(2,)]
    assert connection.execute(f"SELECT id FROM lance_changes('lake.sales.{name}', 2, 2)").fetchall() == [(2,)]


@pytest.mark.parametrize("kind", ["directory", "rest"])
@pytest.mark.parametrize("name", WITH_AT)
def test_a_sign_of_versions_in_a_name_of_a_namespace(tmp_path: Path, name: str, kind: str) -> None:
    with serving(str(tmp_path)) if kind == "rest" else nullcontext(str(tmp_path)) as place:
        catalog = lance_sql.catalog(place, token=TOKEN if kind == "rest" else None)
        catalog.create_namespace("sales")
        catalog.create_table(("sales", name), {"id": [1]})
        by_every_door(catalog, name)
        catalog.drop_table(("sales", name))
        assert catalog.tables("sales") == []
