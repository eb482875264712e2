"""Catalogs in an object store, where nothing but a name tells a table from a version of another one."""

from __future__ import annotations

import pytest

import lance_sql
from tests.catalogs.test_names import WITH_AT, by_every_door
from tests.object_stores.places import Place


@pytest.fixture
def lake(place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in place.options.items():
        monkeypatch.setenv(name.upper(), value)
    return place.new_uri().rpartition("/")[0]


@pytest.mark.parametrize("name", WITH_AT)
def test_a_sign_of_versions_in_a_name(lake: str, name: str) -> None:
    catalog = lance_sql.catalog(lake)
    catalog.create_namespace("sales")
    catalog.create_table(("sales", name), {"id": [1]})
    by_every_door(catalog, name)
    catalog.drop_table(("sales", name))
    assert catalog.tables("sales") == []


def test_versions_of_a_table_of_a_namespace(lake: str) -> None:
    catalog = lance_sql.catalog(lake)
    catalog.create_namespace("sales")
    catalog.create_table(("sales", "orders"), {"id": [1]})
    lance_sql.write({"id": [2]}, catalog.describe(("sales", "orders")).path, mode="append")
    connection = lance_sql.attach(lance_sql.connect(), catalog, as_="lake")
    for name, rows in (("orders", 2), ("orders@1", 1), ("orders@-1", 1)):
        assert connection.execute(f'SELECT count(*) FROM lake.sales."{name}"').fetchall() == [(rows,)]
