"""`lance_scan(..., filter := ..., use_indices := ...)` in DuckDB."""

from __future__ import annotations

import pickle

import duckdb
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql.providers.duckdb.tables import DuckDBTable, table

ROWS = 20_000


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    path = tmp_path_factory.mktemp("where") / "t.lance"
    rows = {"id": range(ROWS), "k": [i % 5 for i in range(ROWS)], "o'k": [None, "x"] * (ROWS // 2)}
    return lance_sql.write(rows, path).indices.create("id", "btree")


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made: duckdb.DuckDBPyConnection = lance_sql.connect()
    return made


@pytest.mark.parametrize(
    "condition", ["id BETWEEN 100 AND 299", "k = 3 OR id < 5", '"o\'k" IS NULL', "_rowid < 7", "false"]
)
@pytest.mark.parametrize("indexed", ["true", "false"])
def test_only_rows_that_pass_are_in_the_table(
    dataset: lance_sql.Dataset, connection: duckdb.DuckDBPyConnection, condition: str, indexed: str
) -> None:
    quoted = condition.replace("'", "''")
    for where in ("true", "k <> 3", "id > 150 AND id < 15000"):
        found, expected = (
            connection.execute(f"SELECT id, k FROM {source} WHERE {where} ORDER BY id").fetchall()
            for source in (
                f"lance_scan('{dataset.uri}', filter := '{quoted}', use_indices := {indexed})",
                f"(FROM lance_scan('{dataset.uri}') WHERE {condition})",
            )
        )
        assert found == expected
    counted = f"SELECT count(*) FROM lance_scan('{dataset.uri}', filter := '{quoted}')"
    assert connection.execute(counted).fetchall() == [(dataset.count_rows(condition),)]


def test_a_filter_goes_with_versions_and_visible_columns(
    dataset: lance_sql.Dataset, connection: duckdb.DuckDBPyConnection
) -> None:
    query = f"FROM lance_table('{dataset.uri}', version := 1, filter := 'id = 7')"
    assert connection.execute(query).fetchall() == [(7, 2, "x")]


def test_a_join_reads_what_the_filter_leaves(dataset: lance_sql.Dataset, connection: duckdb.DuckDBPyConnection) -> None:
    query = f"""SELECT sum(a.id) FROM lance_scan('{dataset.uri}', filter := 'id < 10') AS a
        JOIN lance_scan('{dataset.uri}') AS b ON a.id = b.id"""
    assert connection.execute(query).fetchall() == [(45,)]
    made = table(dataset, where="id < 10")
    assert made.scan([]).plan.num_candidates == 10


@pytest.mark.parametrize(
    ("filter", "message"),
    [("nothing = 1", "No column 'nothing'"), ("id = ", "Cannot read the filter"), ("id", "not a condition")],
)
def test_non_conditions_are_named(
    dataset: lance_sql.Dataset, connection: duckdb.DuckDBPyConnection, filter: str, message: str
) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"FROM lance_scan('{dataset.uri}', filter := '{filter}')")


def test_the_arrow_dataset_that_other_versions_take_has_the_filter(dataset: lance_sql.Dataset) -> None:
    for made in (DuckDBTable(dataset, where="id < 10"), pickle.loads(pickle.dumps(table(dataset, where="id < 10")))):
        assert made.count_rows() == 10
        assert made.count_rows(pc.field("k") == 3) == 2
        assert made.to_table(columns=["id"], filter=pc.field("k") == 3)["id"].to_pylist() == [3, 8]
        assert sum(part.scanner().to_table().num_rows for part in made.get_fragments()) == 10
