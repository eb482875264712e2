"""Resolution of names in a query to fields of a schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.format.schema.field import Field

# One segment of a path: `quoted`, "quoted" (a doubled quote is an escaped one), or the text up to the next dot.
_SEGMENT = re.compile(r'`((?:[^`]|``)*)`(?=\.|$)|"((?:[^"]|"")*)"(?=\.|$)|([^.]*)')


def split_path(path: str) -> tuple[str, ...]:
    """Splits a dotted path into names; backticks or double quotes enclose a name with a dot in it.

    raises: InvalidArgument for an empty name
    """
    names = []
    position = 0
    while True:
        match = _SEGMENT.match(path, position)
        assert match is not None  # the last alternative matches everywhere
        backticked, quoted, plain = match.groups()
        if backticked is not None:
            name = backticked.replace("``", "`")
        elif quoted is not None:
            name = quoted.replace('""', '"')
        else:
            name = plain
        if not name:
            raise InvalidArgument(f"The column path {path!r} has an empty name in it")
        names.append(name)
        if match.end() == len(path):
            return tuple(names)
        position = match.end() + 1


def resolve(
    fields: Sequence[Field], by_name: Mapping[str, Field], path: str, table: str | None = None, also: Sequence[str] = ()
) -> tuple[Field, ...]:
    """Returns the fields along a path; see `Schema.resolve`.

    by_name: the same fields
    """
    whole = by_name.get(path)
    if whole is not None:
        return (whole,)
    resolved: list[Field] = []
    for name in split_path(path):
        siblings: Sequence[Field] = fields
        if resolved:
            siblings = resolved[-1].children if _has_members(resolved[-1]) else ()
        resolved.append(child(siblings, name, path, table, also if not resolved else ()))
    return tuple(resolved)


def child(siblings: Sequence[Field], name: str, path: str, table: str | None = None, also: Sequence[str] = ()) -> Field:
    """Returns the sibling with this name.

    path: the whole path that the user gave
    raises: ColumnNotFound with the closest name
    """
    for field in siblings:
        if field.name == name:
            return field
    message = f"No column {path!r}" + (f" in {table}" if table else "")
    if name != path:
        message += f": no part is named {name!r}"
    nearest = closest(name, [field.name for field in siblings])
    if nearest is not None:
        message += f". Closest: {nearest!r}"
    elif siblings and len(siblings) <= 12:
        message += ". Columns: " + ", ".join(field.name for field in siblings)
    if also:
        message += ". Hidden columns: " + ", ".join(also)
    raise ColumnNotFound(message)


def _has_members(field: Field) -> bool:
    """Whether a path may continue below this field; items of lists have no names."""
    return field.logical_type == "struct" and not field.is_blob_v2


def closest(name: str, candidates: Sequence[str]) -> str | None:
    """Returns the candidate most similar to a name, ignoring case, or None if none is similar."""
    for candidate in candidates:
        if candidate.lower() == name.lower():
            return candidate
    matches = difflib.get_close_matches(name, candidates, n=1)
    return matches[0] if matches else None
