"""Finds the pages of rows, by the rest of the rows in each page."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.values import row_ranges


@given(st.lists(st.integers(0, 6), min_size=1, max_size=7), st.sets(st.integers(0, 41), min_size=1))
def test_rows_are_split_at_the_borders_of_pages(lengths: list[int], chosen: set[int]) -> None:
    starts = np.cumsum([0, *lengths])
    rows = row_ranges.from_sorted(np.array(sorted(row for row in chosen if row < starts[-1]), np.int64))
    if not len(rows):
        return
    inside = {
        number: row_ranges.clip(rows, int(start), int(end)) - start
        for number, (start, end) in enumerate(pairwise(starts))
    }
    expected = {number: part.tolist() for number, part in inside.items() if len(part)}
    assert {number: part.tolist() for number, part in row_ranges.split(starts, rows)} == expected
    assert row_ranges.parts_with(starts, rows) == sorted(expected)
