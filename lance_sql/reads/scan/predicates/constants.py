"""Constants as filters write them, and where they lie among the values of a column type.

A filter's constant rarely has the column's own type: `qty > 1.5`, `day = '2024-01-01'`, `small = 3000000000`.
`locate` finds the values of the column that stand where such a constant does, so that evaluation compares values of one
type. Beside a constant in floating point, integers and decimals become floats first, as SQL has it; then several of
them may equal the constant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.casts import rounding

from . import timestamps
from .tree import Value


@dataclass(frozen=True, slots=True)
class Day:
    """A date: days since 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class Instant:
    """A timestamp: nanoseconds since 1970-01-01. One without a zone is read as UTC."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """Nanoseconds since midnight."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Span:
    """A duration in nanoseconds."""

    nanoseconds: int


Constant: TypeAlias = bool | int | float | np.float32 | Decimal | str | bytes | Day | Instant | TimeOfDay | Span | None
"""A float is a double, an np.float32 a single: SQL compares with them in different ways."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a constant lies in a type: `floor` is the type's greatest value that is not above it.

    exact: the constant equals `floor`. A floor of None: every value of the type is above the constant.
    first: the least of several values that equal the constant, of which `floor` is the greatest; else None
    """

    floor: Value | None
    exact: bool
    first: Value | None = None


UNIT_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NANOSECONDS_PER_DAY: Final = 86_400 * 10**9
_BOOLEANS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def plain_type(type: pa.DataType) -> pa.DataType:
    """The type that a column's values have in comparisons: no dictionary, extension, half or short width."""
    if isinstance(type, pa.BaseExtensionType):
        return plain_type(type.storage_type)
    if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
        return plain_type(type.value_type)
    if pa.types.is_float16(type):
        return pa.float32()
    if is_text(type):
        return pa.large_string()
    if is_bytes(type):
        return pa.large_binary()
    if is_decimal(type) and type.bit_width < 128:
        return pa.decimal128(type.precision, type.scale)
    return type


def is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def is_bytes(type: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(type)
        or pa.types.is_large_binary(type)
        or pa.types.is_binary_view(type)
        or pa.types.is_fixed_size_binary(type)
    )


def is_decimal(type: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(type))


def locate(constant: Constant, column: pa.DataType) -> Position | None:
    """The constant's position among the plain values of a column's type; None when the two cannot be compared.

    Text takes the type's own form: '7' is a number beside a number, a date beside a date, 16 bytes beside a UUID.
    """
    type = plain_type(column)
    if isinstance(constant, str) and not is_text(type):
        parsed = parse(constant, column)
        return None if parsed is None else locate(parsed, type)
    if pa.types.is_boolean(type):
        return Position(constant, True) if isinstance(constant, bool) else None
    if isinstance(constant, (int, float, np.float32, Decimal)) and not isinstance(constant, bool):
        return _locate_number(constant, type)
    if is_text(type):
        return _locate_text(constant)
    if is_bytes(type):
        return Position(constant, True) if isinstance(constant, bytes) else None
    if _is_clock(type):
        return _locate_time(constant, type)
    return None


def to_float(number: int | float | np.float32 | Decimal, type: pa.DataType) -> float | np.float32:
    """A number as SQL casts it to a floating-point type."""
    kind = np.float32 if type.bit_width == 32 else np.float64
    with np.errstate(over="ignore"):
        rounded = rounding.nearest(number, kind) if isinstance(number, (int, Decimal)) else kind(number)
    return rounded if isinstance(rounded, np.float32) else float(rounded)


def from_scalar(scalar: pa.Scalar) -> Constant:
    """An Arrow scalar as a constant, exactly.

    raises: UnsupportedFeature when filters have no constants of its type
    """
    if not scalar.is_valid:
        return None
    type = scalar.type
    if isinstance(type, pa.BaseExtensionType):
        return from_scalar(scalar.value)
    if pa.types.is_dictionary(type):
        return from_scalar(scalar.dictionary[scalar.index.as_py()])
    if _is_clock(type):
        return from_stored(scalar.value, type)
    value = scalar.as_py()
    if pa.types.is_floating(type) and type.bit_width < 64:
        return np.float32(value)
    if isinstance(value, (bool, int, float, Decimal, str, bytes)):
        return value
    raise UnsupportedFeature(f"A filter cannot compare with a constant of type {type}")


def from_array(values: pa.Array | pa.ChunkedArray) -> list[Constant]:
    """The scalars of an array as constants; see `from_scalar`."""
    if pa.types.is_integer(values.type):
        # thousands of keys, for example, which become Python values together
        integers: list[Constant] = values.to_pylist()
        return integers
    return [from_scalar(scalar) for scalar in values]


