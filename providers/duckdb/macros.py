"""DuckDB's table functions as macros, and the Python functions that these call.

This module imports no table code, because imports take most of the time until a first answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..table_functions import DEFAULTS, FUNCTIONS, KINDS, Kind

PATH_FUNCTION: Final = "__lance_path"
"""The macro that the extension calls with a path."""

NO_COLUMN: Final = "__lance_no_column"
"""A first column of NULLs, for queries without columns: DuckDB then reads the first column, whatever it costs."""

REFERENCE: Final = "__lance_ref"
RELATION: Final = "__lance_relation_ref"
# Not a macro that the user defined with this name.
_QUERY: Final = "system.main.query"

# For all that DuckDB knows, the value differs between runs. So it plans a prepared statement again for each run.
_ANEW: Final = "system.main.current_database()"

# A path or a list of them, as one text.
_PATHS: Final = "to_json(path)::VARCHAR"
# As text, so that errors for values of other types come from this library.
_CASTS: Final[Mapping[Kind | None, str]] = {
    "flag": "::BOOLEAN",
    **dict.fromkeys(("text", "version", "time", "bound"), "::VARCHAR"),
}
_PLACE: Final = "version::VARCHAR, tag::VARCHAR, branch::VARCHAR, as_of::VARCHAR"
_ALL_COLUMNS: Final = f"SELECT * EXCLUDE ({NO_COLUMN}) FROM "


def _macro(function: str) -> str:
    """Returns the macro of a table function. It passes its arguments as one JSON text, which preserves lists of
    numbers."""
    needed, optional = FUNCTIONS[function]
    parameters = ["path", *needed, *(f"{name} := {DEFAULTS.get(name, 'NULL')}" for name in optional)]
    given = ", ".join(f"'{name}': {name}{_CASTS.get(KINDS.get(name), '')}" for name in (*needed, *optional))
    call = f"{_QUERY}({RELATION}('{function}', path::VARCHAR, to_json({{{given}}})::VARCHAR, {_ANEW}))"
    return f"MACRO {function}({', '.join(parameters)}) AS TABLE SELECT * FROM {call}"


MACROS: Final = (
    *map(_macro, FUNCTIONS.keys() - {"lance_scan", "lance_table"}),
    *(
        f"MACRO {name}(path, version := NULL, tag := NULL, branch := NULL, as_of := NULL, filter := NULL,"
        " use_indices := true, fresh := false) AS TABLE "
        + _ALL_COLUMNS
        + f"{_QUERY}({REFERENCE}({_PATHS}, {_PLACE}, {hidden}, to_json(filter)::VARCHAR, use_indices::BOOLEAN,"
        f" fresh::BOOLEAN, {_ANEW}))"
        for name, hidden in (("lance_scan", "true"), ("lance_table", "false"))
    ),
    f"MACRO {PATH_FUNCTION}(path) AS TABLE {_ALL_COLUMNS}"
    f"{_QUERY}({REFERENCE}({_PATHS}, NULL, NULL, NULL, NULL, false, NULL, true, false, {_ANEW}))",
)
"""Macro definitions, to follow CREATE OR REPLACE."""

CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    REFERENCE: (*["VARCHAR"] * 5, "BOOLEAN", "VARCHAR", "BOOLEAN", "BOOLEAN", "VARCHAR"),
    RELATION: ("VARCHAR",) * 4,
}
"""The functions that macros call, and the types of their arguments. `references` implements them."""
