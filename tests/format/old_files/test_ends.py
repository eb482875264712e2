"""Lists and strings by their ends and offsets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.errors import CorruptFile
from lance_sql.format.old_files import ends
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges


@st.composite
def lists_and_rows(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, RowRanges]:
    """Lengths, which of the lists are valid, and some of the rows."""
    lengths = np.array(draw(st.lists(st.integers(0, 4), min_size=1, max_size=20)), np.int64)
    valid = np.array(draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths))))
    rows = draw(st.sets(st.integers(0, len(lengths) - 1), min_size=1))
    return lengths, valid, row_ranges.from_sorted(np.array(sorted(rows)))


def take(values: np.ndarray, rows: RowRanges) -> np.ndarray:
    taken: np.ndarray = values[row_ranges.expand(rows)]
    return taken


@settings(max_examples=200)
@given(drawn=lists_and_rows())
def test_rows_are_found_by_their_ends(drawn: tuple[np.ndarray, np.ndarray, RowRanges]) -> None:
    lengths, valid, rows = drawn
    plain = np.cumsum(lengths).astype(np.uint64)
    num_items = int(plain[-1])
    stored = np.where(valid, plain, plain + np.uint64(num_items + 1))
    needed = take(stored, ends.rows_of_ends(rows))
    found, found_valid = ends.without_nulls(needed, num_items + 1, rows)
    if found_valid is None:
        assert take(valid, rows).all()
    else:
        assert np.array_equal(found_valid, take(valid, rows))
    bounds = ends.bounds(ends.positions_of_ends(found, rows), rows, num_items)
    check(bounds, lengths, rows)


@settings(max_examples=200)
@given(drawn=lists_and_rows())
def test_rows_are_found_by_their_offsets(drawn: tuple[np.ndarray, np.ndarray, RowRanges]) -> None:
    lengths, _, rows = drawn
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    positions = take(offsets, ends.rows_of_offsets(rows))
    check(ends.bounds(positions, rows, int(offsets[-1])), lengths, rows)


def check(bounds: ends.Bounds, lengths: np.ndarray, rows: RowRanges) -> None:
    assert np.array_equal(bounds.lengths, take(lengths, rows))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    wanted = np.flatnonzero(row_ranges.within(rows, owner))
    assert np.array_equal(row_ranges.expand(bounds.items) if len(bounds.items) else [], wanted)


@pytest.mark.parametrize(
    "positions", [[0, 3, 2], [5, 6, 7], [-1, 0, 1], [0, 1, 2**62], [0, 2**62, -(2**63), -(2**62), 3]]
)
def test_positions_that_descend_or_leave_the_items_are_refused(positions: list[int]) -> None:
    with pytest.raises(CorruptFile, match="6 items"):
        ends.bounds(np.array(positions), row_ranges.single(0, len(positions) - 1), 6)


def test_ends_beyond_those_of_nulls_are_refused() -> None:
    rows = row_ranges.single(0, 2)
    with pytest.raises(CorruptFile, match="beyond the 5 items"):
        ends.without_nulls(np.array([5, 12], np.uint64), 6, rows)
    with pytest.raises(CorruptFile):
        ends.without_nulls(np.array([0, 0], np.uint64), 0, rows)
    with pytest.raises(CorruptFile):
        ends.without_nulls(np.array([0, 0], np.uint64), 2**63, rows)
    with pytest.raises(CorruptFile):
        ends.positions_of_ends(np.array([0, 2**63], np.uint64), rows)
