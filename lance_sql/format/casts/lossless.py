"""Detection of lossless casts, whose target type can represent every value of the source.

Text and bytes convert between sizes and views, integers and floats to wider types, NULL to anything, dictionaries to
their values and back.
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.schema.from_arrow import storage
from lance_sql.values import kinds


def is_lossless(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a type can represent every value of another one.

    Between units of time a value may be truncated or overflow, which the cast detects.
    """
    if source == target or pa.types.is_null(source):
        return True
    if isinstance(target, pa.UuidType):
        # invalid text is refused by the conversion
        return kinds.is_text(source) or is_lossless(source, target.storage_type)
    if isinstance(target, pa.BaseExtensionType):
        return is_lossless(source, target.storage_type)
    if pa.types.is_dictionary(source):
        target = target.value_type if pa.types.is_dictionary(target) else target
        return is_lossless(source.value_type, target)
    if pa.types.is_dictionary(target):
        return is_lossless(source, target.value_type)
    if kinds.is_text(source):
        return kinds.is_text(target)
    if _is_bytes(source):
        return _is_bytes(target)
    if pa.types.is_integer(source) and pa.types.is_integer(target):
        return _holds(source, target)
    if pa.types.is_floating(source) and pa.types.is_floating(target):
        return bool(source.bit_width < target.bit_width)
    if pa.types.is_decimal(source) and pa.types.is_decimal(target):
        whole = target.precision - target.scale >= source.precision - source.scale
        return bool(whole and target.scale >= source.scale)
    if pa.types.is_timestamp(source) and pa.types.is_timestamp(target):
        return (source.tz is None) == (target.tz is None)
    return _is_nested_lossless(source, target)


def _is_nested_lossless(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_struct(source) and pa.types.is_struct(target):
        names = [field.name for field in target]
        return [field.name for field in source] == names and all(
            is_lossless(storage(source.field(i))[0], target.field(i).type) for i in range(len(names))
        )
    if pa.types.is_map(source) and pa.types.is_map(target):
        return is_lossless(source.key_type, target.key_type) and is_lossless(source.item_type, target.item_type)
    if pa.types.is_fixed_size_list(target):
        same = pa.types.is_fixed_size_list(source) and source.list_size == target.list_size
        return same and is_lossless(storage(source.value_field)[0], target.value_field.type)
    if kinds.is_list(source) and kinds.is_list(target):
        return is_lossless(storage(source.value_field)[0], target.value_field.type)
    return False


def _holds(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_signed_integer(source) == pa.types.is_signed_integer(target):
        return bool(source.bit_width <= target.bit_width)
    return pa.types.is_unsigned_integer(source) and bool(source.bit_width < target.bit_width)


def _is_bytes(type: pa.DataType) -> bool:
    return kinds.is_bytes(type) and not pa.types.is_fixed_size_binary(type)
