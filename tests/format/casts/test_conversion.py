"""Casts over all pairs of types: exact, as in DuckDB, or refused."""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql.format.casts.conversion import convert
from lance_sql.values import kinds

INTEGERS: Final = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
)
FLOATS: Final = (pa.float16(), pa.float32(), pa.float64())
DECIMALS: Final = (
    *(pa.decimal32(6, 2), pa.decimal64(15, 3), pa.decimal128(10, 2), pa.decimal128(38, 10), pa.decimal128(20, 20)),
    *(pa.decimal256(50, 5), pa.decimal256(76, 0)),
)
TEXTS: Final = (pa.string(), pa.large_string(), pa.string_view())
BYTES: Final = (pa.binary(), pa.large_binary(), pa.binary(3), pa.binary_view())
DATES: Final = (pa.date32(), pa.date64())
TIMES: Final = (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
TIMESTAMPS: Final = tuple(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC"))
LOCAL: Final = pa.timestamp("us", "America/New_York")
DURATIONS: Final = tuple(pa.duration(unit) for unit in ("s", "ms", "us", "ns"))
NUMBERS: Final = (*INTEGERS, *FLOATS, *DECIMALS)
PLAIN: Final = (pa.bool_(), *NUMBERS, *TEXTS, *BYTES, *DATES, *TIMES, *TIMESTAMPS, LOCAL, *DURATIONS)
UNITS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY: Final = 86_400 * 10**9


def values_of(type: pa.DataType) -> st.SearchStrategy[Any]:
    """Returns Python values that `pa.array` accepts for a type; times as counts of their units."""
    if pa.types.is_boolean(type):
        return st.booleans()
    if pa.types.is_integer(type):
        limits = np.iinfo(type.to_pandas_dtype())
        near = st.sampled_from([0, 1, 2049, 2**24 + 1, 2**25 + 2, 2**53 + 1, 2**62 + 2**37, 2**63 - 2**9])
        return st.one_of(
            st.integers(int(limits.min), int(limits.max)), near.filter(lambda n: n <= limits.max), st.integers(0, 100)
        )
    if pa.types.is_floating(type):
        return st.one_of(st.floats(width=type.bit_width), _short_floats(type), st.integers(-100, 100).map(float))
    if pa.types.is_decimal(type):
        return st.one_of(st.integers(-(10**type.precision) + 1, 10**type.precision - 1), st.integers(-999, 999)).map(
            lambda n: Decimal(n).scaleb(-type.scale, Context(prec=80))
        )
    if kinds.is_text(type):
        return st.one_of(st.text(max_size=5), _written_numbers(), _written_times())
    if pa.types.is_fixed_size_binary(type):
        return st.binary(min_size=3, max_size=3)
    if type in BYTES:
        return st.one_of(st.binary(max_size=4), st.text(max_size=3).map(str.encode))
    if pa.types.is_time(type):
        return st.integers(0, DAY // UNITS[type.unit] - 1)
    bits = 31 if type.bit_width == 32 else 63
    usual = 20_000 * DAY // _unit(type)
    made = st.one_of(st.integers(-usual, usual), st.integers(-(2**bits), 2**bits - 1), st.integers(0, 100))
    return made.map(lambda n: n // 86_400_000 * 86_400_000) if pa.types.is_date64(type) else made


def _short_floats(type: pa.DataType) -> st.SearchStrategy[float]:
    """Numbers with few digits, such as 4.35, and those in the middle between two."""
    short = st.builds(lambda n, scale: n / 10**scale, st.integers(-(10**6), 10**6), st.integers(0, 6))
    kind, greatest = type.to_pandas_dtype(), float(np.finfo(type.to_pandas_dtype()).max)
    return short.filter(lambda x: abs(x) < greatest).map(lambda x: float(kind(x)))


def _written_numbers() -> st.SearchStrategy[str]:
    plain = st.builds(
        lambda n, scale: f"{Decimal(n).scaleb(-scale):f}", st.integers(-(10**20), 10**20), st.integers(0, 12)
    )
    middle = st.floats(-1e4, 1e4).map(lambda x: format(_middle(np.float16(x)), "f"))
    return st.one_of(
        plain, middle, st.integers(-300, 300).map(str), st.sampled_from(["1e400", "-inf", "nan", "1e-400"])
    )


def _middle(half: np.float16) -> Decimal:
    """Between a half float and the next one, or just beside."""
    above = np.nextafter(half, np.float16(np.inf))
    return (Decimal(float(half)) + Decimal(float(above))) / 2 + Decimal(int(half.view(np.uint16)) % 3 - 1).scaleb(-22)


def _written_times() -> st.SearchStrategy[str]:
    return st.one_of(st.dates(), st.times(), st.datetimes()).map(lambda each: str(each))


def _unit(type: pa.DataType) -> int:
    """Nanoseconds."""
    if pa.types.is_date(type):
        return DAY if pa.types.is_date32(type) else 10**6
    return UNITS[type.unit]


def array_of(values: list[Any], type: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(type):
        return pa.array(values, pa.int32() if type.bit_width == 32 else pa.int64()).view(type)
    if pa.types.is_decimal(type) and type.bit_width < 128:
        return pa.array(values, pa.decimal128(38, type.scale)).cast(type)
    return pa.array(values, type)


def plain_values(array: pa.Array) -> list[Any]:
    """Values of Python, times as counts of their units."""
    if pa.types.is_temporal(array.type):
        return list(array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist())
    return list(array.to_pylist())


class Refused(Exception):  # noqa: N818 - an answer
    """The exact answer is that there is none."""


def expected(value: Any, source: pa.DataType, target: pa.DataType, *, as_sql: bool) -> Any:
    """The exact answer for one value.

    raises: Refused for values that have none; NotImplementedError for pairs without arithmetic of their own
    """
    if source in NUMBERS and target in NUMBERS:
        return _number(value, source, target, as_sql=as_sql)
    if source in NUMBERS and pa.types.is_boolean(target) and not pa.types.is_decimal(source):
        return bool(value)
    if pa.types.is_boolean(source) and (target in INTEGERS or target in FLOATS):
        return int(value)
    if kinds.is_text(source) and target in FLOATS:
        return _float_of_text(value, target)
    if kinds.is_text(source) and kinds.is_text(target):
        return value
    if (kinds.is_text(source) or source in BYTES) and (kinds.is_text(target) or target in BYTES):
        return _bytes(value, target)
    if source in INTEGERS and kinds.is_text(target):
        return str(value)
    if source in DECIMALS and kinds.is_text(target):
        # DuckDB has no digit where the type has no place for it
        return f"{value:f}".replace("0.", ".", 1) if source.precision == source.scale else f"{value:f}"
    if pa.types.is_boolean(source) and kinds.is_text(target):
        return str(value).lower()
    if source in DURATIONS and target in DURATIONS:
        return _counted(value * _unit(source), target)
    if source in TIMES and target in TIMES:
        return _counted(value * _unit(source), target)
    if (source in DATES or pa.types.is_timestamp(source)) and pa.types.is_temporal(target) and target not in DURATIONS:
        return _moment(value * _unit(source), source, target)
    raise NotImplementedError


def _number(value: Any, source: pa.DataType, target: pa.DataType, *, as_sql: bool) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        if target in FLOATS:
            return value
        raise Refused
    if target in FLOATS:
        return _nearest(Fraction(value), target)
    if target in INTEGERS:
        limits = np.iinfo(target.to_pandas_dtype())
        if Fraction(value).denominator != 1 or not limits.min <= value <= limits.max:
            raise Refused
        return int(value)
    if isinstance(value, float):
        single = source in (pa.float16(), pa.float32())
        exact = Decimal(str(np.float32(value)) if single else repr(value))
    else:
        exact = Decimal(value)
    made = exact.quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP, Context(prec=500, Emax=999, Emin=-999))
    if made.copy_abs() >= Decimal(10) ** (target.precision - target.scale):
        raise Refused
    if made != exact and not as_sql and not isinstance(value, float):
        raise Refused
    return made


def _nearest(exact: Fraction, target: pa.DataType) -> float:
    """The nearest number of a floating-point type, found among neighbours of a guess."""
    kind = target.to_pandas_dtype()
    greatest = np.finfo(kind).max
    limit = (
        Fraction(float(greatest)) + (Fraction(float(greatest)) - Fraction(float(np.nextafter(greatest, kind(0))))) / 2
    )
    if abs(exact) >= limit:
        raise Refused
    with np.errstate(over="ignore"):
        guess = kind(float(exact)) if abs(exact) < 10**300 else kind(math.copysign(greatest, exact))
        near = (guess, np.nextafter(guess, kind(np.inf)), np.nextafter(guess, kind(-np.inf)))
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(kind).itemsize]
    finite = [each for each in near if np.isfinite(each)]
    return float(min(finite, key=lambda each: (abs(Fraction(float(each)) - exact), int(each.view(bits)) & 1)))


def _float_of_text(value: str, target: pa.DataType) -> float:
    try:
        number = Decimal(value) if value == value.strip() and "_" not in value else None
    except ArithmeticError:
        number = None
    if number is None or number.is_snan():
        raise Refused
    if not number.is_finite():
        if "nan" in value.lower() and value != "nan":
            raise NotImplementedError
        return float(number)
    if number.adjusted() > 400:
        raise Refused
    return _nearest(Fraction(number) if number.adjusted() > -400 else Fraction(0), target)


def _bytes(value: Any, target: pa.DataType) -> Any:
    raw = value.encode() if isinstance(value, str) else value
    if kinds.is_text(target):
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise Refused from error
    if pa.types.is_fixed_size_binary(target) and len(raw) != target.byte_width:
        raise Refused
    return raw


def _moment(nanoseconds: int, source: pa.DataType, target: pa.DataType) -> int:
    if pa.types.is_timestamp(source) and not pa.types.is_timestamp(target):
        if source.tz not in (None, "UTC"):
            raise NotImplementedError
        nanoseconds = nanoseconds % DAY if target in TIMES else nanoseconds // DAY * DAY
    elif target in TIMES:
        raise NotImplementedError
    return _counted(nanoseconds, target)


def _counted(nanoseconds: int, target: pa.DataType) -> int:
    count, rest = divmod(nanoseconds, _unit(target))
    if rest or not -(2 ** (target.bit_width - 1)) <= count < 2 ** (target.bit_width - 1):
        raise Refused
    return count


def same(found: Any, wanted: Any) -> bool:
    if isinstance(found, float) and isinstance(wanted, float | int):
        return bool(found == wanted or (found != found and wanted != wanted))
    return bool(found == wanted)


@pytest.mark.parametrize("source", PLAIN, ids=str)
@given(data=st.data())
@settings(max_examples=15)
def test_every_pair_of_types_is_exact_or_refused(source: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(values_of(source), min_size=1, max_size=4))
    as_sql = data.draw(st.booleans())
    for target in PLAIN:
        for value in values:
            # before and behind others, and behind an offset
            array = array_of([None, values[0], None, value], source).slice(2)
            try:
                wanted = expected(plain_values(array)[1], source, target, as_sql=as_sql)
            except NotImplementedError:
                continue
            except Refused:
                with pytest.raises(pa.ArrowException):
                    convert(array, target, as_sql=as_sql)
                continue
            found = convert(array, target, as_sql=as_sql)
            found.validate(full=True)
            assert found.type == target
            missing, one = plain_values(found)
            assert missing is None
            assert same(one, wanted), (source, value, target, one, wanted)


DUCKDB: Final = tuple(
    type
    for type in PLAIN
    if type not in (pa.float16(), pa.date64(), *BYTES[2:]) and not (pa.types.is_decimal256(type) or type in DURATIONS)
)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    return made


@cache
def _name_in_duckdb(type: pa.DataType) -> str | None:
    empty = pa.table({"v": pa.array([], type)})
    assert len(empty) == 0
    try:
        found = duckdb.sql("FROM empty")
    except duckdb.Error:
        return None
    assert found is not None
    return str(found.types[0])


def _is_exported_without_buffer(type: pa.DataType) -> bool:
    """Whether DuckDB reads a buffer of short views that older releases of pyarrow do not have."""
    is_view = pa.types.is_string_view(type) or pa.types.is_binary_view(type)
    return is_view and int(pa.__version__.partition(".")[0]) < 26


@pytest.mark.parametrize("source", DUCKDB, ids=str)
@given(data=st.data())
@settings(max_examples=10)
def test_casts_equal_those_of_duckdb(
    source: pa.DataType, connection: duckdb.DuckDBPyConnection, data: st.DataObject
) -> None:
    values = data.draw(st.lists(values_of(source), min_size=1, max_size=3))
    for value in values:
        if pa.types.is_timestamp(source) and value == 2**63 - 1:
            # an infinity of DuckDB
            continue
        rows = pa.table({"v": array_of([value], source)})
        for target in DUCKDB:
            if _means_something_else(source, target) or _is_exported_without_buffer(target):
                continue
            try:
                found = convert(rows["v"].chunk(0), target, as_sql=True)
            except pa.ArrowException:
                continue
            name = _name_in_duckdb(target)
            if name is None:
                continue
            try:
                made = pa.table({"w": found})
                theirs = f"SELECT CAST(v AS {name}) AS v, w FROM rows, made"
                assert len(made) == 1
                both = connection.sql(
                    f"SELECT v::VARCHAR, w::VARCHAR, v IS NOT DISTINCT FROM w FROM ({theirs})"
                ).fetchall()
            except duckdb.Error:
                # it has no such cast, or refuses the value
                continue
            assert len(both) == 1
            assert both[0][2], (source, value, target, both)


def _means_something_else(source: pa.DataType, target: pa.DataType) -> bool:
    """Pairs for which DuckDB has another result than the exact one."""
    if target in FLOATS and source in (*DECIMALS, *INTEGERS):
        # it divides large ones, and takes the double of a long integer for a float
        return True
    if source in FLOATS and target in DECIMALS:
        # it multiplies, so that 1.115 is 1.12 or 1.11
        return True
    if pa.types.is_date(target) and (source == LOCAL or (pa.types.is_timestamp(source) and source.unit == "ns")):
        # the day in the zone of the session; and a nanosecond before a day is on it
        return True
    if pa.types.is_time(target) and source == LOCAL:
        return True
    # its text of bytes has escapes
    return (source in BYTES) != (target in BYTES) or (kinds.is_text(source) and target in DECIMALS)


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        (Decimal("4.35"), pa.decimal128(3, 2), pa.float64()),
        (Decimal("19.99"), pa.decimal64(10, 2), pa.float64()),
        (Decimal("1234567890123456789012345678.9012345678"), pa.decimal128(38, 10), pa.float64()),
        (Decimal("0.1"), pa.decimal256(50, 5), pa.float64()),
        # between two singles, where the nearest double is in the middle
        (Decimal("1.00000005960464477540"), pa.decimal128(38, 20), pa.float32()),
        (Decimal("2049.0000000001"), pa.decimal128(38, 10), pa.float16()),
    ],
)
def test_decimals_become_the_nearest_float(value: Decimal, source: pa.DataType, target: pa.DataType) -> None:
    found = convert(array_of([value], source), target)
    assert found.to_pylist() == [_nearest(Fraction(value), target)]
    nested = pa.array([[{"x": value}], None, []], pa.list_(pa.struct([("x", pa.decimal128(38, source.scale))])))
    inside = convert(nested, pa.large_list(pa.struct([("x", target)])))
    assert inside.to_pylist() == [[{"x": found[0].as_py()}], None, []]


def test_intervals_become_durations_of_24_hours_a_day() -> None:
    intervals = pa.array([(0, 2, 5_000), None, (0, -1, 0)], pa.month_day_nano_interval())
    found = convert(intervals, pa.duration("us"))
    assert found.to_pylist() == [dt.timedelta(days=2, microseconds=5), None, dt.timedelta(days=-1)]
    for value, says in (((1, 0, 0), "months"), ((0, 2**31 - 1, 0), "range"), ((0, 0, 1), "whole number")):
        with pytest.raises(pa.ArrowInvalid, match=says):
            convert(pa.array([value], pa.month_day_nano_interval()), pa.duration("us"))


def test_days_are_those_of_the_columns_zone() -> None:
    instants = array_of([1_704_067_200_000_000], LOCAL)
    assert convert(instants, pa.date32()).to_pylist() == [dt.date(2023, 12, 31)]
    assert convert(instants, pa.time64("us")).to_pylist() == [dt.time(19)]
    assert convert(instants, pa.timestamp("us")).to_pylist() == [dt.datetime(2024, 1, 1)]
    assert convert(instants, pa.string()).to_pylist() == ["2024-01-01 00:00:00+00"]


def test_times_are_no_numbers_for_sql() -> None:
    for source, target in ((pa.timestamp("us"), pa.int64()), (pa.int32(), pa.date32()), (pa.duration("s"), pa.int64())):
        assert plain_values(convert(array_of([7], source), target)) == [7]
        with pytest.raises(pa.ArrowNotImplementedError):
            convert(array_of([7], source), target, as_sql=True)


NESTED: Final = (
    pa.list_(pa.int32()),
    pa.large_list(pa.float64()),
    pa.list_(pa.int64(), 2),
    pa.struct([("a", pa.int16()), ("b", pa.list_(pa.int8()))]),
    pa.map_(pa.string(), pa.int32()),
)
WIDER: Final = (
    pa.large_list(pa.int64()),
    pa.list_(pa.decimal128(20, 2)),
    pa.list_(pa.float32(), 2),
    pa.struct([("b", pa.large_list(pa.float64())), ("a", pa.decimal128(10, 1)), ("c", pa.string())]),
    pa.map_(pa.large_string(), pa.float64()),
)


def _nested_values(type: pa.DataType) -> st.SearchStrategy[Any]:
    small = st.one_of(st.none(), st.integers(-100, 100))
    if pa.types.is_map(type):
        return st.dictionaries(st.text(max_size=2), small, max_size=3).map(lambda each: list(each.items()))
    if pa.types.is_struct(type):
        return st.fixed_dictionaries({"a": small, "b": st.one_of(st.none(), st.lists(small, max_size=3))})
    if pa.types.is_fixed_size_list(type):
        return st.lists(small, min_size=2, max_size=2)
    return st.lists(small, max_size=3)


@pytest.mark.parametrize(("source", "target"), list(zip(NESTED, WIDER, strict=True)), ids=str)
@given(data=st.data())
@settings(max_examples=30)
def test_members_are_converted_inside(source: pa.DataType, target: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), _nested_values(source)), max_size=6))
    start = data.draw(st.integers(0, len(values)))
    found = convert(pa.array(values, source).slice(start), target)
    found.validate(full=True)
    assert found.type == target
    assert found.equals(pa.array(values[start:], target))


