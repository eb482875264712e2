"""Values that Python compares exactly: values that its own types round, confuse or cannot hold become numbers.

timestamp, time, duration, date    the numbers that Arrow stores; a datetime of Python ignores which of two repeated
                                   hours it is in, has no nanoseconds, and ends with the year 9999
half floats                        floats
dictionaries, extension types      their values
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lance_sql.values import value_text


def comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Converts a column so that values are equal in Python if and only if they are equal in Arrow."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    type = comparable_type(column.type)
    return column if column.type == type else column.cast(type)


def comparable_type(type: pa.DataType) -> pa.DataType:
    """Returns the type in which values are compared."""
    if (
        pa.types.is_timestamp(type)
        or pa.types.is_duration(type)
        or pa.types.is_time64(type)
        or pa.types.is_date64(type)
    ):
        return pa.int64()
    if pa.types.is_time32(type) or pa.types.is_date32(type):
        return pa.int32()
    if pa.types.is_float16(type):
        return pa.float32()
    if pa.types.is_dictionary(type):
        return comparable_type(type.value_type)
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(comparable_type(field.type)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(
            type.key_field.with_type(comparable_type(type.key_type)),
            type.item_field.with_type(comparable_type(type.item_type)),
        )
    if pa.types.is_fixed_size_list(type):
        return pa.list_(type.value_field.with_type(comparable_type(type.value_type)), type.list_size)
    if pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(comparable_type(type.value_type)))
    if pa.types.is_large_list(type):
        return pa.large_list(type.value_field.with_type(comparable_type(type.value_type)))
    return type


def hashable(value: Any) -> Hashable:
    """Converts a value of `comparable` to a key of dicts: NaN equals itself, -0.0 equals 0.0, and TRUE is not 1."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, bool):
        # which equals 0 or 1 in Python
        return (bool, value)
    if isinstance(value, list | tuple):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple((name, hashable(each)) for name, each in value.items())
    key: Hashable = value
    return key


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """Returns the values as Python objects, for people; values that Python cannot hold as text."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [value for chunk in column.chunks for value in value_text.values(chunk)]


def same_in_python(actual: Any, expected: Any) -> bool:
    """Whether a value of Arrow equals a value in Python: 1 is neither True nor 1.0, NaN equals NaN, and a time with a
    zone is the same moment in any zone."""
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        return len(actual) == len(expected) and all(map(same_in_python, actual, expected))
    if isinstance(actual, dict) and isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(same_in_python(actual[name], expected[name]) for name in actual)
    if isinstance(actual, float) and isinstance(expected, float):
        return actual == expected or (math.isnan(actual) and math.isnan(expected))
    if _number_kind(actual) != _number_kind(expected) and not isinstance(actual, Decimal):
        return False
    if isinstance(actual, datetime) and isinstance(expected, datetime) and actual.tzinfo and expected.tzinfo:
        return actual.astimezone(UTC) == expected.astimezone(UTC)
    return bool(actual == expected)


def _number_kind(value: Any) -> type | None:
    return next((kind for kind in (bool, int, float) if isinstance(value, kind)), None)
