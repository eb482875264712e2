"""Computed values as a column's, as SQL assigns them: a decimal is rounded, and nothing else changes unnoticed."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.casts.lossless import encode_dictionary
from lance_sql.errors import InvalidArgument


def assign(name: str, array: pa.Array, field: pa.Field) -> pa.Array:
    """Computed values in the type of the column that they are for.

    raises: InvalidArgument for a value that the column does not hold
    """
    target = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    try:
        made = _cast(array, target)
    except pa.ArrowException as error:
        raise InvalidArgument(f"A value for column {name!r} does not fit its type {target}: {error}") from error
    return made if target == field.type else pa.ExtensionArray.from_storage(field.type, made)


def _cast(array: pa.Array, target: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    if array.type == target:
        return array
    _check_members(array.type, target)
    if pa.types.is_dictionary(target):
        return encode_dictionary(_cast(array, target.value_type), target)
    if pa.types.is_decimal(array.type) and pa.types.is_decimal(target) and array.type.scale > target.scale:
        # as SQL assigns: half a unit goes away from zero
        array = pc.round(array, ndigits=target.scale, round_mode="half_towards_infinity")
    if pa.types.is_integer(array.type) and pa.types.is_decimal(target):
        # Arrow asks for room for every integer, not for those that there are
        array = array.cast(pa.decimal128(20, 0))
    if not pa.types.is_floating(target):
        return array.cast(target)
    if not pa.types.is_integer(array.type):
        array = array.cast(pa.float64(), safe=False)
    # a float is rounded where an integer or a decimal has more digits, too
    made = array.cast(target, safe=False)
    if _count_infinite(made) > _count_infinite(array):
        raise pa.ArrowInvalid("a number is too large")
    return made


def _check_members(source: pa.DataType, target: pa.DataType) -> None:
    """Makes sure that structs have no member more than the column's: Arrow leaves such members out."""
    if pa.types.is_struct(source) and pa.types.is_struct(target):
        names = [field.name for field in target]
        for member in source:
            if member.name not in names:
                raise pa.ArrowInvalid(f"there is no member {member.name!r}")
            _check_members(member.type, target.field(member.name).type)
    elif pa.types.is_nested(source) and pa.types.is_nested(target) and source.num_fields == target.num_fields == 1:
        _check_members(source.field(0).type, target.field(0).type)


def _count_infinite(array: pa.Array) -> int:
    import pyarrow.compute as pc

    if not pa.types.is_floating(array.type):
        return 0
    # of half floats, Arrow does not say it
    return pc.sum(pc.is_inf(array.cast(pa.float64()))).as_py() or 0