def integer_bounds(type: pa.DataType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    bits = type.bit_width
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if pa.types.is_signed_integer(type) else (0, (1 << bits) - 1)


def from_stored(value: Value, type: pa.DataType) -> Constant:
    """A value of `type`, held as the tree holds it, as a constant."""
    if pa.types.is_float32(type):
        return np.float32(value)
    if not _is_clock(type):
        return value
    number = int(value)
    if pa.types.is_date32(type):
        return Day(number)
    nanoseconds = number * _unit_nanoseconds(type)
    if pa.types.is_time(type):
        return TimeOfDay(nanoseconds)
    return Span(nanoseconds) if pa.types.is_duration(type) else Instant(nanoseconds)


def _is_clock(type: pa.DataType) -> bool:
    """Dates, times, timestamps and durations, which Arrow stores as one integer."""
    return bool(pa.types.is_temporal(type) and not pa.types.is_interval(type))


def _unit_nanoseconds(type: pa.DataType) -> int:
    if pa.types.is_date32(type):
        return _NANOSECONDS_PER_DAY
    return UNIT_NANOSECONDS["ms" if pa.types.is_date64(type) else type.unit]


def text(constant: Constant) -> str:
    """The constant as a message shows it."""
    match constant:
        case None:
            return "NULL"
        case str():
            return "'" + constant.replace("'", "''") + "'"
        case Day(days):
            return f"'{np.datetime64(days, 'D')}'"
        case Instant(nanoseconds):
            seconds, rest = divmod(nanoseconds, 10**9)
            fraction = f".{rest:09d}".rstrip("0") if rest else ""
            return f"'{str(np.datetime64(seconds, 's')).replace('T', ' ')}{fraction}'"
        case TimeOfDay(nanoseconds) | Span(nanoseconds):
            return f"{nanoseconds / 10**9:g} s"
    if isinstance(constant, np.float32):
        return f"{constant}::FLOAT"
    return str(constant)


def _locate_text(constant: Constant) -> Position | None:
    if not isinstance(constant, str):
        return None
    try:
        constant.encode()
    except UnicodeEncodeError:
        return None
    return Position(constant, True)


def _locate_number(number: int | float | np.float32 | Decimal, type: pa.DataType) -> Position | None:
    if pa.types.is_floating(type):
        return _locate_float(number, type)
    if pa.types.is_integer(type):
        return _locate_among(number, 0, *integer_bounds(type))
    if is_decimal(type):
        limit = 10**type.precision - 1
        position = _locate_among(number, type.scale, -limit, limit)
        floor, first = (
            None if value is None else _decimal(int(value), type.scale) for value in (position.floor, position.first)
        )
        return Position(floor, position.exact, first)
    return None


def _locate_among(number: int | float | np.float32 | Decimal, scale: int, low: int, high: int) -> Position:
    """The position of `number` among the integers low..high, each standing for itself / 10**scale."""
    if isinstance(number, int) and scale == 0 and low <= number <= high:
        return Position(number, True)
    if not math.isfinite(number):
        # NaN is greater than every number, infinity included.
        return Position(None, False) if number == -math.inf else Position(high, False)
    if isinstance(number, (float, np.float32)):
        return _locate_rounded(number, scale, low, high)
    if isinstance(number, Decimal) and number.adjusted() > _MAX_EXPONENT:
        return Position(high, False) if number > 0 else Position(None, False)
    if isinstance(number, Decimal) and number.adjusted() < -_MAX_EXPONENT:
        number = Decimal(0) if number == 0 else Decimal(1).copy_sign(number).scaleb(-_MAX_EXPONENT)
    scaled = Fraction(number) * Fraction(10) ** scale
    floor = math.floor(scaled)
    if floor < low:
        return Position(None, False)
    if floor > high:
        return Position(high, False)
    return Position(floor, floor == scaled)


def _locate_rounded(number: float | np.float32, scale: int, low: int, high: int) -> Position:
    """The position of a floating-point number, beside which each of the integers is rounded to its type."""
    kind = np.float32 if isinstance(number, np.float32) else np.float64
    guess = math.floor(Fraction(float(number)) * 10**scale)
    floor = _last(lambda value: bool(rounding.scaled(value, scale, kind) <= number), guess, low, high)
    below = _last(lambda value: bool(rounding.scaled(value, scale, kind) < number), guess, low, high)
    if floor is None:
        return Position(None, False)
    first = low if below is None else below + 1
    return Position(floor, first <= floor, None if first >= floor else first)


def _last(holds: Callable[[int], bool], guess: int, low: int, high: int) -> int | None:
    """The greatest of low..high for which `holds`, which is true up to some value and false above; None of none.

    guess: is near it
    """
    known, step = min(max(guess, low), high), 1
    if holds(known):
        while known < high and holds(min(known + step, high)):
            known, step = min(known + step, high), 2 * step
        start, end = known, min(known + step, high + 1)
    else:
        while known > low and not holds(max(known - step, low)):
            known, step = max(known - step, low), 2 * step
        if known == low:
            return None
        start, end = max(known - step, low), known
    while end - start > 1:
        middle = (start + end) // 2
        start, end = (middle, end) if holds(middle) else (start, middle)
    return start


# Beyond the digits of every number type, so that a hostile exponent costs no memory.
_MAX_EXPONENT: Final = 400


def _locate_float(number: int | float | np.float32 | Decimal, type: pa.DataType) -> Position:
    """Integers and decimals are rounded to the type, as SQL does; singles and doubles are compared as doubles."""
    kind = np.float32 if type.bit_width == 32 else np.float64
    if not isinstance(number, (float, np.float32)):
        return Position(float(rounding.nearest(number, kind)), True)
    double = float(number)
    if math.isnan(double) or math.isinf(double):
        return Position(double, True)
    with np.errstate(over="ignore"):
        rounded = float(kind(double))
    if rounded == double:
        return Position(rounded, True)
    if rounded > double:
        rounded = float(np.nextafter(kind(rounded), kind(-np.inf)))
    return Position(rounded, False)


def _decimal(unscaled: int, scale: int) -> Decimal:
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -scale))


