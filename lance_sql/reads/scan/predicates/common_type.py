"""Common type in which SQL compares operands of several types, if it rounds values of one to it.

DuckDB finds one type for all operands of a comparison, a list or a BETWEEN. With a double everything becomes a
double, else with a float everything becomes a float. Integers and decimals are compared exactly. Text is parsed as
the common type of the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np
import pyarrow as pa

from lance_sql.values import kinds

from .constants import Constant, Day, Instant, TimeOfDay, plain_type


def common_type(types: Iterable[pa.DataType]) -> pa.DataType | None:
    """Returns the common plain type of the types; None without one.

    Integers of any width have int64, decimals the largest scale and any width.
    """
    plain = [plain_type(type) for type in types]
    if not plain:
        return None
    if all(kinds.is_number(type) for type in plain):
        return _number(plain)
    if all(kinds.has_date(type) for type in plain):
        return _moment(plain)
    if all(map(pa.types.is_time, plain)):
        return pa.time64("ns" if any(type.unit == "ns" for type in plain) else "us")
    # text beside text or bytes is parsed in the type of each column
    is_read = not kinds.is_text(plain[0]) and not kinds.is_bytes(plain[0])
    return plain[0] if is_read and all(type == plain[0] for type in plain) else None


def type_of(constant: Constant) -> pa.DataType | None:
    """Returns the type of a constant; None for NULL and for text, which take any."""
    if isinstance(constant, np.float32):
        return pa.float32()
    match constant:
        case bool():
            return pa.bool_()
        case int():
            return pa.int64()
        case float():
            return pa.float64()
        case Decimal():
            exponent = constant.as_tuple().exponent
            scale = -exponent if isinstance(exponent, int) else 0
            return pa.decimal256(76, min(max(scale, 0), 76))
        case bytes():
            return pa.large_binary()
        case Day():
            return pa.date32()
        case Instant(nanoseconds):
            return pa.timestamp("us" if nanoseconds % 1000 == 0 else "ns")
        case TimeOfDay(nanoseconds):
            return pa.time64("us" if nanoseconds % 1000 == 0 else "ns")
    return None


def _number(types: list[pa.DataType]) -> pa.DataType:
    if any(map(pa.types.is_float64, types)):
        return pa.float64()
    if any(map(pa.types.is_floating, types)):
        return pa.float32()
    scales = [type.scale for type in types if pa.types.is_decimal(type)]
    return pa.decimal256(76, max(scales)) if scales else pa.int64()


def _moment(types: list[pa.DataType]) -> pa.DataType:
    stamps = [type for type in types if pa.types.is_timestamp(type)]
    if not stamps:
        return types[0]
    unit = max((type.unit for type in stamps), key=kinds.UNITS.index)
    return pa.timestamp(unit, "UTC" if any(type.tz is not None for type in stamps) else None)
