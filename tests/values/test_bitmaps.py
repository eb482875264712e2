"""Sets of 64-bit numbers, against NumPy's."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.values import bitmaps
from lance_sql.values.bitmaps import U64Set

NUMBERS = st.lists(st.integers(0, 2**64 - 1) | st.integers(2**32 - 5, 2**32 + 5), max_size=60)


@given(NUMBERS, NUMBERS)
def test_a_set_has_each_number_once(a: list[int], b: list[int]) -> None:
    sets = [U64Set.of(np.array(numbers, np.uint64)) for numbers in (a, b)]
    together = pickle.loads(pickle.dumps(U64Set.union(sets)))
    assert [len(each) for each in (*sets, together)] == [len({*a}), len({*b}), len({*a, *b})]
    found = [(high << 32) + low for high, lows in together.halves.items() for low in lows.tolist()]
    assert found == sorted({*a, *b})


def test_more_numbers_than_are_sorted_at_once() -> None:
    numbers = np.random.default_rng(1).integers(0, 2**34, 3 * bitmaps._NUMBERS_AT_ONCE).astype(np.uint64)
    made = U64Set.of(np.concatenate((numbers, numbers[:1000])))
    assert len(made) == len(np.unique(numbers))
    expected = bitmaps.halves(np.unique(numbers))
    assert list(made.halves) == list(expected)
    assert all(np.array_equal(made.halves[high], low) for high, low in expected.items())