def _locate_time(constant: Constant, type: pa.DataType) -> Position | None:
    match constant:
        case Day(days) if pa.types.is_date(type) or pa.types.is_timestamp(type):
            nanoseconds = days * _NANOSECONDS_PER_DAY
        case Instant(nanoseconds) if pa.types.is_date(type) or pa.types.is_timestamp(type):
            pass
        case TimeOfDay(nanoseconds) if pa.types.is_time(type):
            pass
        case Span(nanoseconds) if pa.types.is_duration(type):
            pass
        case _:
            return None
    floor, rest = divmod(nanoseconds, _unit_nanoseconds(type))
    limit = 1 << (type.bit_width - 1)
    if floor < -limit:
        return Position(None, False)
    if floor >= limit:
        return Position(limit - 1, False)
    return Position(floor, rest == 0)


def parse(value: str, type: pa.DataType) -> Constant:
    """Text as a constant of the type's own kind; None when it is not one."""
    if pa.types.is_boolean(type):
        return _BOOLEANS.get(value.strip().lower())
    if pa.types.is_floating(type):
        return _parse_float(value, type)
    if pa.types.is_integer(type):
        return parse_decimal(value, 0)
    if is_decimal(type):
        return parse_decimal(value, type.scale)
    if isinstance(type, pa.BaseExtensionType):
        return _parse_extension(value, type)
    if is_bytes(type):
        return _parse_bytes(value, type)
    if pa.types.is_date(type):
        nanoseconds = timestamps.parse_timestamp(value)
        return None if nanoseconds is None else Day(nanoseconds // _NANOSECONDS_PER_DAY)
    if pa.types.is_timestamp(type):
        nanoseconds = timestamps.parse_timestamp(value)
        # an instant in text is one of microseconds, whatever a column has
        unit = type.unit if type.tz is None or type.unit == "ns" else "us"
        return None if nanoseconds is None else Instant(_to_unit(nanoseconds, unit))
    if pa.types.is_time(type):
        nanoseconds = timestamps.parse_time(value)
        # SQL has times in microseconds, whatever a column has
        return None if nanoseconds is None else TimeOfDay(_to_unit(nanoseconds, "ns" if type.unit == "ns" else "us"))
    return None


def _to_unit(nanoseconds: int, unit: str) -> int:
    """A time in text as SQL reads it: cut after microseconds, and rounded to units that are longer."""
    if unit == "ns":
        return nanoseconds
    microseconds = nanoseconds // 1000
    length = UNIT_NANOSECONDS[unit] // 1000
    whole = (2 * abs(microseconds) + length) // (2 * length)
    return int(math.copysign(1, microseconds)) * whole * length * 1000


def _parse_float(value: str, type: pa.DataType) -> float | np.float32 | None:
    try:
        number = float(value)
    except ValueError:
        return None
    with np.errstate(over="ignore"):
        return number if type.bit_width == 64 else np.float32(number)


def parse_decimal(value: str, scale: int) -> Decimal | None:
    """The number in the text, rounded half up to `scale` digits as a cast from text does."""
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        return None
    return number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=4 * _MAX_EXPONENT))


def _parse_extension(value: str, type: pa.BaseExtensionType) -> Constant:
    """Text as a value of an extension type. Of types over bytes, only the text of UUIDs is known."""
    if isinstance(type, pa.UuidType):
        try:
            return UUID(value.strip()).bytes
        except ValueError:
            return None
    return None if is_bytes(plain_type(type)) else parse(value, type.storage_type)


def _parse_bytes(value: str, type: pa.DataType) -> bytes | None:
    blob = parse_blob(value)
    if blob is not None and pa.types.is_fixed_size_binary(type) and len(blob) != type.byte_width:
        return None
    return blob


def parse_blob(value: str) -> bytes | None:
    r"""The bytes of a blob literal: ASCII text in which \xNN stands for any byte."""
    if not value.isascii() or re.search(r"\\(?!x[0-9a-fA-F]{2})", value):
        return None
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), value.encode("ascii"))
