"""Evaluation in SQL's order, on the forms of arrays that a scan produces."""

from __future__ import annotations

import operator
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.predicates import Predicate, evaluate, from_sql, passing

NAN, INF = float("nan"), float("inf")
FLOATS = [NAN, INF, -INF, 0.0, -0.0, 1.5, None]


def answers(text: str, **columns: pa.Array) -> list[bool | None]:
    batch = pa.record_batch(columns)
    found: list[bool | None] = evaluate(from_sql(text, batch.schema), batch).to_pylist()
    return found


@pytest.mark.parametrize("type", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f > 1.5", [True, True, False, False, False, False, None]),
        ("f >= 'inf'", [True, True, False, False, False, False, None]),
        ("f < 'nan'", [False, True, True, True, True, True, None]),
        ("f <= 'nan'", [True, True, True, True, True, True, None]),
        ("f > 'nan'", [False, False, False, False, False, False, None]),
        ("f = 'nan'", [True, False, False, False, False, False, None]),
        ("f <> 'nan'", [False, True, True, True, True, True, None]),
        ("f = 0", [False, False, False, True, True, False, None]),
        ("f IN (0, 1.5)", [False, False, False, True, True, True, None]),
        ("f NOT IN (0, 'nan')", [False, True, True, False, False, True, None]),
        ("f IN (0, NULL)", [None, None, None, True, True, None, None]),
        ("f = f", [True, True, True, True, True, True, None]),
        ("f < f", [False, False, False, False, False, False, None]),
    ],
)
def test_floats_have_a_total_order(type: pa.DataType, text: str, expected: list[bool | None]) -> None:
    assert answers(text, f=pa.array(FLOATS, type)) == expected


def test_columns_of_floats_are_compared_in_the_same_order() -> None:
    rows = [(left, right) for left in FLOATS for right in FLOATS]
    left, right = (pa.array(side, pa.float64()) for side in zip(*rows, strict=True))

    def key(value: float) -> tuple[bool, float]:
        return (value != value, 0.0 if value != value else value)

    for op, holds in {"<": operator.lt, "<=": operator.le, "=": operator.eq}.items():
        expected = [None if a is None or b is None else holds(key(a), key(b)) for a, b in rows]
        assert answers(f"l {op} r", l=left, r=right) == expected


DICTIONARY = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 0], pa.int8()), ["a", "b", None])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s = 'a'", [True, False, None, None, True]),
        ("s <> 'a'", [False, True, None, None, False]),
        ("s IN ('a', 'z')", [True, False, None, None, True]),
        ("s IS NULL", [False, False, True, True, False]),
        ("s LIKE '%b%'", [False, True, None, None, False]),
        ("upper(s) = 'B'", [False, True, None, None, False]),
        ("coalesce(s, 'b') = 'b'", [False, True, True, True, False]),
        ("(s = 'a') IS NULL", [False, False, True, True, False]),
    ],
)
def test_a_dictionary_is_answered_by_its_values(text: str, expected: list[bool | None]) -> None:
    assert answers(text, s=DICTIONARY) == expected
    sliced = pa.record_batch({"s": DICTIONARY}).slice(1, 3)
    predicate = from_sql(text, sliced.schema)
    assert evaluate(predicate, sliced).to_pylist() == expected[1:4]


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_is_ordered_by_bytes(type: pa.DataType) -> None:
    column = pa.array(["B", "a", "é", "\U0001f600", "", None], type)
    assert answers("s >= 'é'", s=column) == [False, False, True, True, False, None]
    assert answers("length(s) = 1", s=column) == [True, True, True, True, False, None]


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)])
def test_bytes_are_ordered_as_unsigned(type: pa.DataType) -> None:
    column = pa.array([b"\x00\xff", b"\x80\x00", b"\x7f\xff", None], type)
    assert answers("x > '\\x7F\\xFF'::BLOB", x=column) == [False, True, False, None]
    assert answers("x > '\\x7F'::BLOB", x=column) == [False, True, True, None]
    assert answers("x IN ('\\x80\\x00'::BLOB)", x=column) == [False, True, False, None]


@pytest.mark.parametrize("type", [pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(38, 2), pa.decimal256(76, 2)])
def test_decimals_are_compared_exactly(type: pa.DataType) -> None:
    column = pa.array([Decimal("1.23"), Decimal("-1.23"), Decimal("1.24"), None], type)
    assert answers("m > 1.235", m=column) == [False, False, True, None]
    assert answers("m IN (1.23, 1.231)", m=column) == [True, False, False, None]
    other = pa.array([Decimal("1.2300"), Decimal("-1.2299"), None, None], pa.decimal128(10, 4))
    assert answers("m < o", m=column, o=other) == [False, True, None, None]


