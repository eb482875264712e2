"""The table functions of DuckDB as macros, and the Python functions that these call.

Nothing of tables is imported for them: most of the time until a first answer is imports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lance_sql.catalogs import metadata_tables

from ..search_arguments import NUM_NEEDED, SEARCHES

PATH_FUNCTION: Final = "__lance_path"
"""The macro that a path becomes an argument of."""

NO_COLUMN: Final = "__lance_no_column"
"""A first column of NULLs, for queries that need no column: DuckDB asks for the first one then, whatever it costs."""

REFERENCE: Final = "__lance_ref"
CHANGES: Final = "__lance_changes_ref"
SEARCH: Final = "__lance_search_ref"
HISTORY: Final = "__lance_row_history_ref"
METADATA: Final = "__lance_metadata_ref"
# Not a macro that the user gave such a name.
_QUERY: Final = "system.main.query"

# A path or a list of them, as one text.
_PATHS: Final = "to_json(path)::VARCHAR"
# All as texts, so that what is of another type is refused in our words.
_PLACE: Final = "version::VARCHAR, tag::VARCHAR, branch::VARCHAR, as_of::VARCHAR"
_ALL_COLUMNS: Final = f"SELECT * EXCLUDE ({NO_COLUMN}) FROM "


def _changes(mode: str, drop_unchanged: str, key: str = "NULL", trust_snapshots: str = "false") -> str:
    """The call that opens a change feed, in a macro with the parameters of its bounds."""
    bounds = ", ".join(f"{name}::VARCHAR" for name in ("start_version", "end_version", "since"))
    options = f"{mode}::VARCHAR, {drop_unchanged}::BOOLEAN, {key}, branch::VARCHAR, {trust_snapshots}::BOOLEAN"
    return f"{_QUERY}({CHANGES}(path::VARCHAR, {bounds}, {options}))"


def _search(function: str) -> str:
    """A macro for a search; what it is given is one JSON text, in which lists of numbers stay what they are."""
    needed, names = NUM_NEEDED[function], SEARCHES[function]
    defaults = {"k": "10"}
    parameters = [*names[:needed], *(f"{name} := {defaults.get(name, 'NULL')}" for name in names[needed:])]
    # as texts, but what is a number, a list or true
    texts = {"filter", "query_filter", "version", "tag", "branch", "as_of", "since"}
    given = ", ".join(f"'{name}': {name}::VARCHAR" if name in texts else f"'{name}': {name}" for name in names)
    call = f"{_QUERY}({SEARCH}('{function}', path::VARCHAR, to_json({{{given}}})::VARCHAR))"
    return f"MACRO {function}(path, {', '.join(parameters)}) AS TABLE SELECT * FROM {call}"


MACROS: Final = (
    *map(_search, SEARCHES),
    *(
        f"MACRO {name}(path, version := NULL, tag := NULL, branch := NULL, as_of := NULL, filter := NULL,"
        " use_indices := true, fresh := false) AS TABLE "
        + _ALL_COLUMNS
        + f"{_QUERY}({REFERENCE}({_PATHS}, {_PLACE}, {hidden}, filter::VARCHAR, use_indices::BOOLEAN,"
        " fresh::BOOLEAN))"
        for name, hidden in (("lance_scan", "true"), ("lance_table", "false"))
    ),
    *(
        f"MACRO lance_{name}(path, version := NULL, tag := NULL, branch := NULL, as_of := NULL) AS TABLE SELECT * FROM "
        f"{_QUERY}({METADATA}('{name}', path::VARCHAR, {_PLACE}))"
        for name in metadata_tables.TABLES
    ),
    "MACRO lance_changes(path, start_version := NULL, end_version := NULL, since := NULL, mode := 'all',"
    " drop_unchanged := false, key := NULL, branch := NULL, trust_snapshots := false) AS TABLE SELECT * FROM "
    + _changes("mode", "drop_unchanged", "to_json(key)::VARCHAR", "trust_snapshots"),
    "MACRO lance_insertions(path, start_version := NULL, end_version := NULL, since := NULL, branch := NULL)"
    " AS TABLE SELECT * FROM " + _changes("'insert_only'", "false"),
    "MACRO lance_deletions(path, start_version := NULL, end_version := NULL, since := NULL, branch := NULL)"
    " AS TABLE SELECT * FROM " + _changes("'all'", "false") + " WHERE _change_type = 'delete'",
    "MACRO lance_row_history(path, start_version := NULL, end_version := NULL, branch := NULL)"
    " AS TABLE SELECT * FROM "
    f"{_QUERY}({HISTORY}(path::VARCHAR, start_version::VARCHAR, end_version::VARCHAR, branch::VARCHAR))",
    f"MACRO {PATH_FUNCTION}(path) AS TABLE {_ALL_COLUMNS}"
    f"{_QUERY}({REFERENCE}({_PATHS}, NULL, NULL, NULL, NULL, false, NULL, true, false))",
)
"""What is behind CREATE OR REPLACE."""

FUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    REFERENCE: (*["VARCHAR"] * 5, "BOOLEAN", "VARCHAR", "BOOLEAN", "BOOLEAN"),
    CHANGES: (*["VARCHAR"] * 5, "BOOLEAN", *["VARCHAR"] * 2, "BOOLEAN"),
    HISTORY: ("VARCHAR",) * 4,
    SEARCH: ("VARCHAR",) * 3,
    METADATA: ("VARCHAR",) * 6,
}
"""The functions that macros call, and the types of their arguments. What they do is in `references`."""
