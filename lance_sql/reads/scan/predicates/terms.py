"""Functions of columns in filters: arguments, result types, and evaluation by Arrow.

The table is closed: it contains only functions that Arrow computes exactly as SQL defines them. Integers are
computed as int64 with an overflow check. uint64 keeps its type, or becomes a wide decimal if it may turn negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from lance_sql.values import kinds

from . import integer_division
from .constants import plain_type
from .function import Function, Types
from .json_functions import JSON_FUNCTIONS
from .list_functions import LIST_FUNCTIONS
from .text_functions import TEXT_FUNCTIONS

_WIDE: Final = pa.decimal128(38, 0)
_INT64: Final = pa.int64()
_MOST_DIGITS: Final = 38


def result_type(function: str, types: Types) -> pa.DataType | None:
    """Returns the type of the result; None for an unknown function, or for unsupported arguments."""
    entry = FUNCTIONS.get(function)
    return None if entry is None else entry.result([plain_type(type) for type in types])


def castable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether CAST returns the value or the nearest number, or fails, for every value as SQL defines it."""
    source = plain_type(source)
    if source == plain_type(target):
        return True
    if pa.types.is_integer(source):
        return bool(
            pa.types.is_integer(target)
            or pa.types.is_float32(target)
            or pa.types.is_float64(target)
            or (pa.types.is_decimal(target) and target.precision - target.scale >= 20)
            or kinds.is_text(target)
        )
    if pa.types.is_date32(source):
        return bool(pa.types.is_timestamp(target))
    if pa.types.is_timestamp(source):
        finer = pa.types.is_timestamp(target) and kinds.UNITS.index(target.unit) >= kinds.UNITS.index(source.unit)
        return bool(pa.types.is_date32(target) or finer)
    if pa.types.is_decimal(source):
        return bool(pa.types.is_float32(target) or pa.types.is_float64(target))
    return bool(pa.types.is_float32(source) and pa.types.is_float64(target))


def _integers(types: Types) -> pa.DataType | None:
    if not all(pa.types.is_integer(type) for type in types):
        return None
    return _WIDE if any(pa.types.is_uint64(type) for type in types) else _INT64


def _decimals(types: Types) -> tuple[int, int] | None:
    """Returns the maximum digits before and after the point, if all are decimals."""
    if not all(pa.types.is_decimal128(type) for type in types):
        return None
    return max(type.precision - type.scale for type in types), max(type.scale for type in types)


def _decimal(before: int, behind: int) -> pa.DataType | None:
    return pa.decimal128(before + behind, behind) if behind >= 0 and before + behind <= _MOST_DIGITS else None


def _sum(types: Types) -> pa.DataType | None:
    digits = _decimals(types)
    if digits is not None:
        return _decimal(digits[0] + 1, digits[1])
    return pa.float64() if all(map(pa.types.is_float64, types)) else _integers(types)


def _same_sign(types: Types) -> pa.DataType | None:
    """Returns the result type of functions that keep the number or negate it."""
    if pa.types.is_decimal128(types[0]):
        return types[0]
    type = _sum(types)
    return None if type == _WIDE else type


def _product(types: Types) -> pa.DataType | None:
    if _decimals(types) is not None:
        # Arrow's result type of a product has one digit more than required
        return _decimal(sum(type.precision - type.scale for type in types) + 1, sum(type.scale for type in types))
    type = _sum(types)
    return None if type == _WIDE else type


def _quotient(types: Types) -> pa.DataType | None:
    if not all(pa.types.is_integer(type) for type in types):
        return None
    unsigned = pa.types.is_uint64(types[0])
    return None if unsigned != pa.types.is_uint64(types[1]) else types[0] if unsigned else _INT64


def _text_to(result: pa.DataType) -> Callable[[Types], pa.DataType | None]:
    return lambda types: result if kinds.is_text(types[0]) else None


def _bytes_to_int(types: Types) -> pa.DataType | None:
    return _INT64 if kinds.is_text(types[0]) or kinds.is_bytes(types[0]) else None


def _calendar_part(types: Types) -> pa.DataType | None:
    return _INT64 if pa.types.is_date32(types[0]) or _is_naive(types[0]) else None


