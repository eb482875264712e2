"""Values as exact text and JSON. Arrow formats values without an exact Python type."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pyarrow as pa

from lance_sql.values import kinds

# the time to the second, its fraction, the zone
_MOMENT = re.compile(r"(.*\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d{4})?")


def values(column: pa.Array) -> list[Any]:
    """Returns the values of a column as Python objects. Arrow casts values without an exact Python type to text."""
    if pa.types.is_duration(column.type):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
        return [value and _moment(value) for value in column.cast(pa.string()).to_pylist()]
    try:
        return list(_cast(column, _without_nanoseconds(column.type)).to_pylist())
    except OverflowError:
        # a day after the year 9999
        return list(_cast(column, kinds.with_leaves(column.type, _time_as_text)).to_pylist())


def _cast(column: pa.Array, type: pa.DataType) -> pa.Array:
    return column if type == column.type else column.cast(type)


def _without_nanoseconds(type: pa.DataType) -> pa.DataType:
    """Replaces nested types of times in nanoseconds by text and numbers, because Python values would need pandas."""
    return kinds.with_leaves(type, lambda leaf: _time_as_text(leaf) if getattr(leaf, "unit", None) == "ns" else leaf)


def _time_as_text(type: pa.DataType) -> pa.DataType:
    if pa.types.is_duration(type):
        return pa.int64()
    return pa.string() if kinds.is_clock(type) else type


def _moment(written: str) -> str:
    """Formats a time that Arrow has written: without trailing zeros in its fraction, and with an ISO 8601 zone."""
    match = _MOMENT.fullmatch(written)
    if match is None:
        return written
    whole, fraction, zone = match.groups(default="")
    digits = fraction.rstrip("0")
    offset = "Z" if zone in ("Z", "+0000") else f"{zone[:3]}:{zone[3:]}" if zone else ""
    return whole + (f".{digits}" if digits else "") + offset


def _interval(value: Any) -> str:
    """Formats an interval like DuckDB."""
    years = int(value.months / 12)
    numbers = {"year": years, "month": value.months - 12 * years, "day": value.days}
    parts = [f"{number} {unit}{'' if abs(number) == 1 else 's'}" for unit, number in numbers.items() if number]
    if value.nanoseconds or not parts:
        seconds, fraction = divmod(abs(value.nanoseconds), 10**9)
        digits = f"{fraction:09}".rstrip("0")
        time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (f".{digits}" if digits else "")
        parts.append(f"-{time}" if value.nanoseconds < 0 else time)
    return " ".join(parts)


def text(value: Any) -> str:
    """Formats a value that is not NULL as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return "".join(f"\\x{byte:02X}" for byte in value)
    if isinstance(value, pa.MonthDayNano):
        return _interval(value)
    if isinstance(value, (list, dict)):
        return json.dumps(as_json(value), ensure_ascii=False)
    return str(value)


def as_json(value: Any) -> Any:
    """Converts a value to JSON's types. Values that JSON cannot represent become text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): as_json(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, pa.MonthDayNano):
        return [as_json(member) for member in value]
    return text(value)
