"""The tables that verbs are timed on, written by pylance with its defaults; made once, then reused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .tables import FILES, cached

SMALL_FRAGMENTS = 100
OLD_VERSIONS = 40
DIMENSION = 128
BINARY_BYTES = 1 << 20

Make = Callable[[Path, int, bool], Path]


def rows(first: int, count: int) -> pa.Table:
    """Orders: numbers, text of few and of many values, times, flags."""
    rng = np.random.default_rng(first + 1)
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "g": rng.integers(0, 1000, count).astype(np.int32),
            "amount": rng.random(count) * 1000,
            "status": np.array(["open", "paid", "shipped", "returned"])[rng.integers(0, 4, count)],
            "name": pc.binary_join_element_wise(
                "Customer#", pa.array(rng.integers(0, 100_000, count)).cast(pa.string()), ""
            ),
            "ts": pa.array(1_700_000_000_000_000 + rng.integers(0, 10**12, count), pa.timestamp("us")),
        }
    )


def vectors(first: int, count: int) -> pa.Table:
    """Rows with an embedding, a list of words and a struct."""
    rng = np.random.default_rng(first + 1)
    lengths = rng.integers(0, 6, count)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    words = pa.array(rng.integers(0, 5000, int(offsets[-1].as_py()))).cast(pa.string())
    values = pa.array(rng.random(count * DIMENSION, np.float32))
    parts = [pa.array(rng.random(count)), pa.array(rng.integers(0, 100, count))]
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "g": rng.integers(0, 1000, count).astype(np.int32),
            "embedding": pa.FixedSizeListArray.from_arrays(values, DIMENSION),
            "words": pa.ListArray.from_arrays(offsets, words),
            "point": pa.StructArray.from_arrays(parts, ["x", "n"]),
        }
    )


def binaries(first: int, count: int) -> pa.Table:
    """Few rows with large values."""
    rng = np.random.default_rng(first + 1)
    return pa.table(
        {
            "id": np.arange(first, first + count),
            "g": rng.integers(0, 1000, count).astype(np.int32),
            "data": pa.array([rng.bytes(BINARY_BYTES) for _ in range(count)], pa.binary()),
        }
    )


def _write(make: Callable[[int, int], pa.Table], fragments: int, count: int, stable: bool, to: Path) -> None:
    step = max(count // fragments, 1)
    for start in range(0, step * fragments, step):
        lance.write_dataset(make(start, step), to, mode="append" if start else "create", enable_stable_row_ids=stable)
    dataset: Any = lance.dataset(to)
    # one version: what reads histories is not to find that of making the table
    dataset.cleanup_old_versions(timedelta(0), delete_unverified=True)


def _named(folder: Path, name: str, count: int, stable: bool, make: Callable[[Path], object]) -> Path:
    return cached(folder / f"operations_{name}_{count}{'' if stable else '_plain'}.lance", make)


def _plain(folder: Path, count: int, stable: bool) -> Path:
    return _named(folder, "rows", count, stable, partial(_write, rows, FILES, count, stable))


def _fragments(folder: Path, count: int, stable: bool) -> Path:
    return _named(folder, "fragments", count, stable, partial(_write, rows, SMALL_FRAGMENTS, count, stable))


def _vectors(folder: Path, count: int, stable: bool) -> Path:
    count //= 10
    return _named(folder, "vectors", count, stable, partial(_write, vectors, FILES, count, stable))


def _binaries(folder: Path, count: int, stable: bool) -> Path:
    count = max(count // 10_000, FILES)
    return _named(folder, "binaries", count, stable, partial(_write, binaries, 4, count, stable))


def _changed(name: str, change: Callable[[Any, int], None], times: int, folder: Path, count: int, stable: bool) -> Path:
    def make(to: Path) -> None:
        _write(rows, FILES, count, stable, to)
        for number in range(times):
            change(lance.dataset(to), number)

    return _named(folder, name, count, stable, make)


def _delete_tenth(dataset: Any, number: int) -> None:
    dataset.delete("id % 3 = 1")


def _update_few(dataset: Any, number: int) -> None:
    dataset.update({"amount": "amount + 1"}, f"id % 20011 = {number}")


def _index(dataset: Any, number: int) -> None:
    for column, kind in (("id", "BTREE"), ("status", "BITMAP"), ("g", "ZONEMAP")):
        dataset.create_scalar_index(column, kind)


def _append(dataset: Any, number: int) -> None:
    lance.write_dataset(rows(10**9 + 1000 * number, 1000), dataset.uri, mode="append")


TABLES: dict[str, Make] = {
    "rows": _plain,
    "fragments": _fragments,
    "vectors": _vectors,
    "binaries": _binaries,
    "deleted": partial(_changed, "deleted", _delete_tenth, 1),
    "updated": partial(_changed, "updated", _update_few, OLD_VERSIONS),
    "versions": partial(_changed, "versions", _update_few, OLD_VERSIONS),
    "indexed": partial(_changed, "indexed", _index, 1),
    "appended": partial(_changed, "appended", _append, OLD_VERSIONS),
}
