"""Several queries at once: each has the result of a single query."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_sql

DIMENSION = 4


def vectors(values: Any, mask: Any = None) -> pa.Array:
    flat = pa.array(np.asarray(values, np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, DIMENSION, mask=None if mask is None else pa.array(mask))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A table of 500 rows, and one of 12 queries, of which one is NULL and one is deleted."""
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("join")
    rows = pa.table({"id": np.arange(500), "grp": np.arange(500) % 3, "v": vectors(rng.normal(size=(500, DIMENSION)))})
    lance_sql.write(rows, folder / "t.lance", max_rows_per_file=200)
    mask = np.arange(12) == 5
    queries = pa.table({"name": [f"q{i}" for i in range(12)], "w": vectors(rng.normal(size=(12, DIMENSION)), mask)})
    lance_sql.write(queries, folder / "q.lance", max_rows_per_file=7).delete("name = 'q2'")
    return str(folder / "t.lance"), str(folder / "q.lance")


def one_by_one(places: tuple[str, str], k: int, **options: Any) -> list[tuple[Any, ...]]:
    """Each query alone."""
    table, queries = map(lance_sql.open, places)
    found = []
    for row in queries.scan(["name", "w"]).to_table().to_pylist():
        if row["w"] is not None:
            hits = table.search(row["w"], k=k, columns=["id"], **options).to_table().to_pylist()
            found += [(row["name"], hit["id"], hit["_distance"]) for hit in hits]
    return sorted(found)


def joined(engine: str, places: tuple[str, str], arguments: str) -> list[tuple[Any, ...]]:
    table, queries = places
    sql = f"""
        SELECT q.name AS name, j.id AS id, j._distance AS far
        FROM lance_vector_join('{table}', 'v', '{queries}', {arguments}) j
        JOIN lance_scan('{queries}') q ON q._rowid = j._query_rowid"""
    if engine == "connection":
        return sorted(lance_sql.connect().execute(sql).fetchall())
    return sorted(tuple(row.values()) for row in lance_sql.sql(sql, engine=engine).to_table().to_pylist())


@pytest.mark.parametrize("engine", ["connection", "duckdb", "datafusion"])
def test_a_table_of_queries(places: tuple[str, str], engine: str) -> None:
    assert len(one_by_one(places, 3)) == 30
    assert joined(engine, places, "k := 3") == one_by_one(places, 3)
    found = joined(engine, places, "k := 2, filter := 'grp = 1', metric := 'cosine'")
    assert found == one_by_one(places, 2, filter="grp = 1", metric="cosine")
    chosen = [row for row in one_by_one(places, 4) if row[0] < "q3"]
    assert joined(engine, places, "k := 4, query_column := 'w', query_filter := 'name < ''q3'''") == chosen


def test_a_list_of_queries(places: tuple[str, str]) -> None:
    connection = lance_sql.connect()
    connection.execute(
        "SET VARIABLE asked = (SELECT list(w ORDER BY name) FROM lance_scan(?) WHERE w IS NOT NULL)", [places[1]]
    )
    sql = f"SELECT query_index, id FROM lance_vector_join('{places[0]}', 'v', getvariable('asked'), k := 3)"
    found = sorted(connection.execute(sql).fetchall())
    names = sorted(each["name"] for each in lance_sql.open(places[1]).scan().to_table().to_pylist() if each["w"])
    assert [(names[number], id) for number, id in found] == sorted((name, id) for name, id, _ in one_by_one(places, 3))
    sql = f"SELECT query_index, id FROM lance_vector_join('{places[0]}', 'v', [[0, 0, 0, 0], [1, 1, 1, 1.5]], k := 1)"
    expected = lance_sql.open(places[0]).search([[0, 0, 0, 0], [1, 1, 1, 1.5]], k=1, columns=["id"]).to_table()
    pairs = list(zip(expected["query_index"].to_pylist(), expected["id"].to_pylist(), strict=True))
    assert sorted(connection.execute(sql).fetchall()) == pairs
    found = lance_sql.sql(sql, engine="datafusion").to_table().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == pairs


def test_an_index_serves_all_of_them(tmp_path: Path, places: tuple[str, str]) -> None:
    path = str(tmp_path / "indexed.lance")
    lance_sql.write(lance_sql.open(places[0]).scan().to_table(), path).indices.create("v", "ivf_flat", num_partitions=4)
    indexed = (path, places[1])
    assert joined("connection", indexed, "k := 3, nprobes := 2") == one_by_one(indexed, 3, nprobes=2)
    assert joined("connection", indexed, "k := 3, nprobes := 4") == one_by_one(places, 3)


@pytest.mark.parametrize(
    ("queries", "more", "message"),
    [
        ("NULL", "", "needs a table of query vectors"),
        ("[1, 2, 3, 4]", "", "or a list of vectors"),
        ("[[1, 2]]", "", "has 2 values"),
        ("[[1, 2, 3, NULL]]", "", "NULL, NaN or infinite"),
        ("'{q}'", ", k := NULL", "the number of rows for each query"),
        ("'{q}'", ", query_column := 'name'", "not a vector"),
        ("'{q}'", ", query_filter := 'name = ''none'''", "no vectors to use as queries"),
        ("[[1, 2, 3, 4]]", ", query_filter := 'a = 1'", "need a table of queries"),
        ("'{q}-missing'", "", "missing"),
    ],
)
def test_invalid_requests_are_refused(places: tuple[str, str], queries: str, more: str, message: str) -> None:
    sql = f"FROM lance_vector_join('{places[0]}', 'v', {queries.format(q=places[1])}{more})"
    with pytest.raises(Exception, match=message):
        lance_sql.connect().execute(sql)
    with pytest.raises(Exception, match=message):
        lance_sql.sql(sql)


def test_by_place_in_datafusion(places: tuple[str, str]) -> None:
    from datafusion import SessionContext

    context = lance_sql.register(SessionContext())
    sql = f"SELECT query_index FROM lance_vector_join('{places[0]}', 'v', '[[0, 0, 0, 0], [1, 1, 1, 1]]', 2)"
    assert sorted(context.sql(sql).to_pydict()["query_index"]) == [0, 0, 1, 1]
    assert os.path.isdir(places[0])
