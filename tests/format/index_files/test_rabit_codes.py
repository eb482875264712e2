"""Indices of kind IVF_RQ: codes are pylance's for its rotation, and pylance estimates over ours as by its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.index_files import rabit_codes
from lance_sql.format.index_files.vector_index import VectorIndex
from lance_sql.format.index_files.vector_model import model_of

Array = npt.NDArray[Any]


def vectors(values: Array, type: pa.DataType | None = None, mask: Array | None = None) -> pa.Array:
    type = pa.float32() if type is None else type
    array = pa.array(values.astype(type.to_pandas_dtype()).reshape(-1), type)
    given = None if mask is None else pa.array(mask)
    return pa.FixedSizeListArray.from_arrays(array, values.shape[1], mask=given)


def indices(path: Path) -> list[VectorIndex]:
    snapshot = lance_sql.open(path).snapshot
    found = [snapshot.open_indices.open(segment) for segment in snapshot.indices()]
    assert all(isinstance(each, VectorIndex) for each in found)
    return found  # type: ignore[return-value]  # checked above


def column(index: VectorIndex, name: str) -> Array:
    rows = np.array([[0, index.lengths.sum()]])
    array = index._file.read([name], rows)[0]
    return np.array(array.to_pylist())


def magnitudes(index: VectorIndex) -> Array:
    """Codes [rows, values] around 0."""
    size, bits = index.dimension, int(index.storage["num_bits"])
    parts = [rabit_codes.unpacked_signs(each.columns[rabit_codes.SIGNS]) for each in ordered(index)]
    flags = np.unpackbits(np.concatenate(parts), axis=1, bitorder="little")[:, :size].astype(np.int64)
    if bits == 1:
        return flags - 0.5
    stored = np.concatenate([each.columns[rabit_codes.EXTRA] for each in ordered(index)])
    return (flags << (bits - 1)) + rabit_codes.extra_codes(stored, bits - 1, size) - ((1 << bits) - 1) / 2


def ordered(index: VectorIndex) -> list[Any]:
    return sorted(index.partitions(range(len(index.centroids))), key=lambda each: each.number)


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize(("bits", "size"), [(1, 8), (1, 24), (2, 64), (3, 16), (5, 32), (9, 16)])
def test_codes_and_factors_are_those_of_pylance(tmp_path: Path, metric: str, bits: int, size: int) -> None:
    rng = np.random.default_rng([bits, size])
    values = rng.normal(size=(900, size)).astype(np.float32) + np.float32(0.3)
    dataset = lance.write_dataset({"v": vectors(values)}, tmp_path / "t")
    dataset.create_index("v", "IVF_RQ", metric=metric, num_partitions=3, num_bits=bits)
    (theirs,) = indices(tmp_path / "t")
    model = model_of(theirs, pa.float32())
    rows = np.concatenate([each.row_ids for each in ordered(theirs)]).astype(np.int64)
    numbers = np.repeat(np.arange(3), theirs.lengths).astype(np.uint32)
    _, prepared = model.prepared(vectors(values[rows]))
    coded = model._rotated(model.comparable(prepared), numbers)
    ours = {name: np.array(array.to_pylist()) for name, array in rabit_codes.columns(coded, size, bits).items()}
    for name in rabit_codes.FACTORS:
        np.testing.assert_allclose(ours[name], column(theirs, name), rtol=1e-4, atol=1e-4)
    signs = np.unpackbits(
        rabit_codes.unpacked_signs(ours[rabit_codes.SIGNS].astype(np.uint8)), axis=1, bitorder="little"
    )
    wanted = magnitudes(theirs)
    turned = model.rotation.apply(model.left_of(model.comparable(prepared), numbers)).astype(np.float64)  # type: ignore[union-attr]  # not None here
    # of a partition of one row nothing is left but rounding
    is_left = np.linalg.norm(turned, axis=1) > 1e-4
    # values that are next to 0 may be either
    assert ((signs[is_left, :size] > 0) == (wanted[is_left] > 0)).mean() > 0.9999
    if bits == 1:
        return
    extra = rabit_codes.extra_codes(ours[rabit_codes.EXTRA].astype(np.uint8), bits - 1, size)
    found = (signs[:, :size].astype(np.int64) << (bits - 1)) + extra - ((1 << bits) - 1) / 2
    closeness = [
        (turned * each).sum(axis=1)[is_left] / (np.linalg.norm(turned, axis=1) * np.linalg.norm(each, axis=1))[is_left]
        for each in (found, wanted)
    ]
    same = (found == wanted).all(axis=1)
    if bits <= 3:
        assert same.mean() > 0.95
    # pylance looks for the best step over a part of all; of nine bits, where two in a million are left, it finds a
    # step that leaves 4 to 7 % less
    most = 1.01 if bits < 9 else 1.1
    assert np.mean(1 - closeness[0]) <= np.mean(1 - closeness[1]) * most
    for name in rabit_codes.EXTRA_FACTORS:
        np.testing.assert_allclose(ours[name][same], column(theirs, name)[same], rtol=1e-4, atol=1e-4)
    for mine, there in zip(details(theirs, ours, bits, size), details(theirs, None, bits, size), strict=True):
        assert mine == there


def details(index: VectorIndex, ours: dict[str, Array] | None, bits: int, size: int) -> list[tuple[str, Any]]:
    """Columns and widths of a file, or of what is made here."""
    if ours is None:
        names = [name for name in index._file.names if name != "_rowid"]
        return [(name, index.width(name) if "codes" in name else 0) for name in names]
    return list(rabit_codes.widths(size, bits).items())


@pytest.mark.parametrize("type", [pa.float32(), pa.float16(), pa.float64()], ids=str)
@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("bits", [1, 2, 5])
def test_pylance_estimates_as_this_library(tmp_path: Path, metric: str, bits: int, type: pa.DataType) -> None:
    rng = np.random.default_rng([bits, 7])
    values = rng.normal(size=(3000, 24))
    table = pa.table({"id": np.arange(3000), "v": vectors(values, type, rng.random(3000) < 0.02)})
    opened = lance_sql.write(table, tmp_path / "t", max_rows_per_file=1100)
    opened = opened.indices.create("v", "ivf_rq", metric=metric, num_partitions=5, num_bits=bits)
    (index,) = lance.dataset(tmp_path / "t").describe_indices()
    assert index.num_rows_indexed == 3000
    assert index.segments[0].index_version == 2
    shared = 0
    for query in rng.normal(size=(30, 24)).astype(type.to_pandas_dtype()):
        mine = opened.search(query, k=10, nprobes=3, columns=["id"]).to_table()
        nearest = {"column": "v", "q": query, "k": 10, "nprobes": 3, "approx_mode": "accurate"}
        found = lance.dataset(tmp_path / "t").to_table(columns=["id", "_distance"], nearest=nearest)
        far = dict(zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True))
        for row, distance in zip(mine["id"].to_pylist(), mine["_distance"].to_pylist(), strict=True):
            if row in far:
                shared += 1
                tolerance = 1e-2 if type == pa.float16() else 2e-4
                assert distance == pytest.approx(far[row], rel=tolerance, abs=tolerance * 10)
    # pylance leaves out rows by the bound of their errors, which does not hold for all
    assert shared >= 0.9 * 300


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable"])
@pytest.mark.parametrize("bits", [1, 4])
def test_segments_are_added_and_both_libraries_go_on(tmp_path: Path, bits: int, stable: bool) -> None:
    rng = np.random.default_rng(3)
    path = tmp_path / "t"

    def rows(first: int, count: int) -> pa.Table:
        values = vectors(rng.normal(size=(count, 16)), None, rng.random(count) < 0.02)
        return pa.table({"id": np.arange(first, first + count), "n": np.zeros(count, np.int64), "v": values})

    def check() -> None:
        opened = lance_sql.open(path)
        for query in rng.normal(size=(5, 16)).astype(np.float32):
            exact = opened.search(query, k=10, columns=["id"], use_index=False).to_table()["id"].to_pylist()
            found = opened.search(query, k=10, columns=["id"], nprobes=3, refine_factor=40).to_table()
            assert found["id"].to_pylist() == exact
            nearest = {"column": "v", "q": query, "k": 10, "nprobes": 3, "refine_factor": 40}
            theirs = lance.dataset(path).to_table(columns=["id", "_distance"], nearest=nearest)
            if not stable:
                assert theirs["id"].to_pylist() == exact

    lance.write_dataset(rows(0, 900), path, max_rows_per_file=400, enable_stable_row_ids=stable)
    opened = lance_sql.open(path).indices.create("v", "ivf_rq", num_partitions=3, num_bits=bits)
    check()
    lance_sql.write(rows(900, 200), path, mode="append")
    opened = lance_sql.open(path).indices.optimize()
    assert {each.index_version for each in opened.snapshot.indices()} == {2}
    assert len({tuple(each.storage["fast_rotation_signs"]) for each in indices(path)}) == 1
    check()
    opened.update({"n": "n + 1"}, "id % 7 = 3")
    lance_sql.open(path).delete("id % 11 = 5")
    check()
    # pylance adds a segment to ours, and joins all of them
    lance.write_dataset(rows(1100, 300), path, mode="append")
    lance.dataset(path).optimize.optimize_indices(num_indices_to_merge=0)
    check()
    lance.dataset(path).optimize.optimize_indices(num_indices_to_merge=10)
    assert len(indices(path)) == 1
    check()
    # and we to pylance's
    lance_sql.write(rows(1400, 100), path, mode="append")
    opened = lance_sql.open(path).indices.optimize()
    assert not any(each.num_uncovered for each in opened.indices.list())
    check()
    lance_sql.open(path).maintenance.compact(target_rows=5000)
    check()
    opened = lance_sql.open(path).indices.optimize(rebuild=True)
    assert len(indices(path)) == 1
    check()


def test_few_rows_and_rows_that_are_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    same = np.repeat(rng.normal(size=(1, 8)), 60, axis=0)
    tables = {
        "none": np.empty((0, 8)),
        "one": rng.normal(size=(1, 8)),
        "few": rng.normal(size=(5, 8)),
        "same": same,
        "zero": np.zeros((40, 8)),
        "huge": rng.normal(size=(40, 8)) * 1e18,
        "tiny": rng.normal(size=(40, 8)) * 1e-18,
    }
    for name, values in tables.items():
        for metric in ("l2", "cosine", "dot"):
            for bits in (1, 3):
                path = tmp_path / f"{name}{metric}{bits}"
                table = pa.table({"id": np.arange(len(values)), "v": vectors(values)})
                opened = lance_sql.write(table, path)
                opened = opened.indices.create("v", "ivf_rq", metric=metric, num_partitions=9, num_bits=bits)
                query = np.ones(8, np.float32)
                exact = opened.search(query, k=20, metric=metric, use_index=False).to_table()
                found = opened.search(query, k=20, nprobes=9, columns=["id"]).to_table()
                assert len(found) == len(exact), path
                refined = opened.search(query, k=20, nprobes=9, refine_factor=20, columns=["id"]).to_table()
                np.testing.assert_allclose(
                    refined["_distance"].to_numpy(), exact["_distance"].to_numpy(), rtol=1e-5, atol=1e-6
                )
                if len(values):
                    nearest = {"column": "v", "q": query, "k": 20, "nprobes": 9}
                    theirs = lance.dataset(path).to_table(columns=["id", "_distance"], nearest=nearest)
                    assert len(theirs) == len(exact), path


def test_invalid_requests_are_refused(tmp_path: Path) -> None:
    table = lance_sql.write({"v": vectors(np.ones((9, 12))), "w": vectors(np.ones((9, 16)))}, tmp_path / "t")
    with pytest.raises(UnsupportedFeature, match="vectors of 12 values in an index of kind IVF_RQ"):
        table.indices.create("v", "ivf_rq")
    for options in (
        {"num_bits": 0},
        {"num_bits": 10},
        {"num_bits": True},
        {"num_sub_vectors": 4},
        {"metric": "hamming"},
    ):
        with pytest.raises(InvalidArgument):
            table.indices.create("w", "ivf_rq", **options)
    assert not table.latest().indices.list()


@pytest.mark.parametrize(
    "storage",
    [
        {"num_bits": 10},
        {"num_bits": None},
        {"query_estimator": "residual_query"},
        {"rotation_type": "other"},
        {"fast_rotation_signs": [1, 2]},
        {"fast_rotation_signs": [-1] * 8},
    ],
    ids=str,
)
def test_damaged_segments_are_left_as_they_are(tmp_path: Path, storage: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    opened = lance_sql.write({"v": vectors(rng.normal(size=(300, 16)))}, tmp_path / "t")
    opened.indices.create("v", "ivf_rq", num_bits=2)
    (index,) = indices(tmp_path / "t")
    index.storage = {**index.storage, **storage}
    with pytest.raises((UnsupportedFeature, lance_sql.errors.CorruptFile)):
        model_of(index, pa.float32())
