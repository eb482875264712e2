"""Vector indices of pylance: the same rows and distances at equal parameters, over tables that went through changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument

# kind, metric, type, options, relative tolerance
KINDS: list[tuple[str, str, Any, dict[str, Any], float]] = [
    ("IVF_FLAT", "l2", pa.float32(), {}, 1e-5),
    ("IVF_FLAT", "cosine", pa.float64(), {}, 1e-5),
    ("IVF_FLAT", "dot", pa.float16(), {}, 5e-3),
    ("IVF_FLAT", "hamming", pa.uint8(), {}, 0.0),
    ("IVF_PQ", "l2", pa.float32(), {"num_sub_vectors": 4}, 1e-5),
    ("IVF_PQ", "cosine", pa.float32(), {"num_sub_vectors": 8, "num_bits": 4}, 1e-5),
    ("IVF_PQ", "dot", pa.float64(), {"num_sub_vectors": 4}, 1e-4),
    ("IVF_SQ", "l2", pa.float32(), {}, 1e-5),
    ("IVF_SQ", "dot", pa.float32(), {}, 1e-4),
    ("IVF_RQ", "l2", pa.float32(), {"num_bits": 1}, 1e-3),
    ("IVF_RQ", "dot", pa.float32(), {"num_bits": 5}, 1e-3),
]
DIMENSION = 16
SETTINGS: list[dict[str, Any]] = [{"nprobes": 1}, {"nprobes": 3}, {"nprobes": 4, "refine_factor": 3}]


def rows(rng: np.random.Generator, first: int, count: int, type: pa.DataType) -> pa.Table:
    values: npt.NDArray[Any]
    if pa.types.is_uint8(type):
        values = rng.integers(0, 256, (count, DIMENSION), dtype=np.uint8)
    else:
        centers = np.random.default_rng(7).normal(size=(12, DIMENSION)) * 3
        values = centers[rng.integers(0, 12, count)] + rng.normal(size=(count, DIMENSION))
        values = values.astype(type.to_pandas_dtype())
    mask = pa.array(rng.random(count) < 0.01)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1), type), DIMENSION, mask=mask)
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "grp": rng.integers(0, 1000, count), "other": np.zeros(count, np.int64), "v": vectors})


def changed(dataset: lance.LanceDataset, rng: np.random.Generator, type: pa.DataType, next_id: int) -> int:
    """A random change of the table; the id that comes next."""
    match int(rng.integers(0, 7)):
        case 0:
            lance.write_dataset(rows(rng, next_id, 120, type), dataset.uri, mode="append")
            next_id += 120
        case 1:
            dataset.delete(f"id % 17 = {rng.integers(0, 17)}")
        case 2:
            dataset.update({"other": "other + 1"}, where=f"id % 11 = {rng.integers(0, 11)}")
        case 3:
            upper = next_id - int(rng.integers(1, 60))
            new = rows(rng, upper, 80, type)
            dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(new)
            next_id = upper + 80
        case 4:
            dataset.optimize.optimize_indices(num_indices_to_merge=0)
        case 5:
            dataset.optimize.optimize_indices(num_indices_to_merge=10)
        case _:
            dataset.optimize.compact_files(target_rows_per_fragment=2000)
    return next_id


def theirs(
    dataset: lance.LanceDataset, query: npt.NDArray[Any], k: int, filter: str | None, **options: Any
) -> pa.Table:
    # without "accurate", estimates of IVF_RQ are rounded to steps of 8 bits, by any part of what they are
    nearest = {"column": "v", "q": query, "k": k, "approx_mode": "accurate", **options}
    return dataset.to_table(columns=["id", "_distance"], nearest=nearest, filter=filter, prefilter=True)


def compare(
    ours: pa.Table, other: pa.Table, tolerance: float, *, is_crowded: bool = False, is_estimate: bool = False
) -> None:
    """
    is_crowded: the index has entries of rows that were deleted and compacted away. pylance counts them among the k
        best, and leaves them out then: ours may be nearer, and more
    is_estimate: pylance leaves out rows by a bound of their errors, which does not hold for all: others may come then
    """
    far, wanted = ours["_distance"].to_numpy(), other["_distance"].to_numpy()
    if is_crowded:
        assert len(far) >= len(wanted)
        if not is_estimate:
            slack = max(tolerance, 1e-5)
            assert (far[: len(wanted)] <= wanted + slack * np.maximum(np.abs(wanted), 1)).all()
        return
    assert len(far) == len(wanted)
    got = dict(zip(ours["id"].to_pylist(), far.tolist(), strict=True))
    expected = dict(zip(other["id"].to_pylist(), wanted.tolist(), strict=True))
    both = got.keys() & expected.keys()
    # an estimate is a difference of large numbers
    step = float(np.abs(wanted).max(initial=1)) if is_estimate else 1
    for row in both:
        assert np.isclose(got[row], expected[row], rtol=tolerance, atol=max(tolerance, 1e-6) * step)
    if is_estimate:
        assert len(both) >= 0.6 * len(wanted)
        return
    # of rows that are equally far, any may come, and of those with equal codes any may be compared exactly
    if len(both) < len(wanted) - 1:
        np.testing.assert_allclose(far, wanted, rtol=max(tolerance, 1e-5), atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "metric", "type", "options", "tolerance", "stable"),
    [
        # ids of both kinds for each kind of index; the other half with the slow tests
        pytest.param(
            *each,
            stable,
            marks=[pytest.mark.slow] if stable == bool(number % 2) else [],
            id=f"{each[0]}-{each[1]}-{each[2]}-{'stable' if stable else 'addresses'}",
        )
        for number, each in enumerate(KINDS)
        for stable in (False, True)
    ],
)
def test_random_tables(
    tmp_path: Path,
    kind: str,
    metric: str,
    type: pa.DataType,
    options: dict[str, Any],
    tolerance: float,
    stable: bool,
) -> None:
    rng = np.random.default_rng([KINDS.index((kind, metric, type, options, tolerance)), stable])
    path = tmp_path / "t.lance"
    dataset = lance.write_dataset(
        rows(rng, 0, 1500, type), path, max_rows_per_file=600, enable_stable_row_ids=stable, data_storage_version="2.1"
    )
    dataset.create_index("v", kind, metric=metric, num_partitions=4, **options)
    next_id = 1500
    is_crowded = False
    for _ in range(4):
        dataset = lance.dataset(path)
        next_id = changed(dataset, rng, type, next_id)
        dataset = lance.dataset(path)
        opened = lance_sql.open(path)
        is_crowded |= stable and opened.history()[-1].operation == "compact"
        for filter in (None, "grp < 500", "grp < 50", "grp < 3", "grp < 900"):
            sample = rows(rng, 0, 1, type)["v"].combine_chunks().values.to_numpy()
            for settings in SETTINGS:
                ours = opened.search(sample, k=10, filter=filter, columns=["id"], **settings).to_table()
                other = theirs(dataset, sample, 10, filter, **settings)
                compare(ours, other, tolerance, is_crowded=is_crowded, is_estimate=kind == "IVF_RQ")
        exact = opened.search(sample, k=20, columns=["id"], use_index=False).to_table()
        compare(exact, theirs(dataset, sample, 20, None, use_index=False, metric=metric), tolerance)


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_default_probes(tmp_path: Path, metric: str, k: int) -> None:
    rng = np.random.default_rng(3)
    dataset = lance.write_dataset(rows(rng, 0, 6000, pa.float32()), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_FLAT", metric=metric, num_partitions=40)
    opened = lance_sql.open(tmp_path / "t.lance")
    for _ in range(10):
        query = rows(rng, 0, 1, pa.float32())["v"].combine_chunks().values.to_numpy()
        search = opened.search(query, k=k, columns=["id"])
        assert "chosen by the distances of their centroids" in search.explain()
        compare(search.to_table(), theirs(dataset, query, k, None), 1e-4)


def test_graphs_are_scanned(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    dataset = lance.write_dataset(rows(rng, 0, 2000, pa.float32()), tmp_path / "t.lance")
    dataset.create_index("v", "IVF_HNSW_SQ", metric="l2", num_partitions=2)
    opened = lance_sql.open(tmp_path / "t.lance")
    for _ in range(20):
        query = rows(rng, 0, 1, pa.float32())["v"].combine_chunks().values.to_numpy()
        search = opened.search(query, nprobes=2, columns=["id"])
        assert "scanned without the graph" in search.explain()
        far = theirs(dataset, query, 10, None, nprobes=2, ef=100)["_distance"].to_numpy()
        assert (search.to_table()["_distance"].to_numpy() <= far * (1 + 1e-5)).all()


def indexed(path: Path, **options: Any) -> lance_sql.Dataset:
    rng = np.random.default_rng(5)
    dataset = lance.write_dataset(rows(rng, 0, 1000, pa.float32()), path)
    dataset.create_index("v", "IVF_PQ", num_partitions=4, num_sub_vectors=4, **options)
    return lance_sql.open(path)


def test_several_queries_by_an_index(tmp_path: Path) -> None:
    dataset = indexed(tmp_path / "t.lance", metric="l2")
    queries = np.random.default_rng(6).normal(size=(3, DIMENSION))
    found = dataset.search(queries, k=5, nprobes=2, columns=["id"]).to_table()
    for number in range(3):
        one = dataset.search(queries[number], k=5, nprobes=2, columns=["id"]).to_table()
        assert found.slice(5 * number, 5).drop_columns("query_index") == one


def test_the_metric_of_the_index_is_the_default(tmp_path: Path) -> None:
    dataset = indexed(tmp_path / "t.lance", metric="cosine")
    query = np.ones(DIMENSION)
    exact = dataset.search(query, use_index=False, columns=["id"]).to_table()
    assert exact == dataset.search(query, use_index=False, metric="cosine", columns=["id"]).to_table()
    other = dataset.search(query, metric="l2")
    assert "its metric is cosine" in other.explain()
    assert other.to_table() == dataset.search(query, metric="l2", use_index=False).to_table()


def test_a_damaged_index_is_not_used(tmp_path: Path) -> None:
    dataset = indexed(tmp_path / "t.lance", metric="l2")
    query = np.ones(DIMENSION)
    exact = dataset.search(query, metric="l2", use_index=False, columns=["id"]).to_table()
    (file,) = (tmp_path / "t.lance").rglob("auxiliary.idx")
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    search = lance_sql.open(tmp_path / "t.lance").search(query, metric="l2", columns=["id"])
    assert search.to_table() == exact
    assert "a segment is not used" in search.explain()
    file.unlink()
    assert lance_sql.open(tmp_path / "t.lance").search(query, metric="l2", columns=["id"]).to_table() == exact


def test_rows_without_an_index_can_be_left_out(tmp_path: Path) -> None:
    dataset = indexed(tmp_path / "t.lance", metric="l2")
    new = rows(np.random.default_rng(8), 5000, 50, pa.float32())
    dataset = lance_sql.write(new, dataset, mode="append")
    query = new["v"].combine_chunks().drop_null()[0].values.to_numpy()
    assert dataset.search(query, k=1).to_table()["id"].to_pylist()[0] >= 5000
    assert max(dataset.search(query, k=20, fast_search=True).to_table()["id"].to_pylist()) < 5000


def test_refinement_needs_a_number_of_rows(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="give k as well"):
        indexed(tmp_path / "t.lance", metric="l2").search(np.ones(DIMENSION), k=None, refine_factor=2)
