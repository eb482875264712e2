"""Nearest-neighbor search by an index: the partitions with the nearest centroids, their best rows by stored codes,
and exact distances of the best if requested or if some rows are not indexed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from lance_sql import _kernels
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.reads.scan.take import arrays_at, parts
from lance_sql.reads.search import exact
from lance_sql.reads.search.numbering import RowNumbers, row_numbers
from lance_sql.reads.search.stored_vectors import Probed, vector_distances
from lance_sql.reads.search.vector_segments import ColumnIndex, VectorSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import F32, U64, BoolMask

if TYPE_CHECKING:
    from lance_sql.reads.search.vector_query import VectorQuery

Array = F32

_UNBOUNDED: Final = 1 << 40
_BYTES_TOGETHER: Final = 16 << 20


# Measured on pylance 14, for at most this many rows.
_MOST_ROWS: Final = (1, 10, 100, 200, 500, _UNBOUNDED)
_L2: Final = ((0.2175, 5, 19), (0.265, 6, 24), (0.33, 11, 38), (0.375, 15, 56), (0.3725, 22, 81), (0.4175, 29, 93))
_COSINE: Final = (
    *((0.235, 3, 50), (0.2875, 8, 77), (0.38, 7, 106)),
    *((0.415, 18, 156), (0.45, 28, 192), (0.47, 34, 248)),
)
_DOT: Final = (
    *((0.14, 56, 112), (0.055, 144, 432), (0.0625, 200, 768)),
    *((0.0675, 211, 833), (0.07, 244, 971), (0.0725, 279, 1092)),
)
_PROBES: Final = {"l2": _L2, "hamming": _L2, "cosine": _COSINE, "dot": _DOT}
"""Default number of searched partitions: those whose centroids are not farther than the nearest one by a margin, but
not fewer or more than these."""


def search(
    query: VectorQuery, snapshot: Snapshot, allowed: Predicate | None, index: ColumnIndex, metric: str
) -> tuple[_kernels.NearestRows, tuple[str, ...]] | None:
    """Returns the nearest rows by the segments of an index, by their addresses, and notes. None if the index has a
    row twice, because it is unknown which of its vectors is current.

    raises: as reading
    """
    assert query.k is not None
    numbers = row_numbers(snapshot)
    uncovered = _uncovered(snapshot, index) if not query.fast_search else frozenset()
    compares = query.refine_factor is not None or bool(uncovered)
    wanted = query.k * (query.refine_factor or 1)
    candidates = exact.new_nearest(query, wanted, is_bounded=not compares)
    passing = numbers.live if allowed is None else numbers.matching(allowed)
    probed = []
    for segment in index.segments:
        inside = numbers.of_fragments(segment.fragment_ids)
        flags = passing if inside is None else passing & inside
        probed.append(_probe(query, segment, numbers, flags, wanted, candidates))
    for number in range(query.num_queries):
        rows, _ = result(candidates, number)
        if len(np.unique(rows)) < len(rows):
            return None
    notes = [_described(query, index, probed)]
    if compares:
        nearest = exact.new_nearest(query, query.k)
        _compare(query, snapshot, numbers, candidates, metric, nearest)
        notes.append(f"the best {wanted} are compared exactly")
        if uncovered:
            (address,) = resolve(snapshot, [ROW_ADDRESS])
            scan = Scan(snapshot, (query.column, address), allowed, None, None)
            rest = scan.task(each for each in scan.plan.fragments() if each.fragment.id in uncovered)
            exact.show_batches(query, iter(rest.to_reader()), metric, nearest)
            notes.append(f"{len(uncovered)} fragments that the index does not cover are compared exactly")
        return nearest, tuple(notes)
    nearest = exact.new_nearest(query, query.k, is_bounded=False)
    for number in range(query.num_queries):
        rows, far = result(candidates, number)
        nearest.add_distances(number, far, None, numbers.addresses(rows.view(np.int64)), len(rows))
    return nearest, tuple(notes)


def result(nearest: _kernels.NearestRows, query: int) -> tuple[U64, Array]:
    """Returns the rows and distances of a query."""
    count = nearest.count(query)
    rows, far = np.empty(count, np.uint64), np.empty(count, np.float32)
    nearest.result(query, rows, far)
    return rows, far


def _uncovered(snapshot: Snapshot, index: ColumnIndex) -> frozenset[int]:
    live = snapshot.manifest.fragments.distinct_ids
    return live.difference(*(segment.fragment_ids for segment in index.segments))


def _described(query: VectorQuery, index: ColumnIndex, probed: list[tuple[int, int]]) -> str:
    kinds = {("HNSW_" if each.index.is_graph else "") + each.index.kind for each in index.segments}
    how = "as asked for" if query.nprobes is not None else "chosen by the distances of their centroids"
    searched, total = sum(each for each, _ in probed), sum(each for _, each in probed)
    graphs = ", scanned without the graph" if any(each.index.is_graph for each in index.segments) else ""
    return (
        f"index {index.name}: IVF_{'/'.join(sorted(kinds))}, {index.metric}, {len(index.segments)} segments, "
        f"{searched} of {total} partitions, {how}{graphs}"
    )


def _probe(
    query: VectorQuery,
    segment: VectorSegment,
    numbers: RowNumbers,
    flags: BoolMask,
    wanted: int,
    candidates: _kernels.NearestRows,
) -> tuple[int, int]:
    """Adds the rows of the nearest partitions of a segment; returns the number of searched ones, and of all, over
    all queries."""
    searched = 0
    for number, vector in enumerate(query.vectors):
        asked = _normalised(vector) if segment.index.metric == "cosine" else vector
        order, first = _order(segment, asked, query, wanted)
        prepared = segment.stored.prepare(asked)
        shown = 0
        for numbers_of_part in _rounds(order, first, fixed=query.nprobes is not None):
            for probed in _together(segment, numbers, numbers_of_part):
                shown += segment.stored.show(candidates, number, prepared, probed, flags)
            searched += len(numbers_of_part)
            if shown >= wanted:
                break
    return searched, len(segment.index.centroids) * len(query.vectors)


def _together(segment: VectorSegment, numbers: RowNumbers, wanted: list[int]) -> Iterator[list[Probed]]:
    """Yields partitions in groups of some MiB."""
    probed: list[Probed] = []
    num_bytes = 0
    for partition in segment.index.partitions(wanted):
        centroid = segment.index.centroids[partition.number]
        probed.append(Probed(centroid, partition, numbers.of_partition(partition)))
        num_bytes += partition.num_bytes
        if num_bytes > _BYTES_TOGETHER:
            yield probed
            probed, num_bytes = [], 0
    if probed:
        yield probed


def _rounds(order: list[int], first: int, *, fixed: bool) -> Iterator[list[int]]:
    """Yields partitions that are searched together: the first ones, then more, as long as there are too few rows."""
    yield order[:first]
    step = max(first, 1)
    while not fixed and first < len(order):
        yield order[first : first + step]
        first += step
        step *= 2


def _order(
    segment: VectorSegment, asked: npt.NDArray[np.float64], query: VectorQuery, wanted: int
) -> tuple[list[int], int]:
    """Returns the partitions, nearest first, and the minimum number to search."""
    index = segment.index
    metric = "l2" if index.metric == "cosine" else index.metric
    far = vector_distances(metric, asked, index.centroids)
    order = np.argsort(far, kind="stable")
    if query.nprobes is not None:
        return order.tolist(), min(query.nprobes, len(order))
    # the rule depends on k, not on the number of candidates to refine
    margin, least, most = _PROBES[index.metric][bisect_left(_MOST_ROWS, query.k or _UNBOUNDED)]
    nearest = far[order[0]]
    reach = margin * (abs(1 - nearest) if index.metric == "dot" else nearest)
    near = int((far <= nearest + reach).sum())
    return order.tolist(), min(max(near, least), most, len(order))


def _normalised(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    norm = np.sqrt(np.square(vector, dtype=vector.dtype).sum())
    normalised: npt.NDArray[np.float64] = (vector / norm).astype(vector.dtype)
    return normalised


def _compare(
    query: VectorQuery,
    snapshot: Snapshot,
    numbers: RowNumbers,
    candidates: _kernels.NearestRows,
    metric: str,
    nearest: _kernels.NearestRows,
) -> None:
    """Adds candidates with their exact distances."""
    for number in range(query.num_queries):
        rows, _ = result(candidates, number)
        addresses = np.sort(numbers.addresses(rows.view(np.int64)))
        one = replace(query, vectors=query.vectors[number : number + 1])
        best = exact.new_nearest(one, query.k)
        for part in parts(snapshot, (query.column,), addresses, by_address=True):
            (vectors,) = arrays_at(snapshot, (query.column,), addresses[part])
            exact.show(one, vectors, addresses[part], metric, best)
        rows, far = result(best, 0)
        nearest.add_distances(number, far, None, rows, len(rows))
