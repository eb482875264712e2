"""Python values in the type of a column: the same values, or an error with the column, the row and the value."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts import python_values

NOON = dt.datetime(2026, 1, 1, 12, 0, 0, 5)
LOST = [
    (1.9, pa.int64()),
    (np.float64(-0.5), pa.int8()),
    (Decimal("1.9"), pa.uint32()),
    (True, pa.int64()),
    (np.bool_(True), pa.int64()),
    (True, pa.float64()),
    (math.nan, pa.int32()),
    (NOON, pa.date32()),
    (NOON, pa.date64()),
    (dt.datetime(2026, 1, 1, 0, 0, 0, 1), pa.date32()),
    (NOON, pa.timestamp("s")),
    (NOON, pa.timestamp("ms")),
    (np.datetime64("2026-01-01T00:00:00.5"), pa.timestamp("s")),
    (NOON.time(), pa.time32("s")),
    (NOON.time(), pa.time32("ms")),
    (dt.timedelta(microseconds=1), pa.duration("ms")),
    (np.timedelta64(1, "ms"), pa.duration("s")),
    (1e300, pa.float32()),
    (70_000, pa.float16()),
    (2**53 + 1, pa.float64()),
    (300, pa.int8()),
    (-1, pa.uint64()),
    (Decimal("1.239"), pa.decimal128(5, 2)),
    (0.125, pa.decimal128(9, 2)),
    (1 / 3, pa.decimal128(18, 9)),
    (0.1 + 0.2, pa.decimal128(9, 2)),
    (1e10, pa.decimal128(9, 2)),
    (math.nan, pa.decimal128(9, 2)),
    (-math.inf, pa.decimal256(40, 2)),
    ("a", pa.int64()),
    (1, pa.string()),
    (1, pa.bool_()),
    ("a", pa.uuid()),
    (b"abc", pa.binary(4)),
]
KEPT = [
    (2.0, pa.int64(), 2),
    (Decimal(7), pa.int8(), 7),
    (dt.datetime(2026, 1, 1), pa.date32(), dt.date(2026, 1, 1)),
    (dt.datetime(2026, 1, 1, 1), pa.timestamp("s"), dt.datetime(2026, 1, 1, 1)),
    (dt.time(1, 2, 3), pa.time32("s"), dt.time(1, 2, 3)),
    (dt.timedelta(hours=1), pa.duration("s"), dt.timedelta(hours=1)),
    (0.1, pa.float32(), float(np.float32(0.1))),
    (19.99, pa.decimal128(9, 2), Decimal("19.99")),
    (-2.5, pa.decimal32(5, 1), Decimal("-2.5")),
    (1e3, pa.decimal256(40, 3), Decimal("1000.000")),
    (np.float32(0.1), pa.decimal128(9, 2), Decimal("0.10")),
    ([{"a": 0.25}], pa.list_(pa.struct([("a", pa.decimal128(9, 2))])), [{"a": Decimal("0.25")}]),
    (math.inf, pa.float32(), math.inf),
    (2**64 - 1, pa.uint64(), 2**64 - 1),
    (str(UUID(int=5)), pa.uuid(), UUID(int=5)),
    (UUID(int=5), pa.uuid(), UUID(int=5)),
    ("a", pa.dictionary(pa.int8(), pa.string()), "a"),
]
INSIDE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "plain": (lambda type: type, lambda value: value),
    "list": (pa.list_, lambda value: [value]),
    "large list": (pa.large_list, lambda value: [None, value]),
    "vector": (lambda type: pa.list_(type, 2), lambda value: [value, value]),
    "struct": (lambda type: pa.struct([("a", type), ("b", pa.int8())]), lambda value: {"a": value, "b": 1}),
    "map": (lambda type: pa.map_(pa.string(), type), lambda value: [("k", value)]),
    "deep": (lambda type: pa.list_(pa.struct([("a", pa.list_(type))])), lambda value: [{"a": [value]}]),
}


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize(("value", "type"), LOST, ids=str)
def test_a_value_that_would_change_is_refused(value: Any, type: pa.DataType, inside: str) -> None:
    make_type, make_value = INSIDE[inside]
    with pytest.raises(InvalidArgument, match=r"Column 'x', row 2: .* does not fit "):
        python_values.array([None, None, make_value(value)], make_type(type), "x")


@pytest.mark.parametrize(("value", "type", "expected"), KEPT, ids=str)
def test_a_value_that_fits_is_taken(value: Any, type: pa.DataType, expected: Any) -> None:
    assert python_values.array([value, None], type, "x").to_pylist() == [expected, None]


@pytest.mark.parametrize("value", [{"a": 1, "z": 2}, {"z": 2}])
def test_members_that_a_struct_has_not_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="no member 'z'"):
        python_values.array([value], pa.struct([("a", pa.int64())]), "x")


@given(
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.datetimes(), st.dates())
    ),
    st.sampled_from(
        [pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.date32(), pa.timestamp("s"), pa.duration("s")]
    ),
)
def test_whatever_is_taken_is_equal_afterwards(values: list[Any], type: pa.DataType) -> None:
    try:
        made = python_values.array(values, type, "x").to_pylist()
    except InvalidArgument:
        return
    for given_value, value in zip(values, made, strict=True):
        if given_value is None:
            assert value is None
        elif isinstance(value, float):
            nearest = value if type != pa.float32() else float(np.float32(float(given_value)))
            assert value == nearest or math.isnan(value)
        elif isinstance(given_value, dt.date) and isinstance(value, dt.date):
            same = dt.datetime.combine(value, dt.time()) if not isinstance(value, dt.datetime) else value
            whole = given_value if isinstance(given_value, dt.datetime) else dt.datetime.combine(given_value, dt.time())
            assert same == whole
        elif not isinstance(value, (dt.date, dt.timedelta)):
            assert value == given_value
