"""Rows known from several indices, compared with Python sets for each fragment."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.reads.scan.pruning.known_rows import KnownRows, distinct, everything, numbers_of
from lance_sql.values import row_ranges

ROWS = 6
NUM_FRAGMENTS = 4

# by the index of a fragment the rows that may pass; nothing is known of fragments that are not there
answers = st.dictionaries(st.integers(0, NUM_FRAGMENTS - 1), st.sets(st.integers(0, ROWS - 1)), max_size=NUM_FRAGMENTS)


@given(st.lists(st.integers(0, 20), max_size=8), st.booleans())
def test_numbers_are_put_in_order_once(values: list[int], is_ordered: bool) -> None:
    given_order = sorted(set(values)) if is_ordered else values
    assert distinct(np.array(given_order, np.int64)).tolist() == sorted(set(values))


def known(answer: dict[int, set[int]]) -> KnownRows:
    fragment_indices = np.array(sorted(answer), np.int64)
    numbers = [numbers_of(fragment_index, np.array(sorted(rows), np.int64)) for fragment_index, rows in answer.items()]
    return KnownRows.of_numbers(fragment_indices, np.concatenate([np.empty(0, np.int64), *numbers]))


def may_pass(known_rows: KnownRows, fragment_index: int) -> set[int]:
    """The rows of a fragment that may pass, by what is known."""
    if fragment_index not in known_rows.fragment_indices:
        return set(range(ROWS))
    rows = row_ranges.clip(known_rows.rows, fragment_index << 32, (fragment_index << 32) + ROWS)
    return {row - (fragment_index << 32) for row in row_ranges.expand(rows).tolist()}


def check_sound(known_rows: KnownRows) -> None:
    assert (known_rows.fragment_indices[1:] > known_rows.fragment_indices[:-1]).all()
    assert (known_rows.rows[:, 1] > known_rows.rows[:, 0]).all()
    assert (known_rows.rows[1:, 0] >= known_rows.rows[:-1, 1]).all()
    assert row_ranges.count(row_ranges.difference(known_rows.rows, everything(known_rows.fragment_indices))) == 0


@settings(deadline=None)
@given(answers, answers)
def test_both(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    known_rows = known(one).both(known(other))
    check_sound(known_rows)
    assert known_rows.fragment_indices.tolist() == sorted({*one, *other})
    for fragment_index in range(NUM_FRAGMENTS):
        every = set(range(ROWS))
        assert may_pass(known_rows, fragment_index) == one.get(fragment_index, every) & other.get(fragment_index, every)


@settings(deadline=None)
@given(answers, answers)
def test_either(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    known_rows = known(one).either(known(other))
    check_sound(known_rows)
    assert known_rows.fragment_indices.tolist() == sorted(one.keys() & other.keys())
    for fragment_index in one.keys() & other.keys():
        assert may_pass(known_rows, fragment_index) == one[fragment_index] | other[fragment_index]


@settings(deadline=None)
@given(answers, answers)
def test_segments_of_an_index_share_their_coverage(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    known_rows = known(one).with_segment(known(other))
    check_sound(known_rows)
    for fragment_index in {*one, *other}:
        assert may_pass(known_rows, fragment_index) == one.get(fragment_index, set()) | other.get(fragment_index, set())


@settings(deadline=None)
@given(answers)
def test_all_but_some_ranges(ruled_out: dict[int, set[int]]) -> None:
    fragment_indices = np.arange(NUM_FRAGMENTS)
    known_rows = KnownRows.but_for(fragment_indices, known(ruled_out).rows)
    check_sound(known_rows)
    for fragment_index in range(NUM_FRAGMENTS):
        assert may_pass(known_rows, fragment_index) == set(range(ROWS)) - ruled_out.get(fragment_index, set())
