"""The table functions of DuckDB as macros, and the Python functions that these call.

Nothing of tables is imported for them: most of the time until a first answer is imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..table_functions import DEFAULTS, FUNCTIONS, KINDS, Kind

PATH_FUNCTION: Final = "__lance_path"
"""The macro that a path becomes an argument of."""

NO_COLUMN: Final = "__lance_no_column"
"""A first column of NULLs, for queries that need no column: DuckDB asks for the first one then, whatever it costs."""

REFERENCE: Final = "__lance_ref"
RELATION: Final = "__lance_relation_ref"
# Not a macro that the user gave such a name.
_QUERY: Final = "system.main.query"

# A path or a list of them, as one text.
_PATHS: Final = "to_json(path)::VARCHAR"
# As texts, so that a value of another type is refused in the words of this library.
_CASTS: Final[Mapping[Kind | None, str]] = {
    "flag": "::BOOLEAN",
    **dict.fromkeys(("text", "version", "time", "bound"), "::VARCHAR"),
}
_PLACE: Final = "version::VARCHAR, tag::VARCHAR, branch::VARCHAR, as_of::VARCHAR"
_ALL_COLUMNS: Final = f"SELECT * EXCLUDE ({NO_COLUMN}) FROM "


def _macro(function: str) -> str:
    """The macro of a table function that hands its arguments over as one JSON text, in which lists of numbers stay what
    they are."""
    needed, optional = FUNCTIONS[function]
    parameters = ["path", *needed, *(f"{name} := {DEFAULTS.get(name, 'NULL')}" for name in optional)]
    given = ", ".join(f"'{name}': {name}{_CASTS.get(KINDS.get(name), '')}" for name in (*needed, *optional))
    call = f"{_QUERY}({RELATION}('{function}', path::VARCHAR, to_json({{{given}}})::VARCHAR))"
    return f"MACRO {function}({', '.join(parameters)}) AS TABLE SELECT * FROM {call}"


MACROS: Final = (
    *map(_macro, FUNCTIONS.keys() - {"lance_scan", "lance_table"}),
    *(
        f"MACRO {name}(path, version := NULL, tag := NULL, branch := NULL, as_of := NULL, filter := NULL,"
        " use_indices := true, fresh := false) AS TABLE "
        + _ALL_COLUMNS
        + f"{_QUERY}({REFERENCE}({_PATHS}, {_PLACE}, {hidden}, filter::VARCHAR, use_indices::BOOLEAN,"
        " fresh::BOOLEAN))"
        for name, hidden in (("lance_scan", "true"), ("lance_table", "false"))
    ),
    f"MACRO {PATH_FUNCTION}(path) AS TABLE {_ALL_COLUMNS}"
    f"{_QUERY}({REFERENCE}({_PATHS}, NULL, NULL, NULL, NULL, false, NULL, true, false))",
)
"""What is behind CREATE OR REPLACE."""

CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    REFERENCE: (*["VARCHAR"] * 5, "BOOLEAN", "VARCHAR", "BOOLEAN", "BOOLEAN"),
    RELATION: ("VARCHAR",) * 3,
}
"""The functions that macros call, and the types of their arguments; `references` implements them."""