def test_floats_may_be_refused_rather_than_rounded() -> None:
    nan = pa.array([[math.nan, 1.5, None, math.inf]], pa.list_(pa.float32()))
    assert convert(nan, pa.list_(pa.float16()), exact=True).cast(nan.type).cast(pa.list_(pa.string())).to_pylist() == [
        ["nan", "1.5", None, "inf"]
    ]
    halves = pa.array([1.5, None, math.inf], pa.float16())
    assert convert(halves, pa.float32(), exact=True).to_pylist() == [1.5, None, math.inf]
    for value in (0.1, 1e6):
        with pytest.raises(pa.ArrowInvalid, match=r"more digits|too large"):
            convert(pa.array([value], pa.float32()), pa.float16(), exact=True)


def test_members_that_the_target_does_not_have_are_refused() -> None:
    structs = pa.array([{"a": 1, "z": 2}])
    with pytest.raises(pa.ArrowInvalid, match="no member 'z'"):
        convert(structs, pa.struct([("a", pa.int64())]))
    with pytest.raises(pa.ArrowInvalid, match="may not be NULL"):
        convert(structs, pa.struct([("a", pa.int64()), ("z", pa.int64()), pa.field("m", pa.int8(), nullable=False)]))
    with pytest.raises(pa.ArrowInvalid, match="other than 2 items"):
        convert(pa.array([[1, 2], [1]]), pa.list_(pa.int64(), 2))
    with pytest.raises(pa.ArrowNotImplementedError):
        convert(structs, pa.int64())


def test_dictionaries_keep_their_items_where_they_can() -> None:
    words = pa.array(["b", "a", None, "b"]).dictionary_encode()
    short = convert(words, pa.dictionary(pa.int8(), pa.large_string()))
    assert short.type == pa.dictionary(pa.int8(), pa.large_string())
    assert short.to_pylist() == ["b", "a", None, "b"]
    numbers = convert(words, pa.string())
    assert numbers.to_pylist() == ["b", "a", None, "b"]
    with pytest.raises(pa.ArrowInvalid):
        convert(pa.array(range(300)), pa.dictionary(pa.int8(), pa.int64()))
