"""Comparisons of arrays in SQL's order.

Arrow's own kernels follow IEEE (NaN is unordered), do not support float16, and their set lookup distinguishes -0.0
from 0.0. This module handles the differences.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.format.casts import rounding
from lance_sql.values import kinds

from .build import MIRRORED
from .constants import plain_type
from .tree import Value

_KERNELS: Final = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_TEXT_KINDS: Final = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def plain(array: pa.Array) -> pa.Array:
    """Converts the array to a type of the kernels; values do not change, text keeps the width of its offsets."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.type in _TEXT_KINDS:
        return array
    target = plain_type(array.type)
    return array if array.type == target else array.cast(target)


def scalar(value: Value, type: pa.DataType) -> pa.Scalar:
    """Converts a tree's value to a scalar of a plain type."""
    return values([value], type)[0]


def values(items: list[Value], type: pa.DataType) -> pa.Array:
    """Converts the tree's values to an array of a plain type."""
    if pa.types.is_temporal(type):
        storage = pa.int32() if type.bit_width == 32 else pa.int64()
        return pa.array(items, storage).view(type)
    return pa.array(items, type)


def compare_value(op: str, array: pa.Array, value: Value) -> pa.BooleanArray:
    """Computes `array op value`, NULL where the array is."""
    if isinstance(value, float):
        return _compare_float(op, array, value)
    return pc.call_function(_KERNELS[op], [array, scalar(value, array.type)])


def _compare_float(op: str, array: pa.Array, value: float) -> pa.BooleanArray:
    nan = pc.is_nan
    if value == value:
        base = pc.call_function(_KERNELS[op], [array, scalar(value, array.type)])
        return pc.or_(base, nan(array)) if op in (">", ">=") else base
    match op:
        case "=" | ">=":
            return nan(array)
        case "<" | "<>":
            return pc.invert(nan(array))
    # Nothing is above NaN, everything is at most NaN; NULL stays NULL.
    known = pc.is_valid(array)
    return pc.if_else(known, op == "<=", pa.scalar(None, pa.bool_()))


def compare_arrays(op: str, left: pa.Array, right: pa.Array) -> pa.BooleanArray:
    """Computes `left op right` row by row, NULL where either is."""
    if op in (">", ">="):
        return compare_arrays(MIRRORED[op], right, left)
    left, right = _common(left, right)
    base = pc.call_function(_KERNELS[op], [left, right])
    if not pa.types.is_floating(left.type):
        return base
    left_nan, right_nan = pc.is_nan(left), pc.is_nan(right)
    match op:
        case "=":
            return pc.or_(base, pc.and_(left_nan, right_nan))
        case "<>":
            return pc.and_(base, pc.invert(pc.and_(left_nan, right_nan)))
        case "<":
            return pc.or_(base, pc.and_(pc.invert(left_nan), right_nan))
        case _:
            return pc.or_(base, right_nan)


def is_member(array: pa.Array, items: tuple[Value, ...], has_null: bool) -> pa.BooleanArray:
    """Computes `array IN (items)`: NULL for NULL, and NULL instead of false if the list contained a NULL."""
    floating = pa.types.is_floating(array.type)
    listed = [item for item in items if item == item]
    if floating and 0.0 in listed:
        listed += [0.0, -0.0]
    is_in = pc.is_in(array, value_set=values(listed, array.type))
    if any(item != item for item in items):
        is_in = pc.or_(is_in, pc.fill_null(pc.is_nan(array), False))
    unknown = pa.scalar(None, pa.bool_())
    if has_null:
        return pc.if_else(is_in, True, unknown)
    return pc.if_else(pc.is_valid(array), is_in, unknown) if array.null_count else is_in


def _common(left: pa.Array, right: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Casts both to one type that represents all values of both."""
    if left.type == right.type:
        return left, right
    types = left.type, right.type
    if all(map(kinds.is_text, types)):
        return left.cast(pa.large_string()), right.cast(pa.large_string())
    if all(map(kinds.is_bytes, types)):
        return left.cast(pa.large_binary()), right.cast(pa.large_binary())
    if any(map(pa.types.is_floating, types)):
        target = _float(*types)
        return to_float(left, target), to_float(right, target)
    if any(map(pa.types.is_decimal, types)) or any(map(pa.types.is_uint64, types)):
        target = _decimal(*map(_as_decimal, types))
        return _to_decimal(left, target), _to_decimal(right, target)
    if all(map(pa.types.is_integer, types)):
        return left.cast(pa.int64()), right.cast(pa.int64())
    return _exact_times(left), _exact_times(right)


def to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts numbers to the nearest ones of a floating-point type."""
    return rounding.cast_decimals(array, target) if pa.types.is_decimal(array.type) else array.cast(target, safe=False)


def _float(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Returns the type by SQL's rule: a float with an integer stays a float, with a double it becomes one."""
    doubles = pa.types.is_float64(left) or pa.types.is_float64(right)
    return pa.float64() if doubles else pa.float32()


def _as_decimal(type: pa.DataType) -> pa.DataType:
    return type if pa.types.is_decimal(type) else pa.decimal128(20, 0)


def _decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(min(digits, 76), scale)


def _to_decimal(array: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type) and pa.types.is_decimal256(target):
        array = array.cast(pa.decimal128(20, 0))
    return array.cast(target)


def _exact_times(array: pa.Array) -> pa.Array:
    """Converts dates, times, timestamps or durations of any unit to nanoseconds that cannot overflow."""
    type = array.type
    if pa.types.is_date32(type):
        number, factor = array.view(pa.int32()).cast(pa.int64()), 86_400 * 10**9
    else:
        storage = pa.int32() if type.bit_width == 32 else pa.int64()
        unit = "ms" if pa.types.is_date64(type) else type.unit
        number, factor = array.view(storage).cast(pa.int64()), kinds.NANOSECONDS[unit]
    # 19 digits of int64 and 14 of a day's nanoseconds stay below 38.
    product = pc.multiply(number.cast(pa.decimal128(19, 0)), pa.scalar(Decimal(factor), pa.decimal128(14, 0)))
    return product.cast(pa.decimal128(38, 0))


def take_answers(answers: pa.BooleanArray, indices: pa.Array, for_null: bool | None) -> pa.BooleanArray:
    """Takes the answers of dictionary values for each row; rows without an index get the answer for NULL."""
    taken = pc.take(answers, indices)
    if for_null is None or not indices.null_count:
        return taken
    return pc.if_else(pc.is_null(indices), for_null, taken)


def constant(value: bool | None, num_rows: int) -> pa.BooleanArray:
    """Returns one answer for all rows."""
    if value is None:
        return pa.nulls(num_rows, pa.bool_())
    bits = np.full((num_rows + 7) // 8, 255 if value else 0, np.uint8)
    return pa.BooleanArray.from_buffers(pa.bool_(), num_rows, [None, pa.py_buffer(bits)])
