"""Types of columns whose values may be NULL."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.values import kinds


def nullable(field: pa.Field) -> pa.Field:
    """Returns the field with NULL allowed for its values, and for those of its structs, lists and maps."""
    return field.with_type(with_nullable_members(field.type)).with_nullable(True)


def with_nullable_members(type: pa.DataType) -> pa.DataType:
    """Returns the type with members, items and values of maps that may be NULL."""
    if pa.types.is_map(type):
        return pa.map_(type.key_field, nullable(type.item_field), type.keys_sorted)
    return kinds.with_members(type, [nullable(field) for field in kinds.members(type)])
