"""Lists and strings by their ends: the end of each is the start of the next, and the first begins at 0.

ends  3 5 5 9      lists or strings  [0, 3) [3, 5) [5, 5) [5, 9)
"""

from dataclasses import dataclass

import numpy as np

from lance_sql.errors import CorruptFile
from lance_sql.values.arrays import I64, U64, BoolMask, ascend
from lance_sql.values.row_ranges import EMPTY, RowRanges, single

MAX_POSITION = 1 << 62


@dataclass(frozen=True, slots=True)
class Bounds:
    """Positions of some lists or strings.

    lengths: of each of them
    items: their items, as ranges of items or bytes
    """

    lengths: I64
    items: RowRanges


def rows_of_ends(rows: RowRanges) -> RowRanges:
    """Returns the ends that determine the positions of `rows`: also those of the preceding rows, except before the
    first.

    rows: no two ranges touch
    """
    needed = rows.copy()
    needed[:, 0] = np.maximum(needed[:, 0] - 1, 0)
    return needed


def rows_of_offsets(rows: RowRanges) -> RowRanges:
    """Returns the offsets that determine the positions of `rows`, with one more offset than there are rows.

    rows: no two ranges touch
    """
    needed = rows.copy()
    needed[:, 1] += 1
    return needed


def without_nulls(ends: U64, adjustment: int, rows: RowRanges) -> tuple[U64, BoolMask | None]:
    """Returns the ends without NULL marks, and which of `rows` are valid (None: all); see `rows_of_ends`."""
    if adjustment >= MAX_POSITION:
        raise CorruptFile(f"ends of NULLs from {adjustment} on")
    valid = ends < np.uint64(adjustment)
    if valid.all():
        return ends, None
    stored = np.where(valid, ends, ends - np.uint64(adjustment))
    if (stored >= adjustment).any():
        raise CorruptFile(f"an end beyond the {adjustment - 1} items that there are")
    lengths = rows[:, 1] - rows[:, 0]
    has_previous = rows[:, 0] > 0
    firsts = (np.cumsum(lengths + has_previous) - lengths - has_previous)[has_previous]
    return stored, np.delete(valid, firsts)


def positions_of_ends(ends: U64, rows: RowRanges) -> I64:
    """Converts the ends at `rows_of_ends(rows)` for `bounds`."""
    if len(ends) and int(ends.max()) > MAX_POSITION:
        raise CorruptFile(f"an end at {int(ends.max())}")
    positions = ends.astype(np.int64)
    return np.concatenate((np.zeros(1, np.int64), positions)) if rows[0, 0] == 0 else positions


def bounds(positions: I64, rows: RowRanges, num_items: int) -> Bounds:
    """Returns the positions of `rows`.

    positions: for each range of rows the start of its first row, then the end of each
    num_items: total of items or bytes
    raises: CorruptFile if the positions descend or leave the items
    """
    if int(positions[0]) < 0 or int(positions[-1]) > num_items or not ascend(positions):
        raise CorruptFile(f"ends of lists or strings descend or pass the {num_items} items that there are")
    steps = np.diff(positions)
    if len(rows) == 1:
        return Bounds(steps, single(int(positions[0]), int(positions[-1])))
    counts = rows[:, 1] - rows[:, 0]
    firsts = np.cumsum(counts + 1) - counts - 1
    items = np.stack((positions[firsts], positions[firsts + counts]), axis=1)
    items = items[items[:, 1] > items[:, 0]]
    return Bounds(np.delete(steps, firsts[1:] - 1), items if len(items) else EMPTY)
