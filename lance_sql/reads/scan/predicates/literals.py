"""Parsing of SQL literals to constants of a type."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from lance_sql.values import kinds

from . import timestamps
from .constants import (
    MAX_EXPONENT,
    Constant,
    Day,
    Instant,
    TimeOfDay,
    plain_type,
)

_BOOLEANS: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def parse(value: str, type: pa.DataType) -> Constant:
    """Parses text as a constant of the type's own kind; None for invalid text."""
    if pa.types.is_boolean(type):
        return _BOOLEANS.get(value.strip().lower())
    if pa.types.is_floating(type):
        return _parse_float(value, type)
    if pa.types.is_integer(type):
        return parse_decimal(value, 0)
    if pa.types.is_decimal(type):
        return parse_decimal(value, type.scale)
    if isinstance(type, pa.BaseExtensionType):
        return _parse_extension(value, type)
    if kinds.is_bytes(type):
        return _parse_bytes(value, type)
    if pa.types.is_date(type):
        nanoseconds = timestamps.parse_timestamp(value)
        return None if nanoseconds is None else Day(nanoseconds // kinds.NANOSECONDS_PER_DAY)
    if pa.types.is_timestamp(type):
        nanoseconds = timestamps.parse_timestamp(value)
        # text represents instants in microseconds, regardless of the column
        unit = type.unit if type.tz is None or type.unit == "ns" else "us"
        return None if nanoseconds is None else Instant(_to_unit(nanoseconds, unit))
    if pa.types.is_time(type):
        nanoseconds = timestamps.parse_time(value)
        # SQL times are in microseconds, regardless of the column
        return None if nanoseconds is None else TimeOfDay(_to_unit(nanoseconds, "ns" if type.unit == "ns" else "us"))
    return None


def _to_unit(nanoseconds: int, unit: str) -> int:
    """Rounds a time in text as SQL does: truncated to microseconds, then rounded to longer units."""
    if unit == "ns":
        return nanoseconds
    microseconds = nanoseconds // 1000
    length = kinds.NANOSECONDS[unit] // 1000
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
    """Parses a number, rounded half up to `scale` digits as a cast from text does."""
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT:
        return None
    return number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=4 * MAX_EXPONENT))


def _parse_extension(value: str, type: pa.BaseExtensionType) -> Constant:
    """Parses text as a value of an extension type. Of types over bytes, only UUIDs are supported."""
    if isinstance(type, pa.UuidType):
        try:
            return UUID(value.strip()).bytes
        except ValueError:
            return None
    return None if kinds.is_bytes(plain_type(type)) else parse(value, type.storage_type)


def _parse_bytes(value: str, type: pa.DataType) -> bytes | None:
    blob = parse_blob(value)
    if blob is not None and pa.types.is_fixed_size_binary(type) and len(blob) != type.byte_width:
        return None
    return blob


def parse_blob(value: str) -> bytes | None:
    r"""Parses a blob literal: ASCII text in which \xNN represents any byte."""
    if not value.isascii() or re.search(r"\\(?!x[0-9a-fA-F]{2})", value):
        return None
    return re.sub(rb"\\x([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), value.encode("ascii"))
