"""Columns of two schemas: what became of them, and in which types those of both are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.differences.difference import ColumnChange


@dataclass(frozen=True)
class SharedColumns:
    """The columns that both tables have.

    before: their names in the first table; in the second they are called as in `types`
    types: in which they are compared
    not_compared: columns of both whose types have nothing in common
    """

    before: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    not_compared: tuple[str, ...]


def changes(before: pa.Schema, after: pa.Schema, names_before: Mapping[str, str]) -> tuple[ColumnChange, ...]:
    """What became of the columns.

    names_before: by name in `after` the name in `before`, for columns that both have
    """
    shared_names = set(names_before.values())
    column_changes = [
        ColumnChange("dropped", field.name, str(field.type), None) for field in before if field.name not in shared_names
    ]
    for field in after:
        if field.name not in names_before:
            column_changes.append(ColumnChange("added", field.name, None, str(field.type)))
            continue
        earlier = before.field(names_before[field.name])
        if earlier.name != field.name:
            column_changes.append(ColumnChange("renamed", field.name, earlier.name, field.name))
        if earlier.type != field.type:
            column_changes.append(ColumnChange("type", field.name, str(earlier.type), str(field.type)))
        if earlier.nullable != field.nullable:
            column_changes.append(ColumnChange("nullable", field.name, _nullable(earlier), _nullable(field)))
    return tuple(column_changes)


def _nullable(field: pa.Field) -> str:
    return "nullable" if field.nullable else "not null"


def shared(before: pa.Schema, after: pa.Schema, names_before: Mapping[str, str]) -> SharedColumns:
    """The columns that both have, in types that hold the values of both."""
    types: dict[str, pa.DataType] = {}
    not_compared = []
    for name, earlier in names_before.items():
        common = common_type(before.field(earlier).type, after.field(name).type)
        if common is None:
            not_compared.append(name)
        else:
            types[name] = common
    return SharedColumns({name: names_before[name] for name in types}, types, tuple(not_compared))


def common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both as they are; None where there is none.

    Text, bytes and dictionaries in whichever form Arrow holds them are one type. A whole number is compared with a
    fraction as a fraction.
    """
    a, b = plain(a), plain(b)
    if a == b:
        return a
    fields = [pa.schema([("c", type)]) for type in (a, b)]
    try:
        return pa.unify_schemas(fields, promote_options="permissive").field("c").type
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None


def plain(type: pa.DataType) -> pa.DataType:
    """The type with one form for text, bytes and lists, of values instead of dictionaries and extensions."""
    if isinstance(type, pa.BaseExtensionType):
        return plain(type.storage_type)
    if pa.types.is_dictionary(type):
        return plain(type.value_type)
    if pa.types.is_string(type) or pa.types.is_string_view(type):
        return pa.large_string()
    if pa.types.is_binary(type) or pa.types.is_binary_view(type):
        return pa.large_binary()
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.large_list(pa.field("item", plain(type.value_type)))
    if pa.types.is_fixed_size_list(type):
        return pa.list_(pa.field("item", plain(type.value_type)), type.list_size)
    if pa.types.is_struct(type):
        return pa.struct([pa.field(field.name, plain(field.type)) for field in type])
    return type


def to_type(array: pa.Array, type: pa.DataType) -> pa.Array:
    """The values in another type, which holds them."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array if array.type == type else array.cast(type)
