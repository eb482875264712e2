"""Constants of filters, and the plain types in which they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.values import kinds
from lance_sql.values.sql_text import literal

from .tree import Value


@dataclass(frozen=True, slots=True)
class Day:
    """A date: days since 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class Instant:
    """A timestamp: nanoseconds since 1970-01-01. Without a zone, it is UTC."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """A time: nanoseconds since midnight."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Span:
    """A duration in nanoseconds."""

    nanoseconds: int


Constant: TypeAlias = bool | int | float | np.float32 | Decimal | str | bytes | Day | Instant | TimeOfDay | Span | None
"""A float is a double, an np.float32 a single: SQL compares them differently."""


# More than the digits of every number type, so that a hostile exponent costs no memory.
MAX_EXPONENT: Final = 400


@lru_cache(maxsize=1024)
def plain_type(type: pa.DataType) -> pa.DataType:
    """Returns the type of a column's values in comparisons: no dictionary, extension, half or short width."""
    type = kinds.decoded(type)
    if pa.types.is_float16(type):
        return pa.float32()
    return pa.large_binary() if kinds.is_bytes(type) else kinds.wide(type)


def from_scalar(scalar: pa.Scalar) -> Constant:
    """Converts an Arrow scalar to a constant, exactly.

    raises: UnsupportedFeature for types without filter constants
    """
    if not scalar.is_valid:
        return None
    type = scalar.type
    if isinstance(type, pa.BaseExtensionType):
        return from_scalar(scalar.value)
    if pa.types.is_dictionary(type):
        return from_scalar(scalar.dictionary[scalar.index.as_py()])
    if kinds.is_clock(type):
        return from_stored(scalar.value, type)
    value = scalar.as_py()
    if pa.types.is_floating(type) and type.bit_width < 64:
        return np.float32(value)
    if isinstance(value, (bool, int, float, Decimal, str, bytes)):
        return value
    raise UnsupportedFeature(f"A filter cannot compare with a constant of type {type}")


def from_array(values: pa.Array | pa.ChunkedArray) -> list[Constant]:
    """Converts the values of an array to constants; see `from_scalar`."""
    if pa.types.is_integer(values.type):
        # thousands of keys, for example, are converted to Python values together
        integers: list[Constant] = values.to_pylist()
        return integers
    return [from_scalar(scalar) for scalar in values]


def from_stored(value: Value, type: pa.DataType) -> Constant:
    """Converts a value of `type`, as represented in the tree, to a constant."""
    if pa.types.is_float32(type):
        return np.float32(value)
    if not kinds.is_clock(type):
        return value
    number = int(value)
    if pa.types.is_date32(type):
        return Day(number)
    nanoseconds = number * unit_nanoseconds(type)
    if pa.types.is_time(type):
        return TimeOfDay(nanoseconds)
    return Span(nanoseconds) if pa.types.is_duration(type) else Instant(nanoseconds)


def unit_nanoseconds(type: pa.DataType) -> int:
    """Returns the length of a unit of a date, time, timestamp or duration type."""
    if pa.types.is_date32(type):
        return kinds.NANOSECONDS_PER_DAY
    return kinds.NANOSECONDS["ms" if pa.types.is_date64(type) else type.unit]


def text(constant: Constant) -> str:
    """Formats the constant for messages."""
    match constant:
        case None:
            return "NULL"
        case str():
            return literal(constant)
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
