"""The unenforced primary key: columns that say which row is which, by the word of whoever created the table.

Nobody checks that keys are unique. The key is what rows are merged on unless something else is said.

Source: table format, unenforced primary key; Field.unenforced_primary_key.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.fields import Field, Schema

KEY = "lance-schema:unenforced-primary-key"
POSITION = "lance-schema:unenforced-primary-key:position"
_TRUE = (b"true", b"1", b"yes")


def is_key(field: Field) -> bool:
    """Whether the field belongs to the key."""
    return field.metadata.get(KEY, b"").lower() in _TRUE


def position(value: bytes | None) -> int:
    """A position in a key, from 1; 0 where there is none."""
    return int(value) if value is not None and value.isdigit() and int(value) < 1 << 32 else 0


def primary_key(schema: Schema) -> tuple[str, ...]:
    """The dotted names of the key's fields: those with a position by it, then the others by their ids."""
    keys = [path for path in _paths(schema.fields, ()) if is_key(path[-1])]
    keys.sort(key=lambda path: (position(path[-1].metadata.get(POSITION)) or 1 << 32, path[-1].id))
    return tuple(".".join(field.name for field in path) for path in keys)


def naming_columns(schema: Schema) -> tuple[str, ...]:
    """What people know a row by: the columns of its primary key, or the first column where that may be one."""
    key = primary_key(schema)
    if key or not schema.fields:
        return key
    type = schema.arrow.field(0).type
    if pa.types.is_dictionary(type):
        type = type.value_type
    may_be_one = pa.types.is_integer(type) or pa.types.is_string(type) or pa.types.is_large_string(type)
    return (schema.names[0],) if may_be_one else ()


def check(schema: Schema) -> None:
    """Makes sure that the fields of the key can be one.

    raises: InvalidArgument for fields with members or items, inside of lists, or that may be NULL
    """
    for path in _paths(schema.fields, ()):
        if not is_key(path[-1]):
            continue
        name = ".".join(field.name for field in path)
        if path[-1].children:
            raise InvalidArgument(f"Column {name!r} has parts: it cannot be in the primary key")
        if any(field.is_list for field in path):
            raise InvalidArgument(f"Column {name!r} is in a list: it cannot be in the primary key")
        if any(field.nullable for field in path):
            raise InvalidArgument(f"Column {name!r} may be NULL: it cannot be in the primary key")


def _paths(fields: tuple[Field, ...], above: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    for field in fields:
        path = (*above, field)
        yield path
        yield from _paths(field.children, path)
