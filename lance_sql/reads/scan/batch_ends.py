"""Positions where batches end: after their number of rows, or at a page border that is near; and the runs they form."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, BoolMask
from lance_sql.values.row_ranges import RowRanges

FEWEST_PASSING = 8
"""Minimum number of batches known to pass that form a run of their own, unless they are the whole fragment."""


def ends_of(rows: RowRanges, total: int, most: int, borders: I64, first: int) -> I64:
    """Returns the cumulative row counts at the end of each batch.

    most, first: rows of a batch, and of the first one
    borders: of pages
    """
    if total <= first and (len(borders) == 0 or total <= first // 4):
        return np.array([total])
    positions = _selected_before(rows, borders) if len(borders) else []
    ends = []
    start = 0
    while start < total:
        end = min(start + first, total)
        near = bisect_right(positions, end) - 1
        if near >= 0 and positions[near] > start + first // 4:
            end = positions[near]
        ends.append(end)
        start, first = end, most
    return np.array(ends)


def run_sizes(first: int, most: int, growing: int | None) -> Iterator[int]:
    """Yields the numbers of batches of runs.

    first, most: of the first run, and of others
    growing: limit of the first run, which doubles from run to run; None for no other limit
    """
    limit = most if growing is None else min(growing, most)
    yield min(first, limit)
    while True:
        limit = min(2 * limit, most)
        yield limit


def divided(ends: I64, sizes: Iterator[int], passes: BoolMask | None) -> Iterator[tuple[I64, bool]]:
    """Groups the ends of batches, either all or none of which are known to pass.

    sizes: size limits of the groups
    passes: of each batch; None if none is known to pass
    """
    passes = None if passes is None else _in_stretches(passes)
    for same, until in _stretches(passes) if passes is not None else [(0, len(ends))]:
        start = same
        while start < until:
            end = min(start + next(sizes), until)
            yield ends[start:end], passes is not None and bool(passes[same])
            start = end


def all_pass(rows: RowRanges, ends: I64, passing: RowRanges | None) -> BoolMask | None:
    """Returns whether all rows of each batch are known to pass; None if nothing is known."""
    if passing is None:
        return None
    if len(passing) == 1 and passing[0, 0] <= rows[0, 0] and rows[-1, 1] <= passing[0, 1]:
        return np.ones(len(ends), np.bool_)
    left = row_ranges.difference(rows, passing)
    lows, highs = _selected_before(rows, left[:, 0]), _selected_before(rows, left[:, 1])
    starts = np.concatenate([[0], ends[:-1]])
    answers: BoolMask = np.searchsorted(highs, starts, "right") == np.searchsorted(lows, ends, "left")
    return answers


def _stretches(flags: BoolMask) -> list[tuple[int, int]]:
    """Returns the start and end index of each stretch of equal flags."""
    changes = np.flatnonzero(flags[1:] != flags[:-1]) + 1
    return list(pairwise([0, *changes.tolist(), len(flags)]))


def _in_stretches(passes: BoolMask) -> BoolMask:
    """Clears short stretches of flags: starting a run costs more than testing the rows of a few batches."""
    smoothed = passes.copy()
    for start, end in _stretches(passes):
        if end - start < min(FEWEST_PASSING, len(passes)):
            smoothed[start:end] = False
    return smoothed


def _selected_before(rows: RowRanges, borders: I64) -> list[int]:
    """Returns the number of rows before each border."""
    if len(rows) == 1:
        start, end = rows[0].tolist()
        return [min(max(border, start), end) - start for border in borders.tolist()]
    lengths = rows[:, 1] - rows[:, 0]
    before = np.cumsum(lengths) - lengths
    at = np.searchsorted(rows[:, 0], borders, side="right") - 1
    inside = at >= 0
    at = np.maximum(at, 0)
    counts: list[int] = np.where(inside, before[at] + np.minimum(borders - rows[at, 0], lengths[at]), 0).tolist()
    return counts
