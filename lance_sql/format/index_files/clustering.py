"""Centroids of vectors: k-means in the kernels, on several threads.

Source: Lloyd's algorithm.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import numpy.typing as npt

from lance_sql import _kernels
from lance_sql.values.arrays import F32, I64, U32

MOST_ROUNDS: Final = 50
PRODUCT_ROUNDS: Final = 20
_ROWS_AT_ONCE: Final = 8192
_LEAST_GAIN: Final = 2e-4
"""Rounds end when the sum of distances decreases by less than this share."""


def num_threads() -> int:
    """Returns the number of threads for kernels."""
    return min(os.cpu_count() or 1, 8)


def nearest(rows: F32, centroids: F32, first: int = 0, distances: F32 | None = None) -> U32:
    """Returns the nearest centroid of each row.

    rows: f32[n, stride], of which d values from `first` on are used
    centroids: f32[k, d]
    distances: buffer for squared distances, f32[n]
    """
    numbers = np.empty(len(rows), np.uint32)
    _kernels.nearest_centroids(
        rows, len(rows), rows.shape[1], first, centroids, len(centroids), centroids.shape[1], numbers, distances
    )
    return numbers


def greatest_products(rows: F32, centroids: F32) -> U32:
    """Returns the centroid with the greatest product with each row. It is the nearest one if an additional value makes
    each centroid as long as the longest.

    rows: f32[n, d]
    centroids: f32[k, d]
    """
    squares = np.square(centroids, dtype=np.float64).sum(axis=1)
    more = np.sqrt(squares.max() - squares)
    longer = np.column_stack((rows, np.zeros(len(rows), np.float32)))
    return nearest(longer, np.column_stack((centroids, more)).astype(np.float32))


def cluster(
    rows: F32,
    count: int,
    rng: np.random.Generator,
    *,
    first: int = 0,
    size: int | None = None,
    is_binary: bool = False,
    pool: ThreadPoolExecutor | None = None,
    after_round: Callable[[], None] = lambda: None,
) -> F32:
    """Returns centroids, f32[count, d], of a sample of rows; some are equal if there are fewer distinct rows.

    rows: f32[n, stride], of which `size` values from `first` on are used, by default all
    is_binary: values are 0 or 1, and so are those of centroids
    pool: threads that share a round
    after_round: called after each round
    """
    size = rows.shape[1] if size is None else size
    chosen = rng.permutation(len(rows))[:count]
    chosen = np.concatenate((chosen, rng.integers(0, len(rows), count - len(chosen))))
    centroids = np.ascontiguousarray(rows[chosen, first : first + size], np.float32)
    before = np.inf
    for _ in range(MOST_ROUNDS):
        sums, counts, total = _round(rows, centroids, first, pool)
        filled = counts > 0
        centroids[filled] = (sums[filled] / counts[filled, None]).astype(np.float32)
        _split(centroids, counts, rng)
        if is_binary:
            centroids = (centroids >= 0.5).astype(np.float32)
        after_round()
        if filled.all() and total >= before * (1 - _LEAST_GAIN):
            break
        before = total
    return centroids


def moved_by_products(rows: F32, centroids: F32, pool: ThreadPoolExecutor | None = None) -> F32:
    """Moves centroids, f32[k, d], to the means of the rows that have the greatest product with them.

    rows: f32[n, d]
    """
    moved = centroids.copy()
    for _ in range(PRODUCT_ROUNDS):
        sums, counts, _ = _round(rows, moved, 0, pool, of_products=True)
        filled = counts > 0
        moved[filled] = (sums[filled] / counts[filled, None]).astype(np.float32)
    return moved


def _round(
    rows: F32, centroids: F32, first: int, pool: ThreadPoolExecutor | None, of_products: bool = False
) -> tuple[npt.NDArray[np.float64], I64, float]:
    """Returns sums and counts of the rows of each centroid, and the sum of all distances, but not of products."""

    def part(start: int) -> tuple[npt.NDArray[np.float64], I64, float]:
        some = rows[start : start + step]
        far = np.empty(len(some), np.float32)
        if of_products:
            numbers = greatest_products(some, centroids)
            far[:] = 0
        else:
            numbers = nearest(some, centroids, first, far)
        sums, counts = np.zeros(centroids.shape), np.zeros(len(centroids), np.int64)
        _kernels.sum_by_centroid(
            some, len(some), some.shape[1], first, centroids.shape[1], numbers, len(centroids), sums, counts
        )
        return sums, counts, float(far.sum(dtype=np.float64))

    step = len(rows) if pool is None else max(_ROWS_AT_ONCE, -(-len(rows) // (2 * num_threads())))
    every = list((map if pool is None else pool.map)(part, range(0, len(rows), max(step, 1))))
    sums, counts, total = every[0]
    for more in every[1:]:
        sums += more[0]
        counts += more[1]
        total += more[2]
    return sums, counts, total


def _split(centroids: F32, counts: I64, rng: np.random.Generator) -> None:
    """Moves centroids without rows next to those with the most rows."""
    empty = np.flatnonzero(counts == 0)
    largest = np.argsort(-counts, kind="stable")[: len(empty)]
    for to, near in zip(empty.tolist(), largest.tolist(), strict=False):
        if counts[near] > 1:
            centroids[to] = centroids[near] * (1 + rng.normal(0, 1 / 1024, centroids.shape[1]))
