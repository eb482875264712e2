"""Exact distances of all allowed rows: the fallback without an index, refinement, and rows that no index covers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.runtime import threads
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U64, BoolMask

if TYPE_CHECKING:
    from lance_sql.reads.search.vector_query import VectorQuery


_MOST_THREADS: Final = 8


def new_nearest(query: VectorQuery, k: int | None, *, is_bounded: bool = True) -> _kernels.NearestRows:
    """Returns a collector of nearest rows.

    is_bounded: distances are exact, so that the query's range applies to them
    """
    low, high = (query.low, query.high) if is_bounded else (float("-inf"), float("inf"))
    return _kernels.NearestRows(query.num_queries, k or 0, low, high)


def search(
    query: VectorQuery, snapshot: Snapshot, allowed: Predicate | None, metric: str, nearest: _kernels.NearestRows
) -> None:
    """Adds all allowed rows of a version, by their addresses, with exact distances.

    raises: as reading them
    """
    (address,) = resolve(snapshot, [ROW_ADDRESS])
    scan = Scan(snapshot, (query.column, address), allowed, None, None)
    show_batches(query, iter(scan.to_reader()), metric, nearest)


def show_batches(
    query: VectorQuery, batches: Iterator[pa.RecordBatch], metric: str, nearest: _kernels.NearestRows
) -> None:
    """Adds the rows of batches of vectors and addresses; several threads share them."""
    lock = Lock()

    def work(own: _kernels.NearestRows) -> None:
        while True:
            with lock:
                batch = next(batches, None)
            if batch is None:
                return
            show(query, batch.column(0), batch.column(1).to_numpy(), metric, own)

    first, second = next(batches, None), next(batches, None)
    batches = chain((each for each in (first, second) if each is not None), batches)
    count = min(os.cpu_count() or 1, _MOST_THREADS)
    if count == 1 or second is None:
        # starting a thread takes longer than comparing a batch, on a busy machine much longer
        work(nearest)
        return
    others = [new_nearest(query, query.k) for _ in range(count)]
    with ThreadPoolExecutor(count) as pool:
        for done in [threads.submit(pool, partial(work, each)) for each in others]:
            done.result()
    for each in others:
        nearest.join(each)


def show(query: VectorQuery, vectors: pa.Array, rows: U64, metric: str, nearest: _kernels.NearestRows) -> None:
    """Adds rows with these vectors.

    rows: their numbers
    """
    number = _kernels.Metric[metric.upper()]
    rows = np.ascontiguousarray(rows, np.uint64)
    if query.is_multivector:
        valid = vectors.is_valid().to_numpy(zero_copy_only=False)
        if not valid.all():
            vectors, rows = vectors.filter(pa.array(valid)), rows[valid]
        inner = vectors.values
        if inner.null_count or inner.flatten().null_count:
            vectors, rows = _without_holes(vectors, rows)
            inner = vectors.values
        nearest.add_multivectors(
            number,
            query.value_bits,
            query.dimension,
            len(query.vectors),
            query.vectors,
            _values(inner),
            np.ascontiguousarray(vectors.offsets.to_numpy(), np.int64),
            rows,
            len(rows),
        )
        return
    validity, first_bit = vectors.buffers()[0], vectors.offset
    if vectors.values.null_count:
        whole = _have_all(vectors)
        validity, first_bit = pa.py_buffer(np.packbits(whole, bitorder="little")), 0
    nearest.add_vectors(
        number,
        query.value_bits,
        query.dimension,
        query.vectors,
        _values(vectors),
        validity,
        first_bit,
        rows,
        len(rows),
    )


def _values(vectors: pa.Array) -> memoryview:
    """Returns the bytes of the values of fixed-size lists, from the first one on."""
    values = vectors.values
    width = values.type.bit_width // 8
    start = (values.offset + vectors.offset * vectors.type.list_size) * width
    data = values.buffers()[1]
    return memoryview(b"" if data is None else data)[start:]


def _have_all(vectors: pa.Array) -> BoolMask:
    """Returns which vectors are not NULL and contain no NULLs."""
    size = vectors.type.list_size
    inside = vectors.values.slice(vectors.offset * size, len(vectors) * size).is_valid()
    whole = inside.to_numpy(zero_copy_only=False).reshape(len(vectors), size).all(axis=1)
    complete: BoolMask = whole & vectors.is_valid().to_numpy(zero_copy_only=False)
    return complete


def _without_holes(vectors: pa.Array, rows: U64) -> tuple[pa.Array, U64]:
    """Returns multivectors without the vectors that are NULL or contain NULLs."""
    offsets = vectors.offsets.to_numpy()
    inner = vectors.values
    whole = _have_all(inner)
    before = np.concatenate(([0], np.cumsum(whole)))
    left = inner.filter(pa.array(whole))
    lists = pa.LargeListArray.from_arrays(pa.array(before[offsets], pa.int64()), left)
    return lists, rows
