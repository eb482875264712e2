"""Exact search against NumPy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument, UnsupportedFeature
from tests.reads.search.brute_force import best, distances

DIMENSIONS = (1, 3, 8, 32, 45, 128)
TYPES: dict[str, Any] = {
    "half": (pa.float16(), np.float16, ("l2", "cosine", "dot"), 1e-5),
    "float": (pa.float32(), np.float32, ("l2", "cosine", "dot"), 1e-5),
    "double": (pa.float64(), np.float64, ("l2", "cosine", "dot"), 1e-6),
    "bytes": (pa.uint8(), np.uint8, ("hamming",), 0),
}


def vectors(rng: np.random.Generator, kind: str, count: int, size: int) -> npt.NDArray[Any]:
    if kind == "bytes":
        return rng.integers(0, 256, (count, size), dtype=np.uint8)
    return rng.normal(size=(count, size)).astype(TYPES[kind][1])


def lists(values: npt.NDArray[Any], type: pa.DataType, valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    mask = None if valid is None else pa.array(~valid)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1), type), values.shape[1], mask=mask)


def check(table: pa.Table, ids: npt.NDArray[np.int64], far: npt.NDArray[np.float64], tolerance: float) -> None:
    found = table["_distance"].to_numpy()
    assert len(found) == len(far)
    np.testing.assert_allclose(found, far, rtol=tolerance, atol=tolerance)
    # rows that are equally far, but for rounding, may change places
    for place, (got, wanted) in enumerate(zip(table["id"].to_pylist(), ids.tolist(), strict=True)):
        same = np.flatnonzero(np.isclose(far, far[place], rtol=tolerance, atol=tolerance))
        assert got == wanted or got in ids[same] or np.isclose(far[place], far[-1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", DIMENSIONS)
@pytest.mark.parametrize("kind", TYPES)
def test_the_nearest_rows(tmp_path: Path, kind: str, size: int) -> None:
    type, _, metrics, tolerance = TYPES[kind]
    rng = np.random.default_rng(size)
    count = 1500
    values = vectors(rng, kind, count, size)
    if kind != "bytes":
        values[rng.random(count) < 0.02, 0] = np.nan
        values[rng.random(count) < 0.02] = 0
        values[rng.random(count) < 0.01, size - 1] = np.inf
    valid = rng.random(count) > 0.05
    table = pa.table({"id": np.arange(count), "grp": rng.integers(0, 10, count), "v": lists(values, type, valid)})
    dataset = lance_sql.write(table.slice(0, 700), tmp_path / "t.lance")
    dataset = lance_sql.write(table.slice(700), tmp_path / "t.lance", mode="append")
    dataset = dataset.delete("id % 7 = 3")
    live = np.arange(count) % 7 != 3
    groups = table["grp"].to_numpy()
    for metric in metrics:
        for k in (1, 10, 400, None):
            query = vectors(rng, kind, 1, size)[0]
            for filter, passing in ((None, live), ("grp < 3", live & (groups < 3)), ("id = 5", np.arange(count) == 5)):
                ids, far = best(distances(metric, values, query), k, passing & valid)
                found = dataset.search(query, k=k, metric=metric, filter=filter, columns=["id"]).to_table()
                assert found.column_names == ["id", "_distance"]
                check(found, ids, far, tolerance)


def test_equal_distances_come_in_the_order_of_addresses(tmp_path: Path) -> None:
    table = pa.table({"id": np.arange(5000), "v": lists(np.ones((5000, 4)), pa.float32())})
    found = lance_sql.write(table, tmp_path / "t.lance").search([0, 0, 0, 0], k=7).to_table()
    assert found["id"].to_pylist() == list(range(7))
    assert found["_distance"].to_pylist() == [4.0] * 7


@pytest.mark.parametrize("kind", ["ivf_flat", "IVF_PQ", "Ivf_Sq"])
@pytest.mark.parametrize("metric", ["l2", "dot", "cosine"])
def test_rows_with_infinite_values_are_left_out_with_an_index_and_without(
    tmp_path: Path, kind: str, metric: str
) -> None:
    values = np.random.default_rng(1).normal(size=(600, 8))
    values[::50, 2], values[25::50, 7] = np.inf, -np.inf
    dataset = lance_sql.write({"id": range(600), "v": lists(values, pa.float32())}, tmp_path / "t.lance")
    expected = [number for number in range(600) if number % 25]
    indexed = dataset.indices.create("v", kind, metric=metric, num_partitions=2)
    for each, nprobes in ((dataset, None), (indexed, 2)):
        result = each.search(np.ones(8), k=None, metric=metric, nprobes=nprobes).to_table()
        assert sorted(result["id"].to_pylist()) == expected
    several = pa.array(
        [values[number : number + 2].tolist() for number in range(0, 600, 2)], pa.list_(pa.list_(pa.float32(), 8))
    )
    dataset = lance_sql.write({"id": range(300), "v": several}, tmp_path / "several.lance")
    result = dataset.search(np.ones(8), k=None, metric=metric).to_table()
    assert sorted(result["id"].to_pylist()) == list(range(300))


def test_a_range_of_distances(tmp_path: Path) -> None:
    values = np.arange(10.0).reshape(10, 1)
    dataset = lance_sql.write(pa.table({"id": np.arange(10), "v": lists(values, pa.float32())}), tmp_path / "t.lance")
    search = dataset.search([0], k=None, distance_range=(4, 25))
    assert search.to_table()["_distance"].to_pylist() == [4.0, 9.0, 16.0]
    assert dataset.search([0], k=2, distance_range=(4, None)).to_table()["id"].to_pylist() == [2, 3]


def test_several_queries(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values, queries = rng.normal(size=(3000, 20)), rng.normal(size=(5, 20))
    dataset = lance_sql.write(pa.table({"id": np.arange(3000), "v": lists(values, pa.float64())}), tmp_path / "t.lance")
    found = dataset.search(queries, k=4).to_table()
    assert found.column_names == ["query_index", "id", "v", "_distance"]
    assert found["query_index"].to_pylist() == [number for number in range(5) for _ in range(4)]
    for number in range(5):
        ids, far = best(distances("l2", values, queries[number]), 4, np.ones(3000, np.bool_))
        check(found.slice(4 * number, 4), ids, far, 1e-6)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
def test_rows_of_several_vectors(tmp_path: Path, metric: str, large: bool) -> None:
    rng = np.random.default_rng(2)
    per_row = [rng.normal(size=(rng.integers(0, 5), 6)).astype(np.float32) for _ in range(400)]
    inner = pa.list_(pa.float32(), 6)
    type = pa.large_list(inner) if large else pa.list_(inner)
    column = pa.array([None if i % 50 == 0 else rows.tolist() for i, rows in enumerate(per_row)], type)
    dataset = lance_sql.write(pa.table({"id": np.arange(400), "v": column}), tmp_path / "t.lance")
    query = rng.normal(size=(3, 6)).astype(np.float32)
    far = np.full(400, np.nan)
    for i, rows in enumerate(per_row):
        if i % 50 and len(rows):
            far[i] = sum(distances(metric, rows, each).min() for each in query)
    for asked in (query, query[:1], query[0]):
        if asked is not query:
            far = np.array(
                [
                    distances(metric, rows, query[0]).min() if i % 50 and len(rows) else np.nan
                    for i, rows in enumerate(per_row)
                ]
            )
        ids, wanted = best(far, 20, np.ones(400, np.bool_))
        check(dataset.search(asked, k=20, metric=metric, columns=["id"]).to_table(), ids, wanted, 1e-5)


def test_vectors_with_null_values_are_left_out(tmp_path: Path) -> None:
    column = pa.array([[1, 2], [None, 0], None, [0, 0]], pa.list_(pa.float32(), 2))
    try:
        dataset = lance_sql.write(pa.table({"id": [0, 1, 2, 3], "v": column}), tmp_path / "t.lance")
    except UnsupportedFeature:
        pytest.skip("such vectors cannot be stored")
    assert dataset.search([0, 0]).to_table()["id"].to_pylist() == [3, 0]


def test_vectors_inside_of_structs(tmp_path: Path) -> None:
    inside = pa.StructArray.from_arrays([lists(np.arange(8.0).reshape(4, 2), pa.float32())], ["v"])
    dataset = lance_sql.write(pa.table({"id": [0, 1, 2, 3], "s": inside}), tmp_path / "t.lance")
    assert dataset.search([4, 5], column="s.v", k=1).to_table()["id"].to_pylist() == [2]


def two_versions(path: Path) -> lance_sql.Dataset:
    table = pa.table({"id": np.arange(100), "v": lists(np.arange(200.0).reshape(100, 2), pa.float32())})
    dataset = lance_sql.write(table, path, stable_row_ids=True)
    return dataset.update({"id": "id + 1000"}, "id BETWEEN 10 AND 12")


def test_at_a_version_and_since(tmp_path: Path) -> None:
    dataset = two_versions(tmp_path / "t.lance")
    path = dataset.uri
    dataset.tags.create("later", dataset.version)
    query = [20, 21]
    assert lance_sql.open(path, version=1).search(query, k=1).to_table()["id"].to_pylist() == [10]
    assert lance_sql.open(path, tag="later").search(query, k=1).to_table()["id"].to_pylist() == [1010]
    changed = dataset.search(query, since=1, k=None)
    assert changed.to_table()["id"].to_pylist() == [1010, 1011, 1012]
    assert dataset.search(query, since="later").count_rows() == 0
    assert dataset.search(query, since=1, filter="id > 1011").to_table()["id"].to_pylist() == [1012]


def test_since_needs_stable_row_ids(tmp_path: Path) -> None:
    dataset = lance_sql.write(
        pa.table({"v": lists(np.ones((2, 2)), pa.float32())}), tmp_path / "t.lance", stable_row_ids=False
    )
    with pytest.raises(InvalidArgument, match="without stable row ids"):
        dataset.search([1, 1], since=1)


def test_it_is_a_scan(tmp_path: Path) -> None:
    dataset = two_versions(tmp_path / "t.lance")
    search = dataset.search([20, 21], k=5, filter="id < 1000", columns=["id", "_rowid", "_distance"])
    assert search.schema.names == ["id", "_rowid", "_distance"]
    rows = search.to_table()
    assert pickle.loads(pickle.dumps(search)).to_table() == rows
    assert pa.RecordBatchReader.from_stream(search).read_all() == rows
    assert search.count_rows() == 5
    assert dataset.take(rows["_rowid"], ["id"])["id"] == rows["id"]
    text = search.explain(analyze=True)
    assert "5 rows nearest to a vector of 2 values in v" in text
    assert "filter, before rows are ranked: id < 1000" in text
    assert "returned: 5 rows" in text
    found = search.rows.scan(["id"], "_distance > 10", limit=2)
    assert found.to_table()["id"].to_pylist() == rows.filter(pa.compute.field("_distance") > 10)["id"].to_pylist()[:2]
    assert found.count_rows() == 2
    assert [each.num_rows for each in search.rows.scan(["id"], batch_size=2).to_reader()] == [2, 2, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vector": [1, 2, 3]}, "has 3 values, but column 'v' has vectors of 2"),
        ({"vector": [1, None]}, "NULL, NaN or infinite"),
        ({"vector": [1, float("nan")]}, "NULL, NaN or infinite"),
        ({"vector": "words"}, "a list of numbers"),
        ({"vector": [[[1, 2]]]}, "the shape"),
        ({"vector": []}, "the shape"),
        ({"vector": [1e300, 0]}, "too large for float"),
        ({"vector": [1, 2], "k": 0}, "k=0"),
        ({"vector": [1, 2], "k": True}, "k=True"),
        ({"vector": [1, 2], "nprobes": 0}, "nprobes=0"),
        ({"vector": [1, 2], "refine_factor": -1}, "refine_factor=-1"),
        ({"vector": [1, 2], "metric": "manhattan"}, "not one of l2"),
        ({"vector": [1, 2], "metric": "hamming"}, "does not fit"),
        ({"vector": [0, 0], "metric": "cosine"}, "no direction"),
        ({"vector": [1, 2], "distance_range": (2, 1)}, "lower to a higher"),
        ({"vector": [1, 2], "columns": "id"}, "pass a list"),
    ],
)
def test_invalid_arguments_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    dataset = two_versions(tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match=message):
        dataset.search(**options)


def test_columns_that_cannot_be_searched(tmp_path: Path) -> None:
    dataset = two_versions(tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match="'id' is int64"):
        dataset.search([1, 2], column="id")
    with pytest.raises(ColumnNotFound):
        dataset.search([1, 2], column="w")
    several = pa.table({"v": lists(np.ones((2, 2)), pa.float32()), "w": lists(np.ones((2, 2)), pa.float32())})
    with pytest.raises(InvalidArgument, match=r"has several vector columns \(v, w\)"):
        lance_sql.write(several, tmp_path / "s.lance").search([1, 2])
    taken = pa.table({"v": lists(np.ones((2, 2)), pa.float32()), "_distance": [1, 2]})
    with pytest.raises(InvalidArgument, match="so does the result of a search"):
        lance_sql.write(taken, tmp_path / "d.lance").search([1, 2])
