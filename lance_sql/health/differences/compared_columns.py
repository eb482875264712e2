"""Columns of two schemas: their changes, and the types for comparing shared ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.format.casts.common_type import common_type
from lance_sql.health.differences.difference import ColumnChange


@dataclass(frozen=True)
class SharedColumns:
    """Columns that both tables have.

    before: their names in the first table, by their names in the second
    types: in which they are compared
    not_compared: shared columns whose types have no common type
    """

    before: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    not_compared: tuple[str, ...]


def changes(before: pa.Schema, after: pa.Schema, names_before: Mapping[str, str]) -> tuple[ColumnChange, ...]:
    """Returns the changes of the columns.

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
    """Returns the shared columns, in types that hold the values of both."""
    types: dict[str, pa.DataType] = {}
    not_compared = []
    for name, earlier in names_before.items():
        common = common_type(before.field(earlier).type, after.field(name).type)
        if common is None:
            not_compared.append(name)
        else:
            types[name] = common
    return SharedColumns({name: names_before[name] for name in types}, types, tuple(not_compared))
