"""Types of columns whose values may be NULL."""

from __future__ import annotations

import pyarrow as pa


def nullable(field: pa.Field) -> pa.Field:
    """Returns the field with NULL allowed for its values, and for those of its structs, lists and maps."""
    return field.with_type(with_nullable_members(field.type)).with_nullable(True)


def with_nullable_members(type: pa.DataType) -> pa.DataType:
    """Returns the type with members, items and values of maps that may be NULL."""
    if pa.types.is_struct(type):
        return pa.struct([nullable(field) for field in type])
    if pa.types.is_map(type):
        return pa.map_(type.key_field, nullable(type.item_field), type.keys_sorted)
    if pa.types.is_fixed_size_list(type):
        return pa.list_(nullable(type.value_field), type.list_size)
    for is_list, make in (
        (pa.types.is_list, pa.list_),
        (pa.types.is_large_list, pa.large_list),
        (pa.types.is_list_view, pa.list_view),
        (pa.types.is_large_list_view, pa.large_list_view),
    ):
        if is_list(type):
            return make(nullable(type.value_field))
    return type
