"""Position of a constant among the values of a column type.

The constant of a filter rarely has the column's own type: `qty > 1.5`, `day = '2024-01-01'`, `small = 3000000000`.
`locate` finds the values of the column next to such a constant, so that evaluation compares values of one type. For
a floating-point constant, integers and decimals become floats first, as in SQL. Several of them may then equal the
constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

from lance_sql.format.casts import rounding
from lance_sql.values import kinds

from . import literals
from .constants import (
    MAX_EXPONENT,
    Constant,
    Day,
    Instant,
    Span,
    TimeOfDay,
    plain_type,
    unit_nanoseconds,
)
from .tree import Value


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a constant in a type: `floor` is the type's greatest value that is not above it.

    exact: the constant equals `floor`. A floor of None: every value of the type is above the constant.
    first: the least of several values that equal the constant, of which `floor` is the greatest; else None
    """

    floor: Value | None
    exact: bool
    first: Value | None = None


def locate(constant: Constant, column: pa.DataType) -> Position | None:
    """Returns the constant's position among the plain values of a column's type; None if the two cannot be compared.

    Text is parsed in the type's own form: as a number for a number, a date for a date, 16 bytes for a UUID.
    """
    type = plain_type(column)
    if isinstance(constant, str) and not kinds.is_text(type):
        parsed = literals.parse(constant, column)
        return None if parsed is None else locate(parsed, type)
    if pa.types.is_boolean(type):
        return Position(constant, True) if isinstance(constant, bool) else None
    if isinstance(constant, (int, float, np.float32, Decimal)) and not isinstance(constant, bool):
        return _locate_number(constant, type)
    if kinds.is_text(type):
        return _locate_text(constant)
    if kinds.is_bytes(type):
        return Position(constant, True) if isinstance(constant, bytes) else None
    if kinds.is_clock(type):
        return _locate_time(constant, type)
    return None


def to_float(number: int | float | np.float32 | Decimal, type: pa.DataType) -> float | np.float32:
    """Casts a number to a floating-point type, as in SQL."""
    kind = np.float32 if type.bit_width == 32 else np.float64
    with np.errstate(over="ignore"):
        rounded = rounding.nearest(number, kind) if isinstance(number, (int, Decimal)) else kind(number)
    return rounded if isinstance(rounded, np.float32) else float(rounded)


def integer_bounds(type: pa.DataType) -> tuple[int, int]:
    """Returns the least and the greatest value of an integer type."""
    bits = type.bit_width
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if pa.types.is_signed_integer(type) else (0, (1 << bits) - 1)


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
    if pa.types.is_decimal(type):
        limit = 10**type.precision - 1
        position = _locate_among(number, type.scale, -limit, limit)
        floor, first = (
            None if value is None else _decimal(int(value), type.scale) for value in (position.floor, position.first)
        )
        return Position(floor, position.exact, first)
    return None


def _locate_among(number: int | float | np.float32 | Decimal, scale: int, low: int, high: int) -> Position:
    """Returns the position of `number` among the integers low..high, each representing itself / 10**scale."""
    if isinstance(number, int) and scale == 0 and low <= number <= high:
        return Position(number, True)
    if not math.isfinite(number):
        # NaN is greater than every number, infinity included.
        return Position(None, False) if number == -math.inf else Position(high, False)
    if isinstance(number, (float, np.float32)):
        return _locate_rounded(number, scale, low, high)
    if isinstance(number, Decimal) and number.adjusted() > MAX_EXPONENT:
        return Position(high, False) if number > 0 else Position(None, False)
    if isinstance(number, Decimal) and number.adjusted() < -MAX_EXPONENT:
        number = Decimal(0) if number == 0 else Decimal(1).copy_sign(number).scaleb(-MAX_EXPONENT)
    scaled = Fraction(number) * Fraction(10) ** scale
    floor = math.floor(scaled)
    if floor < low:
        return Position(None, False)
    if floor > high:
        return Position(high, False)
    return Position(floor, floor == scaled)


def _locate_rounded(number: float | np.float32, scale: int, low: int, high: int) -> Position:
    """Returns the position of a floating-point number, to whose type each of the integers is rounded."""
    kind = np.float32 if isinstance(number, np.float32) else np.float64
    guess = math.floor(Fraction(float(number)) * 10**scale)
    floor = _last(lambda value: bool(rounding.scaled(value, scale, kind) <= number), guess, low, high)
    below = _last(lambda value: bool(rounding.scaled(value, scale, kind) < number), guess, low, high)
    if floor is None:
        return Position(None, False)
    first = low if below is None else below + 1
    return Position(floor, first <= floor, None if first >= floor else first)


def _last(holds: Callable[[int], bool], guess: int, low: int, high: int) -> int | None:
    """Returns the greatest of low..high for which `holds`, which is true up to some value and false above; None if
    never true.

    guess: a value near it
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


def _locate_float(number: int | float | np.float32 | Decimal, type: pa.DataType) -> Position:
    """Locates a number in a floating-point type. Integers and decimals are rounded to it; floats compare as
    doubles."""
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
        case Day(days) if kinds.has_date(type):
            nanoseconds = days * kinds.NANOSECONDS_PER_DAY
        case Instant(nanoseconds) if kinds.has_date(type):
            pass
        case TimeOfDay(nanoseconds) if pa.types.is_time(type):
            pass
        case Span(nanoseconds) if pa.types.is_duration(type):
            pass
        case _:
            return None
    floor, rest = divmod(nanoseconds, unit_nanoseconds(type))
    limit = 1 << (type.bit_width - 1)
    if floor < -limit:
        return Position(None, False)
    if floor >= limit:
        return Position(limit - 1, False)
    return Position(floor, rest == 0)
