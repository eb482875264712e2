"""Division of integers in filters against Python's, rounded towards zero."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.reads.scan.predicates import integer_division

LEAST, MOST = -(2**63), 2**63 - 1
NUMBERS = st.one_of(st.none(), st.integers(LEAST, MOST), st.integers(-5, 300))


def _expected(value: int | None, divisor: int | None) -> tuple[int | None, int | None]:
    if value is None or divisor is None:
        return None, None
    quotient = abs(value) // abs(divisor) * (1 if (value < 0) == (divisor < 0) else -1)
    return quotient, value - quotient * divisor


@given(
    st.lists(NUMBERS, max_size=30), st.one_of(NUMBERS, st.lists(NUMBERS, min_size=30, max_size=30)), st.integers(0, 3)
)
def test_quotients_and_rests(values: list[int | None], divisors: int | list[int | None] | None, skipped: int) -> None:
    other = divisors[: len(values)] if isinstance(divisors, list) else [divisors] * len(values)
    left = pa.array(values, pa.int64()).slice(skipped)
    right = pa.array(other, pa.int64()).slice(skipped)
    pairs = list(zip(left.to_pylist(), right.to_pylist(), strict=True))
    if any(a is not None and (b == 0 or (a == LEAST and b == -1)) for a, b in pairs):
        with pytest.raises(pa.ArrowInvalid):
            integer_division.quotient(left, right)
        return
    expected = [_expected(*pair) for pair in pairs]
    assert integer_division.quotient(left, right).to_pylist() == [quotient for quotient, _ in expected]
    assert integer_division.rest(left, right).to_pylist() == [rest for _, rest in expected]


@given(st.lists(st.one_of(st.none(), st.integers(0, 2**64 - 1)), max_size=30), st.integers(1, 2**64 - 1))
def test_unsigned_numbers(values: list[int | None], divisor: int) -> None:
    left, right = pa.array(values, pa.uint64()), pa.repeat(pa.scalar(divisor, pa.uint64()), len(values))
    expected = [(None, None) if value is None else divmod(value, divisor) for value in values]
    assert integer_division.quotient(left, right).to_pylist() == [quotient for quotient, _ in expected]
    assert integer_division.rest(left, right).to_pylist() == [rest for _, rest in expected]


def test_values_behind_nulls_do_not_matter() -> None:
    values = pa.array(np.array([7, -9, 8]), mask=np.array([False, True, False]))
    right = pa.repeat(pa.scalar(3, pa.int64()), 3)
    assert integer_division.rest(values, right).to_pylist() == [1, None, 2]