def _clock_part(types: Types) -> pa.DataType | None:
    return _INT64 if _is_naive(types[0]) else None


def _truncated(types: Types) -> pa.DataType | None:
    """Returns a timestamp of microseconds for any argument, as in DuckDB: text compared with it is parsed as one."""
    return pa.timestamp("us") if _is_naive(types[0]) else None


def _is_naive(type: pa.DataType) -> bool:
    """Whether a type is a timestamp without a zone: engines disagree on the calendar of one with a zone."""
    return bool(pa.types.is_timestamp(type) and type.tz is None)


def _alike(types: Types) -> pa.DataType | None:
    return types[0] if all(type == types[0] for type in types) else None


def _arithmetic(name: str) -> Callable[..., pa.Array]:
    def evaluate(result: pa.DataType, *arguments: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        if pa.types.is_decimal128(arguments[0].type):
            return pc.call_function(name, list(arguments)).cast(result)
        wide = result == _WIDE
        # 20 digits hold every uint64, and leave room for the sum.
        inner = pa.decimal128(20, 0) if wide else result
        computed = pc.call_function(
            name if wide or pa.types.is_floating(result) else f"{name}_checked",
            [argument.cast(inner) for argument in arguments],
        )
        return computed.cast(result)

    return evaluate


def _floor_divide(result: pa.DataType, left: pa.Array, right: pa.Array) -> pa.Array:
    return integer_division.quotient(left.cast(result), right.cast(result))


def _modulo(result: pa.DataType, left: pa.Array, right: pa.Array) -> pa.Array:
    return integer_division.rest(left.cast(result), right.cast(result))


def _shift_right(result: pa.DataType, left: pa.Array, right: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.shift_right_checked(left.cast(result), right.cast(result))


def _compute(name: str) -> Callable[..., pa.Array]:
    def evaluate(result: pa.DataType, *arguments: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        return pc.call_function(name, list(arguments)).cast(result)

    return evaluate


def _truncate(unit: str) -> Callable[..., pa.Array]:
    def evaluate(result: pa.DataType, argument: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        return pc.floor_temporal(argument, unit=unit).cast(result)

    return evaluate


def _cast(result: pa.DataType, argument: pa.Array) -> pa.Array:
    from . import comparisons

    if pa.types.is_floating(result):
        return comparisons.to_float(argument, result)
    # The only cast to a coarser unit is timestamp -> date, which SQL floors, as Arrow does without the safety check.
    return argument.cast(result, safe=not pa.types.is_date(result))


_TRUNCATIONS: Final = ("year", "quarter", "month", "day", "hour", "minute", "second")

FUNCTIONS: Final[dict[str, Function]] = {
    "add": Function(_sum, _arithmetic("add")),
    "subtract": Function(_sum, _arithmetic("subtract")),
    "multiply": Function(_product, _arithmetic("multiply")),
    "negate": Function(_same_sign, _arithmetic("negate")),
    "abs": Function(_same_sign, _arithmetic("abs")),
    "divide": Function(_quotient, _floor_divide),
    "modulo": Function(_quotient, _modulo),
    "shift_right": Function(_quotient, _shift_right),
    "length": Function(_text_to(_INT64), _compute("utf8_length")),
    "octet_length": Function(_bytes_to_int, _compute("binary_length")),
    "lower": Function(_text_to(pa.large_string()), _compute("utf8_lower")),
    "upper": Function(_text_to(pa.large_string()), _compute("utf8_upper")),
    "coalesce": Function(_alike, _compute("coalesce")),
    "year": Function(_calendar_part, _compute("year")),
    "quarter": Function(_calendar_part, _compute("quarter")),
    "month": Function(_calendar_part, _compute("month")),
    "day": Function(_calendar_part, _compute("day")),
    "hour": Function(_clock_part, _compute("hour")),
    "minute": Function(_clock_part, _compute("minute")),
    "second": Function(_clock_part, _compute("second")),
    "cast": Function(lambda types: None, _cast),
    **TEXT_FUNCTIONS,
    **LIST_FUNCTIONS,
    **JSON_FUNCTIONS,
    **{f"trunc_{unit}": Function(_truncated, _truncate(unit)) for unit in _TRUNCATIONS},
}