def test_integers_of_all_widths_are_compared_exactly() -> None:
    signed = pa.array([-1, 2**63 - 1, 5, None], pa.int64())
    unsigned = pa.array([2**64 - 1, 2**63, 5, 5], pa.uint64())
    assert answers("s < u", s=signed, u=unsigned) == [True, True, False, None]
    assert answers("s = u", s=signed, u=unsigned) == [False, False, True, None]
    assert answers("u - s = 0", s=signed, u=unsigned) == [False, False, True, None]


def test_timestamps_of_all_units_are_compared_exactly() -> None:
    seconds = pa.array([2**62, 1, 0, None], pa.timestamp("s"))
    fine = pa.array([2**62, 10**9 + 1, 0, 0], pa.timestamp("ns"))
    zoned = fine.cast(pa.timestamp("ns", "Asia/Tokyo"))
    assert answers("a > b", a=seconds, b=fine) == [True, False, False, None]
    assert answers("a = b", a=seconds, b=zoned) == [False, False, True, None]
    days = pa.array([2**31 - 1, 0, 0, 0], pa.date32())
    assert answers("d > b", d=days, b=fine) == [True, False, False, False]


def test_a_nested_field_is_null_where_a_parent_is() -> None:
    inner = pa.StructArray.from_arrays([pa.array([1, 1, None])], names=["b"], mask=pa.array([False, True, False]))
    outer = pa.StructArray.from_arrays([inner], names=["a"])
    assert answers("s.a.b = 1", s=outer) == [True, None, None]
    assert answers("s.a.b IS NULL", s=outer) == [False, True, True]
    assert answers("s.a IS NULL", s=outer) == [False, True, False]


def test_a_batch_without_rows_or_columns_has_answers_too() -> None:
    empty = pa.RecordBatch.from_pylist([], pa.schema([("i", pa.int32())]))
    assert evaluate(from_sql("i > 1 OR i IS NULL", empty.schema), empty).to_pylist() == []
    counted = pa.record_batch({"i": [1, 2, 3]}).select([])
    assert evaluate(from_sql("1 = 1", counted.schema), counted).to_pylist() == [True] * 3
    assert evaluate(from_sql("NULL", counted.schema), counted).to_pylist() == [None] * 3


def test_an_overflow_is_an_error_of_the_filter() -> None:
    with pytest.raises(InvalidArgument, match=r"The filter add\(i, 1\) > 0 cannot be evaluated: overflow"):
        answers("i + 1 > 0", i=pa.array([2**63 - 1]))


def test_many_values_are_one_lookup() -> None:
    predicate: Predicate = from_sql(f"i IN ({', '.join(map(str, range(0, 20000, 2)))})", pa.schema([("i", pa.int64())]))
    batch = pa.record_batch({"i": pa.array([0, 1, 19998, 20000, None])})
    assert evaluate(predicate, batch).to_pylist() == [True, False, True, False, None]


@given(
    type=st.sampled_from(
        [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float64(), pa.date32(), pa.timestamp("us")]
    ),
    items=st.lists(st.none() | st.integers(0, 5), max_size=8),
    text=st.sampled_from(
        ["c = 3", "c <> 3", "c < 3", "c <= 3", "c > 3", "c >= 3 AND c < 5", "c IN (1, 3)", "NOT c > 2"]
    ),
    first=st.integers(0, 3),
)
def test_values_of_one_column_pass_where_rows_do(
    type: pa.DataType, items: list[int | None], text: str, first: int
) -> None:
    storage = pa.int32() if type == pa.date32() else pa.int64() if pa.types.is_temporal(type) else type
    values = pa.array(items, storage).view(type).slice(first)
    predicate = from_sql(text, pa.schema([("c", storage)]))
    if storage != type:
        predicate = from_sql(_with_literals(text, type), pa.schema([("c", type)]))
    expected = evaluate(predicate, pa.record_batch({"c": values})).fill_null(False).to_pylist()
    assert passing(predicate, ("c",), values).tolist() == expected


def _with_literals(text: str, type: pa.DataType) -> str:
    """The text with days, or microseconds, since 1970 in the place of numbers."""
    kind = "DATE '1970-01-{:02}'" if type == pa.date32() else "TIMESTAMP '1970-01-01 00:00:00.00000{}'"
    return re.sub(r"\d", lambda digit: kind.format(int(digit[0]) + (type == pa.date32())), text)
