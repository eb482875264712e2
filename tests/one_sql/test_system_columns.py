"""System columns of tables that are named by their paths, or by a catalog, without a table function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.one_sql.spellings import may_be_of_lance
from lance_sql.providers.duckdb.protocol import has_sources

# the rows have the ids 0, 1, 2; the last one is of version 2
QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id, _rowid FROM '{}' ORDER BY id": [(1, 0), (2, 1), (3, 2)],
    "SELECT t._rowid FROM '{}' AS t WHERE t.id = 2": [(1,)],
    "SELECT t._rowid FROM '{}' WHERE id = 2": [(1,)],
    "SELECT count(*) FROM '{}' WHERE _row_created_at_version = 2": [(1,)],
    "SELECT id FROM '{}' ORDER BY _rowaddr DESC LIMIT 1": [(3,)],
    "SELECT a._rowid, b.id FROM '{}' AS a JOIN '{}' AS b ON a.id = b.id WHERE a.id = 3": [(2, 3)],
    "SELECT a._rowid, b._rowid FROM '{}' AS a JOIN '{}' AS b ON a.id = b.id WHERE a.id = 3": [(2, 2)],
    "SELECT x.r FROM (SELECT _rowid AS r FROM '{}') AS x WHERE x.r = 1": [(1,)],
    "WITH q AS (SELECT id, _rowid AS r FROM '{}') SELECT r FROM q WHERE id = 3": [(2,)],
    "SELECT _rowid FROM '{}' VERSION AS OF 1 WHERE id = 2": [(1,)],
    "SELECT id, 7 AS _rowid FROM '{}' WHERE id = 1": [(1, 7)],
    "SELECT * FROM (SELECT _rowid, id FROM '{}') AS x WHERE id = 1": [(0, 1)],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    path = tmp_path_factory.mktemp("tables") / "t.lance"
    return lance_sql.write({"id": [1, 2]}, path).append({"id": [3]})


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
@pytest.mark.parametrize("query", QUERIES)
def test_named_system_columns(table: Dataset, query: str, engine: Any) -> None:
    result = lance_sql.sql(query.format(table.uri, table.uri), engine, dialect="duckdb")
    assert result.fetchall() == QUERIES[query]


@pytest.mark.skipif(not has_sources(), reason="connections of DuckDB 1.5 parse no statements")
@pytest.mark.parametrize("query", QUERIES)
def test_on_connections(table: Dataset, query: str) -> None:
    connection = lance_sql.connect(catalog=Path(table.uri).parent)
    assert connection.execute(query.format(table.uri, table.uri)).fetchall() == QUERIES[query]
    assert connection.execute(query.replace("'{}'", "lake.t")).fetchall() == QUERIES[query]


def test_a_star_has_only_the_columns_of_the_table(table: Dataset) -> None:
    for query in (f"SELECT *, _rowid FROM '{table.uri}'", f"SELECT t FROM '{table.uri}' AS t WHERE _rowid = 1"):
        with pytest.raises((LanceError, duckdb.Error), match="_rowid"):
            lance_sql.sql(query).fetchall()
    assert lance_sql.sql(f"SELECT * FROM '{table.uri}'").to_table().column_names == ["id"]


def test_a_function_that_has_them_is_not_parsed() -> None:
    assert not may_be_of_lance("SELECT _rowid FROM lance_scan('t.lance')")
