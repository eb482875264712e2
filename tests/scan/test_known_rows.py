"""What several indices know of rows, against Python sets fragment by fragment."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql import row_ranges
from lance_sql.scan.evidence.known_rows import KnownRows, distinct, everything, numbers_of

ROWS = 6
PLACES = 4

# by place the rows that may pass; nothing is known of places that are not there
answers = st.dictionaries(st.integers(0, PLACES - 1), st.sets(st.integers(0, ROWS - 1)), max_size=PLACES)


@given(st.lists(st.integers(0, 20), max_size=8), st.booleans())
def test_numbers_are_put_in_order_once(values: list[int], is_ordered: bool) -> None:
    given_order = sorted(set(values)) if is_ordered else values
    assert distinct(np.array(given_order, np.int64)).tolist() == sorted(set(values))


def known(answer: dict[int, set[int]]) -> KnownRows:
    places = np.array(sorted(answer), np.int64)
    numbers = [numbers_of(place, np.array(sorted(rows), np.int64)) for place, rows in answer.items()]
    return KnownRows.of_numbers(places, np.concatenate([np.empty(0, np.int64), *numbers]))


def may_pass(found: KnownRows, place: int) -> set[int]:
    """The rows of a fragment that may pass, by what is known."""
    if place not in found.places:
        return set(range(ROWS))
    rows = row_ranges.clip(found.rows, place << 32, (place << 32) + ROWS)
    return {row - (place << 32) for row in row_ranges.expand(rows).tolist()}


def check_sound(found: KnownRows) -> None:
    assert (found.places[1:] > found.places[:-1]).all()
    assert (found.rows[:, 1] > found.rows[:, 0]).all()
    assert (found.rows[1:, 0] >= found.rows[:-1, 1]).all()
    assert row_ranges.count(row_ranges.difference(found.rows, everything(found.places))) == 0


@settings(deadline=None)
@given(answers, answers)
def test_both(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    found = known(one).both(known(other))
    check_sound(found)
    assert found.places.tolist() == sorted({*one, *other})
    for place in range(PLACES):
        every = set(range(ROWS))
        assert may_pass(found, place) == one.get(place, every) & other.get(place, every)


@settings(deadline=None)
@given(answers, answers)
def test_either(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    found = known(one).either(known(other))
    check_sound(found)
    assert found.places.tolist() == sorted(one.keys() & other.keys())
    for place in one.keys() & other.keys():
        assert may_pass(found, place) == one[place] | other[place]


@settings(deadline=None)
@given(answers, answers)
def test_segments_of_an_index_know_what_each_of_them_does(one: dict[int, set[int]], other: dict[int, set[int]]) -> None:
    found = known(one).with_segment(known(other))
    check_sound(found)
    for place in {*one, *other}:
        assert may_pass(found, place) == one.get(place, set()) | other.get(place, set())


@settings(deadline=None)
@given(answers)
def test_all_but_some_ranges(ruled_out: dict[int, set[int]]) -> None:
    places = np.arange(PLACES)
    found = KnownRows.but_for(places, known(ruled_out).rows)
    check_sound(found)
    for place in range(PLACES):
        assert may_pass(found, place) == set(range(ROWS)) - ruled_out.get(place, set())
