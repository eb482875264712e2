"""Resolution of column names in filters to paths in the schema."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final, NoReturn

import pyarrow as pa

from lance_sql.errors import ColumnNotFound
from lance_sql.format.schema.extensions import extension_type

from .tree import ColumnRef, Path

_MAX_LISTED: Final = 12


def resolve_dotted(schema: pa.Schema, names: Sequence[str], table: str) -> tuple[ColumnRef, pa.DataType]:
    """Resolves names like `resolve`, but prefers a top-level column whose name contains the dots."""
    whole = _match(".".join(names), schema.names)
    return resolve(schema, names if whole is None else (whole,), table)


def resolve(schema: pa.Schema, names: Sequence[str], table: str) -> tuple[ColumnRef, pa.DataType]:
    """Returns the column of these names, outermost first, and its type.

    Names match exactly, or else case-insensitively if that leaves one column.

    table: name of the table in messages, "events.lance version 42"
    raises: ColumnNotFound; InvalidArgument for a version column of a table without row lineage
    """
    name = _match(names[0], schema.names)
    if name is None:
        _raise_missing(schema, ".".join(names), table)
    path: Path = (name,)
    type = extension_type(schema.field(schema.get_field_index(name)))
    for part in names[1:]:
        fields = [type.field(i).name for i in range(type.num_fields)] if pa.types.is_struct(type) else []
        name = _match(part, fields)
        if name is None:
            raise ColumnNotFound(
                f"No field {part!r} in column {'.'.join(path)!r} ({type}) of {table}" + _closest(part, fields)
            )
        path = (*path, name)
        type = extension_type(type.field(fields.index(name)))
    return ColumnRef(path), type


def _match(name: str, candidates: Sequence[str]) -> str | None:
    if name in candidates:
        return name
    folded = name.casefold()
    similar = [candidate for candidate in candidates if candidate.casefold() == folded]
    return similar[0] if len(similar) == 1 else None


def _raise_missing(schema: pa.Schema, name: str, table: str) -> NoReturn:
    # Only errors need it: it is a module of the planner, which a predicate alone does not import.
    from lance_sql.reads.scan import system_columns

    system_columns.require([name], stable_row_ids=False, table=table)
    user = [column for column in schema.names if column not in system_columns.NAMES]
    hidden = [column for column in schema.names if column in system_columns.NAMES]
    closest = _closest(name, schema.names if name[:1] == "_" else user)
    if not closest and user and len(user) <= _MAX_LISTED:
        closest = f". Columns: {', '.join(user)}"
    message = f"No column {name!r} in {table}{closest}"
    if hidden:
        message += f". Hidden columns: {', '.join(hidden)}"
    raise ColumnNotFound(message)


def _closest(name: str, candidates: Sequence[str]) -> str:
    folded = {candidate.casefold(): candidate for candidate in candidates}
    closest = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f". Closest: {folded[closest[0]]!r}" if closest else ""
