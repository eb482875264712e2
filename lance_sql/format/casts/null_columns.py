"""Columns without types, as frames without rows have them."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.schema.primary_key import outside
from lance_sql.values import kinds


def with_types_of(schema: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Returns the schema in which columns of type null, and such items and members, have the types of a table's columns
    with their names."""
    fields = []
    for field in schema:
        # names that occur twice are refused later
        earlier = table.field(field.name) if table.get_field_index(field.name) >= 0 else None
        fields.append(field if earlier is None else _typed(field, earlier))
    return pa.schema(fields, schema.metadata)


def _typed(field: pa.Field, earlier: pa.Field) -> pa.Field:
    if pa.types.is_null(field.type):
        return outside(earlier).with_nullable(field.nullable)
    return field.with_type(_type(field.type, earlier.type))


def _type(type: pa.DataType, earlier: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type) and pa.types.is_struct(earlier):
        members = [
            _typed(member, earlier.field(member.name)) if earlier.get_field_index(member.name) >= 0 else member
            for member in type
        ]
        return pa.struct(members)
    if kinds.is_list(type) and kinds.has_items(earlier):
        if pa.types.is_null(type.value_type):
            return earlier
        return kinds.with_members(type, [_typed(type.value_field, earlier.value_field)])
    return type
