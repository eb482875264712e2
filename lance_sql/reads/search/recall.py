"""Recall of an index: compares searches by it with exact searches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.take import take_at
from lance_sql.reads.search.ranking import QUERY_INDEX
from lance_sql.reads.search.vector_query import VectorQuery, vector_column, vector_query
from lance_sql.reads.search.vector_segments import NO_INDEX, column_index
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64

NPROBES: Final = (1, 5, 10, 20, 50)
_SEED: Final = 7


@dataclass(frozen=True)
class Recall:
    """Recall of searches with a number of probes.

    nprobes: None for the default of the index
    share: of the nearest rows, 0 to 1, over all queries
    milliseconds: duration of one search
    """

    nprobes: int | None
    share: float
    milliseconds: float


def recalls(
    snapshot: Snapshot,
    column: str | None = None,
    *,
    k: int = 10,
    nprobes: Sequence[int | None] = (*NPROBES, None),
    refine_factor: int | None = None,
    num_queries: int = 100,
) -> list[Recall]:
    """Measures the recall of the index of a column. The queries are vectors of rows, which an exact search finds
    first.

    column: of vectors; the only one without it
    raises: InvalidArgument without rows, for a column without an index, and for a multivector column; as
        `vector_query`
    """
    name = vector_column(snapshot) if column is None else column
    queries = _sample(snapshot, name, num_queries)
    every = vector_query(snapshot, queries, name, k=k, use_index=False)
    index = vector_query(snapshot, queries[0], name, k=k, refine_factor=refine_factor)
    if every.is_multivector:
        raise InvalidArgument("Indices of several vectors per row are not supported")
    if column_index(snapshot, index) is NO_INDEX:
        raise InvalidArgument(
            f"{snapshot.label} has no vector index on {name!r}, so that every search is exact: build one with"
            f" indices.create({name!r}, 'ivf_pq'), or lance-sql index create"
        )
    # by the metric of the index, like searches by it
    exact = _by_query(every, snapshot)
    measured = []
    for probes in nprobes:
        asked = replace(index, nprobes=probes)
        shared, seconds = 0, 0.0
        for number, nearest in enumerate(exact):
            one = replace(asked, vectors=every.vectors[number : number + 1])
            start = time.perf_counter()
            ranking = one.rank(snapshot, None)
            seconds += time.perf_counter() - start
            shared += len(np.intersect1d(nearest, ranking.addresses))
        total = sum(map(len, exact))
        measured.append(Recall(probes, shared / total if total else 1.0, 1000 * seconds / len(exact)))
    return measured


def _by_query(query: VectorQuery, snapshot: Snapshot) -> list[U64]:
    ranking = query.rank(snapshot, None)
    numbers = ranking.scores[QUERY_INDEX].to_numpy()
    return [ranking.addresses[numbers == number] for number in range(query.num_queries)]


def _sample(snapshot: Snapshot, name: str, count: int) -> list[list[float]]:
    """Returns vectors of some rows, at least two, so that they are several queries."""
    live = [(each.id, snapshot.open(each).live_rows()) for each in snapshot.manifest.fragments]
    counts = np.array([row_ranges.count(rows) for _, rows in live], np.int64)
    total = int(counts.sum())
    if not total:
        raise InvalidArgument(f"{snapshot.name} has no rows")
    # more than requested: some may be NULL
    positions = np.unique(np.random.default_rng(_SEED).integers(0, total, 2 * count + 16))
    ends = np.cumsum(counts)
    (column,) = resolve(snapshot, [name])
    parts = []
    for (number, rows), end, size in zip(live, ends.tolist(), counts.tolist(), strict=True):
        inside = positions[(positions >= end - size) & (positions < end)] - (end - size)
        if len(inside):
            offsets = row_ranges.expand(rows)[inside].astype(np.uint64)
            parts.append(offsets | np.uint64(number) << np.uint64(32))
    values: pa.ChunkedArray = take_at(snapshot, (column,), np.concatenate(parts)).column(0)
    vectors = [each for each in values.to_pylist() if each is not None and any(each)]
    if not vectors:
        raise InvalidArgument(f"{snapshot.name} has no vectors in column {name!r}")
    chosen = np.random.default_rng(_SEED).permutation(len(vectors))[:count].tolist()
    sample = [vectors[each] for each in chosen]
    return sample if len(sample) > 1 else sample * 2
