"""The unenforced primary key: columns that identify a row, declared by the creator of the table.

Uniqueness is not checked. Merges use the key by default.

Source: table format, unenforced primary key; Field.unenforced_primary_key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.field import Field
from lance_sql.format.schema.fields import Schema
from lance_sql.format.schema.types import is_json
from lance_sql.values import kinds

KEY = "lance-schema:unenforced-primary-key"
POSITION = "lance-schema:unenforced-primary-key:position"
_TRUE = (b"true", b"1", b"yes")


def is_key(field: Field) -> bool:
    """Whether the field belongs to the key."""
    return field.metadata.get(KEY, b"").lower() in _TRUE


def position(value: bytes | None) -> int:
    """Parses a position in a key, from 1; 0 if there is none."""
    return int(value) if value is not None and value.isdigit() and int(value) < 1 << 32 else 0


def primary_key(schema: Schema) -> tuple[str, ...]:
    """Returns the dotted names of the key's fields: those with a position in its order, then the others by id."""
    keys = [path for path in _paths(schema.fields, ()) if is_key(path[-1])]
    keys.sort(key=lambda path: (position(path[-1].metadata.get(POSITION)) or 1 << 32, path[-1].id))
    return tuple(".".join(field.name for field in path) for path in keys)


def naming_columns(schema: Schema) -> tuple[str, ...]:
    """Returns the columns that name a row for people: the primary key, or the first column if its type is suitable."""
    key = primary_key(schema)
    if key or not schema.fields:
        return key
    type = kinds.decoded(schema.arrow.field(0).type)
    may_be_one = pa.types.is_integer(type) or kinds.is_text(type)
    return (schema.names[0],) if may_be_one and not is_json(schema.fields[0]) else ()


def check(schema: Schema) -> None:
    """Makes sure that the fields can form a key.

    raises: InvalidArgument for fields with members or items, inside lists, or nullable
    """
    for path in _paths(schema.fields, ()):
        if is_key(path[-1]):
            check_path(path)


def check_path(path: Sequence[Field]) -> None:
    """Makes sure that a field can be in a key.

    path: from the column to the field
    raises: InvalidArgument
    """
    name = ".".join(field.name for field in path)
    if path[-1].children:
        raise InvalidArgument(f"Column {name!r} is nested: it cannot be in the primary key")
    if is_json(path[-1]):
        raise InvalidArgument(f"Column {name!r} is JSON: it cannot be in the primary key")
    if any(field.is_list for field in path):
        raise InvalidArgument(f"Column {name!r} is in a list: it cannot be in the primary key")
    if any(field.nullable for field in path):
        raise InvalidArgument(f"Column {name!r} may be NULL: it cannot be in the primary key")


def outside(field: pa.Field) -> pa.Field:
    """Returns the field without its part, and that of its members, in the key: other rows may repeat its values."""
    if pa.types.is_struct(field.type):
        members = list(field.type)
        changed = [outside(member) for member in members]
        if any(new is not old for new, old in zip(changed, members, strict=True)):
            field = field.with_type(pa.struct(changed))
    metadata = field.metadata
    if not metadata or not any(name.startswith(KEY.encode()) for name in metadata):
        return field
    return field.with_metadata({name: value for name, value in metadata.items() if not name.startswith(KEY.encode())})


def nullable(field: pa.Field) -> pa.Field:
    """Returns the field as one that may be NULL, and so is outside the key."""
    return outside(field).with_nullable(True)


def _paths(fields: tuple[Field, ...], above: tuple[Field, ...]) -> Iterator[tuple[Field, ...]]:
    for field in fields:
        path = (*above, field)
        yield path
        yield from _paths(field.children, path)
