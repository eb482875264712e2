"""Row ranges against Python sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

LIMIT = 60

row_sets = st.sets(st.integers(0, LIMIT), max_size=40)


@st.composite
def ranges(draw: st.DrawFn) -> RowRanges:
    """A set of rows; neighbouring ranges may touch."""
    bounds = sorted(draw(st.sets(st.integers(0, LIMIT), max_size=16)))
    pairs = list(pairwise(bounds))
    kept = [pair for pair in pairs if draw(st.booleans())]
    return np.array(kept, np.int64).reshape(-1, 2)


def rows_of(rows: RowRanges) -> list[int]:
    return [row for start, end in rows.tolist() for row in range(start, end)]


def assert_valid(rows: RowRanges) -> None:
    """Ascending, without overlap, no range empty; int64[k, 2]."""
    assert rows.dtype == np.int64
    assert rows.ndim == 2
    assert rows.shape[1] == 2
    assert (rows[:, 0] < rows[:, 1]).all()
    assert (rows[1:, 0] >= rows[:-1, 1]).all()


def positions(rows: set[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(rows), np.int64)


@pytest.mark.parametrize(("start", "end", "count"), [(0, 0, 0), (3, 7, 4), (7, 3, 0), (2**40, 2**40 + 1, 1)])
def test_a_single_range_is_empty_unless_it_ends_behind_its_start(start: int, end: int, count: int) -> None:
    rows = row_ranges.single(start, end)
    assert_valid(rows)
    assert row_ranges.count(rows) == count


@given(ranges())
def test_count_and_expand_agree_with_the_rows(rows: RowRanges) -> None:
    assert row_ranges.count(rows) == len(rows_of(rows))
    assert row_ranges.expand(rows).tolist() == rows_of(rows)
    assert row_ranges.expand(rows).dtype == np.int64


@given(row_sets)
def test_positions_become_the_fewest_ranges(rows: set[int]) -> None:
    made = row_ranges.from_sorted(positions(rows))
    assert_valid(made)
    assert rows_of(made) == sorted(rows)
    assert len(made) == sum(row - 1 not in rows for row in rows)


@given(ranges(), row_sets)
def test_without_takes_rows_away(rows: RowRanges, removed: set[int]) -> None:
    left = row_ranges.without(rows, positions(removed))
    assert_valid(left)
    assert rows_of(left) == [row for row in rows_of(rows) if row not in removed]


@given(ranges(), row_sets)
def test_within_says_which_positions_the_set_holds(rows: RowRanges, asked: set[int]) -> None:
    held = set(rows_of(rows))
    assert row_ranges.within(rows, positions(asked)).tolist() == [row in held for row in sorted(asked)]


@given(ranges(), ranges())
def test_intersect_keeps_what_both_hold(a: RowRanges, b: RowRanges) -> None:
    both = row_ranges.intersect(a, b)
    assert_valid(both)
    assert rows_of(both) == sorted(set(rows_of(a)) & set(rows_of(b)))


@given(ranges(), st.integers(0, LIMIT), st.integers(0, LIMIT))
def test_clip_keeps_what_lies_inside(rows: RowRanges, start: int, end: int) -> None:
    before = rows.copy()
    part = row_ranges.clip(rows, start, end)
    assert_valid(part)
    assert rows_of(part) == [row for row in rows_of(rows) if start <= row < end]
    assert np.array_equal(rows, before), "the set itself is left alone"


@given(ranges(), st.data())
def test_compose_counts_the_set_through(rows: RowRanges, data: st.DataObject) -> None:
    total = row_ranges.count(rows)
    chosen = sorted(data.draw(st.sets(st.integers(0, max(total - 1, 0)), max_size=total)))
    composed = row_ranges.compose(rows, row_ranges.from_sorted(positions(set(chosen))))
    assert_valid(composed)
    assert rows_of(composed) == [rows_of(rows)[i] for i in chosen]


@given(ranges(), st.integers(0, LIMIT + 5))
def test_head_keeps_the_first_rows(rows: RowRanges, num_rows: int) -> None:
    first = row_ranges.head(rows, num_rows)
    assert_valid(first)
    assert rows_of(first) == rows_of(rows)[:num_rows]


@given(ranges(), st.integers(0, 10))
def test_coalesce_closes_small_gaps_only(rows: RowRanges, gap: int) -> None:
    covering = row_ranges.coalesce(rows, gap)
    assert_valid(covering)
    assert (covering[1:, 0] - covering[:-1, 1] > gap).all()
    closed = {
        row for (_, end), (start, _) in pairwise(rows.tolist()) if start - end <= gap for row in range(end, start)
    }
    assert set(rows_of(covering)) == set(rows_of(rows)) | closed


@given(ranges(), ranges())
def test_union_and_difference_agree_with_sets(a: RowRanges, b: RowRanges) -> None:
    together = row_ranges.union(a, b)
    assert_valid(together)
    assert rows_of(together) == sorted({*rows_of(a), *rows_of(b)})
    assert (together[1:, 0] > together[:-1, 1]).all()
    left = row_ranges.difference(a, b)
    assert_valid(left)
    assert rows_of(left) == sorted({*rows_of(a)} - {*rows_of(b)})
