"""Sets of rows as sorted, disjoint, half-open ranges.

A set is an array int64[k, 2] of `[start, end)`, ascending and without overlap: one range for a whole page, thousands
for a selective filter. The kernels iterate over the same array, so that reading everything and reading a few rows
share one path. Small operations call these functions often: methods of arrays are one call, functions of NumPy several.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from lance_sql.errors import UnsupportedFeature
from lance_sql.values.arrays import I64, BoolMask

RowRanges: TypeAlias = I64

EMPTY: RowRanges = np.empty((0, 2), np.int64)


MAX_HELD: Final = 1 << 27
"""Maximum number of row numbers of one fragment in memory: a few bytes can claim any number of rows."""


def check_held(num_rows: int) -> None:
    """Makes sure that a number for each of this many rows fits in memory.

    raises: UnsupportedFeature
    """
    if num_rows > MAX_HELD:
        raise UnsupportedFeature(f"{num_rows} rows of one fragment at once; this release holds {MAX_HELD}")


def single(start: int, end: int) -> RowRanges:
    """Returns the rows of one range; none if it is empty."""
    return np.array([[start, end]], np.int64) if end > start else EMPTY


def of(starts: I64, ends: I64) -> RowRanges:
    """Returns the ranges with these bounds, which ascend."""
    rows = np.empty((len(starts), 2), np.int64)
    rows[:, 0], rows[:, 1] = starts, ends
    return rows


def count(rows: RowRanges) -> int:
    """Counts the rows of the set."""
    if len(rows) == 1:
        return int(rows[0, 1] - rows[0, 0])
    return int(np.add.reduce(rows[:, 1] - rows[:, 0]))


def bounds(rows: RowRanges) -> tuple[int, int]:
    """Returns the first row, and the end of the last range; there is at least one."""
    return int(rows[0, 0]), int(rows[-1, 1])


def from_sorted(positions: I64) -> RowRanges:
    """Returns the set of `positions` (ascending, distinct). Neighbors become one range."""
    if len(positions) <= 1:
        return single(int(positions[0]), int(positions[0]) + 1) if len(positions) else EMPTY
    breaks = (positions[1:] - positions[:-1] != 1).nonzero()[0]
    rows = np.empty((len(breaks) + 1, 2), np.int64)
    rows[0, 0] = positions[0]
    rows[1:, 0] = positions[breaks + 1]
    rows[:-1, 1] = positions[breaks]
    rows[-1, 1] = positions[-1]
    rows[:, 1] += 1
    return rows


def expand(rows: RowRanges) -> I64:
    """Returns every row of the set, ascending: int64[count(rows)].

    raises: UnsupportedFeature for more rows than fit in memory at once
    """
    num_rows = count(rows)
    check_held(num_rows)
    if len(rows) == 1:
        return np.arange(rows[0, 0], rows[0, 1], dtype=np.int64)
    lengths = rows[:, 1] - rows[:, 0]
    firsts = lengths.cumsum() - lengths
    expanded: I64 = (rows[:, 0] - firsts).repeat(lengths) + np.arange(num_rows, dtype=np.int64)
    return expanded


def without(rows: RowRanges, removed: I64) -> RowRanges:
    """Removes the rows in `removed` (ascending, distinct) from the set."""
    if len(removed) == 0 or len(rows) == 0:
        return rows
    removed = removed[within(rows, removed)]
    if len(removed) == 0:
        return rows
    starts = np.concatenate((rows[:, 0], removed + 1))
    ends = np.concatenate((removed, rows[:, 1]))
    starts.sort()
    ends.sort()
    is_nonempty = ends > starts
    return of(starts[is_nonempty], ends[is_nonempty])


def within(rows: RowRanges, positions: I64) -> BoolMask:
    """Returns for each of `positions` whether the set contains it."""
    if len(rows) == 0:
        return np.zeros(len(positions), np.bool_)
    at = rows[:, 0].searchsorted(positions, side="right") - 1
    inside: BoolMask = (at >= 0) & (positions < rows[np.maximum(at, 0), 1])
    return inside


def intersect(a: RowRanges, b: RowRanges) -> RowRanges:
    """Returns the rows that are in both sets."""
    if len(a) == 0 or len(b) == 0:
        return EMPTY
    if len(b) == 1:
        return clip(a, int(b[0, 0]), int(b[0, 1]))
    if len(a) == 1:
        return clip(b, int(a[0, 0]), int(a[0, 1]))
    first = b[:, 1].searchsorted(a[:, 0], side="right")
    last = b[:, 0].searchsorted(a[:, 1], side="left")
    overlaps = np.maximum(last - first, 0)
    left = np.arange(len(a)).repeat(overlaps)
    right = np.arange(overlaps.sum()) - (overlaps.cumsum() - overlaps).repeat(overlaps) + first.repeat(overlaps)
    return of(np.maximum(a[left, 0], b[right, 0]), np.minimum(a[left, 1], b[right, 1]))


def union(a: RowRanges, b: RowRanges) -> RowRanges:
    """Returns the rows that are in either set. Ranges that touch become one."""
    if len(a) == 0 or len(b) == 0:
        return coalesce(b if len(a) == 0 else a, 0)
    together = np.concatenate((a, b))
    together = together[np.argsort(together[:, 0], kind="stable")]
    ends = np.maximum.accumulate(together[:, 1])
    firsts = (together[1:, 0] > ends[:-1]).nonzero()[0] + 1
    return of(together[np.concatenate(([0], firsts)), 0], ends[np.concatenate((firsts - 1, [len(together) - 1]))])


def difference(a: RowRanges, b: RowRanges) -> RowRanges:
    """Returns the rows of the first set that are not in the second one."""
    if len(a) == 0 or len(b) == 0:
        return a
    lowest, highest = min(int(a[0, 0]), int(b[0, 0])), max(int(a[-1, 1]), int(b[-1, 1]))
    starts = np.concatenate(([lowest], b[:, 1]))
    ends = np.concatenate((b[:, 0], [highest]))
    is_nonempty = ends > starts
    return intersect(a, of(starts[is_nonempty], ends[is_nonempty]))


def clip(rows: RowRanges, start: int, end: int) -> RowRanges:
    """Returns the part of the set inside `[start, end)`."""
    first = int(rows[:, 1].searchsorted(start, side="right"))
    last = int(rows[:, 0].searchsorted(end, side="left"))
    if first >= last or start >= end:
        return EMPTY
    if rows[first, 0] >= start and rows[last - 1, 1] <= end:
        return rows[first:last]
    part = rows[first:last].copy()
    part[0, 0] = max(int(part[0, 0]), start)
    part[-1, 1] = min(int(part[-1, 1]), end)
    return part


def compose(rows: RowRanges, positions: RowRanges) -> RowRanges:
    """Returns the rows of the set at `positions`, counted from 0.

    positions: a set over [0, count(rows)); a range of it that crosses ranges of `rows` is cut at their borders.
    """
    if len(positions) == 0 or len(rows) == 0:
        return EMPTY
    if len(rows) == 1:
        shifted: RowRanges = positions + rows[0, 0]
        return shifted
    lengths = rows[:, 1] - rows[:, 0]
    firsts = lengths.cumsum() - lengths
    counted = of(firsts, firsts + lengths)
    pieces = intersect(positions, counted)
    owner = firsts.searchsorted(pieces[:, 0], side="right") - 1
    composed: RowRanges = pieces + (rows[:, 0] - firsts)[owner, None]
    return composed


def head(rows: RowRanges, num_rows: int) -> RowRanges:
    """Returns the first `num_rows` rows of the set."""
    if count(rows) <= num_rows:
        return rows
    return compose(rows, single(0, num_rows))


def coalesce(rows: RowRanges, gap: int) -> RowRanges:
    """Returns a superset of the set with fewer ranges: gaps of at most `gap` rows are closed."""
    if len(rows) < 2:
        return rows
    keep = (rows[1:, 0] - rows[:-1, 1] > gap).nonzero()[0]
    starts = rows[np.concatenate(([0], keep + 1)), 0]
    ends = rows[np.concatenate((keep, [len(rows) - 1])), 1]
    return of(starts, ends)


def shares(start: int, end: int, total: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Splits the rows from `start` to `end` by `count` equal shares of `total` rows: share, start, end."""
    share = start * count // max(total, 1)
    while start < end:
        stop = min(end, (share + 1) * total // count)
        if start < stop:
            yield share, start, stop
        start = max(start, stop)
        share += 1


def split(starts: I64, rows: RowRanges) -> list[tuple[int, RowRanges]]:
    """Splits rows by part, such as a page: the number of each part with some of them, and its rows relative to it.

    starts: first row of each part, then the number of rows: int64[parts + 1]
    """
    if len(starts) == 2:
        return [(0, rows)]
    first = int(starts.searchsorted(rows[0, 0], side="right")) - 1
    end = int(starts.searchsorted(rows[-1, 1], side="left"))
    if end - first == 1:
        return [(first, rows - starts[first] if first else rows)]
    return [
        (number, clip(rows, int(starts[number]), int(starts[number + 1])) - starts[number])
        for number in parts_with(starts, rows)
    ]


def parts_with(starts: I64, rows: RowRanges) -> list[int]:
    """Returns the numbers of the parts with some of the rows.

    starts: as for `split`
    """
    if len(starts) == 2:
        return [0]
    # the first range that ends after the beginning of each part, and its start
    range_indices = rows[:, 1].searchsorted(starts[:-1], side="right")
    begins = rows[:, 0].take(range_indices, mode="clip")
    has_rows = (range_indices < len(rows)) & (begins < starts[1:]) & (starts[:-1] < starts[1:])
    numbers: list[int] = has_rows.nonzero()[0].tolist()
    return numbers
