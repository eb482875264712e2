"""Values of Arrow as Python objects, and their equality with values in a test."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lance_sql.values import value_text


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
