"""Errors of a view whose query does not fit its tables: the view, the column, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError
from lance_sql.one_sql.views import definition
from lance_sql.one_sql.views.definition import Definition
from lance_sql.opening import open as open_dataset
from lance_sql.table.location import table_name

_COLUMN: Final = re.compile(r'Referenced column "([^"]+)"|does not have a column named "([^"]+)"')
_OF_BINDING: Final = ("BinderException", "CatalogException")
_CORRECT: Final = "materialize the corrected query with replace=True (--replace)"
AGAIN: Final = "drop the view (DROP MATERIALIZED VIEW) and create it again"


def explained(
    error: Exception, tables: Mapping[str, Dataset], recorded: Definition | None, view: str
) -> InvalidArgument | None:
    """Returns the error about a query that the engine cannot bind; None for other errors.

    tables: of the query, by the names in it
    recorded: the definition of an existing view; view: its path
    """
    cause = error.__cause__ or error
    if type(cause).__name__ not in _OF_BINDING:
        return None
    error = Exception(str(cause))
    found = _COLUMN.search(str(error))
    name = found and (found[1] or found[2])
    of = f"The view {table_name(view)}" if recorded is not None else "The query of the view"
    places = ", ".join(each.snapshot.name for each in tables.values())
    if name:
        for change in _changes(tables, recorded, view):
            if change.startswith(f"{name!r} "):
                undo = "add it again" if change.endswith("dropped") else "rename it back"
                return InvalidArgument(f"{of} reads the column {change}: {undo}, or {_CORRECT}")
        lacks = f"which {places or 'no table'} {'no longer has' if recorded is not None else 'does not have'}"
        names = [column for each in tables.values() for column in each.schema.names]
        close = difflib.get_close_matches(name, names, n=1)
        hint = f". Did you mean {close[0]!r}?" if close else f". Columns: {', '.join(names[:20])}"
        cure = f". Add the column, or {_CORRECT}" if recorded is not None else ""
        return InvalidArgument(f"{of} reads the column {name!r}, {lacks}{hint}{cure}".replace("?. ", "? "))
    said = " ".join(str(error).split("\n\n")[0].split()).partition(" Candidate functions")[0].rstrip(".")
    if recorded is None:
        return InvalidArgument(f"{of} does not fit {places or 'its tables'}: {said}")
    changes = "; ".join(_changes(tables, recorded, view))
    since = f" since its last refresh: {changes}" if changes else ""
    return InvalidArgument(f"{of} no longer fits {places}{since}. {said}. Change it back, or {AGAIN}")


def _changes(tables: Mapping[str, Dataset], recorded: Definition | None, view: str) -> list[str]:
    """Describes columns that were renamed, dropped or changed since the last refresh, each beginning with its name."""
    found = []
    for source in recorded.sources if recorded is not None else ():
        now = tables.get(source.name)
        if now is None:
            continue
        with suppress(LanceError):
            # a cleaned up version cannot be compared
            then = open_dataset(definition.absolute(source.path, view), version=source.version)
            later = {field.id: field for field in now.snapshot.manifest.schema.fields}
            for field in then.snapshot.manifest.schema.fields:
                other, table = later.get(field.id), now.snapshot.name
                before = then.schema.field(field.name).type
                if other is None and field.name not in now.schema.names:
                    found.append(f"{field.name!r} of {table}, which was dropped")
                elif other is not None and other.name != field.name:
                    found.append(f"{field.name!r} of {table}, which was renamed to {other.name!r}")
                elif (type := now.schema.field(field.name).type) != before:
                    found.append(f"{field.name!r} of {table}, whose type was {before} and is {type}")
    return found
