"""The table functions and their arguments, shared by DuckDB's macros, DataFusion and the statement parser.

This module imports no table code, because imports take most of the time until a first answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from lance_sql.errors import InvalidArgument, UnsupportedFeature

Kind: TypeAlias = Literal["flag", "text", "filter", "version", "time", "bound"]

KINDS: Final[Mapping[str, Kind]] = {
    "version": "version",
    "as_of": "time",
    **dict.fromkeys(("start_version", "end_version", "since"), "bound"),
    **dict.fromkeys(("tag", "branch", "mode", "column_name"), "text"),
    **dict.fromkeys(("filter", "query_filter"), "filter"),
    **dict.fromkeys(("use_indices", "fresh", "drop_unchanged", "trust_snapshots", "origin"), "flag"),
    **dict.fromkeys(("prefilter", "use_index", "fast_search", "explain_verbose"), "flag"),
}
"""The kinds of arguments, by name. An argument without a kind takes any value that its function supports."""

DEFAULTS: Final[Mapping[str, str]] = {
    "k": "10",
    "mode": "'all'",
    "use_indices": "true",
    **dict.fromkeys(("fresh", "drop_unchanged", "trust_snapshots", "origin"), "false"),
}
"""Default values of optional arguments, as SQL; NULL for all others."""

PLACE: Final = ("version", "tag", "branch", "as_of")


class TableFunction(NamedTuple):
    """The names of the arguments after the path, in the order of DataFusion, which has no named arguments.

    needed: required arguments
    """

    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All arguments."""
        return self.needed + self.optional


_VERSION: Final = ("version", "as_of", "tag", "branch")
_TABLE: Final = TableFunction(optional=(*_VERSION, "use_indices", "fresh", "filter"))
OF_BOTH: Final = ("alpha", "oversample_factor", "fusion")
"""Arguments of a search by vector and by words."""
_FOUND: Final = ("k", "filter", "prefilter", *PLACE, "since")
_NEAREST: Final = ("metric", "nprobs", "nprobes", "refine_factor", "use_index", "fast_search", "ef", "explain_verbose")

SEARCHES: Final[Mapping[str, TableFunction]] = {
    "lance_vector_search": TableFunction(("vector_column", "vector"), (*_FOUND, *_NEAREST)),
    "lance_fts": TableFunction(("text_column", "query"), (*_FOUND, "use_index", "fast_search")),
    "lance_hybrid_search": TableFunction(
        ("vector_column", "vector", "text_column", "query"), (*_FOUND, *OF_BOTH, *_NEAREST)
    ),
    "lance_vector_join": TableFunction(
        ("vector_column", "queries"), (*_FOUND, "query_column", "query_filter", *_NEAREST)
    ),
    "lance_search_changes": TableFunction(
        ("since",),
        (
            *("vector_column", "vector", "text_column", "query", "k", "filter"),
            *PLACE,
            *OF_BOTH,
            *("metric", "nprobs", "nprobes", "refine_factor", "use_index"),
        ),
    ),
}
"""The searches: those of the official extension, with its names, and additional ones."""

METADATA: Final = (
    *("versions", "files", "fragments", "columns", "tags", "branches", "cursors", "rules", "indices", "indexes"),
    *("statistics", "config", "table_metadata", "schema_metadata", "column_metadata"),
)
"""The metadata tables, named `lance_versions` and so on in SQL."""

FUNCTIONS: Final[Mapping[str, TableFunction]] = {
    "lance_scan": _TABLE,
    "lance_table": _TABLE,
    "lance_changes": TableFunction(
        optional=(
            *("start_version", "end_version", "since", "mode", "drop_unchanged", "trust_snapshots", "key", "branch"),
            "origin",
        )
    ),
    **dict.fromkeys(
        ("lance_insertions", "lance_deletions"),
        TableFunction(optional=("start_version", "end_version", "since", "branch")),
    ),
    "lance_row_history": TableFunction(optional=("start_version", "end_version", "branch", "origin")),
    **SEARCHES,
    **{f"lance_{name}": TableFunction(optional=_VERSION) for name in METADATA},
    "lance_column_metadata": TableFunction(optional=("column_name", *_VERSION)),
}
"""The table functions."""

_STATEMENTS: Final[Mapping[str, str]] = {
    "lance_cleanup_old_versions": "VACUUM 'x.lance' RETAIN 168 HOURS",
    "lance_compact_files": "OPTIMIZE 'x.lance'",
    "lance_create_scalar_index": "CREATE INDEX i ON 'x.lance' USING btree (c)",
    **dict.fromkeys(("lance_set_config", "lance_unset_config"), "ALTER TABLE 'x.lance' SET TBLPROPERTIES ('k' = 'v')"),
    **dict.fromkeys(
        ("lance_set_column_metadata", "lance_unset_column_metadata"), "COMMENT ON COLUMN 'x.lance'.c IS 'text'"
    ),
    **{
        f"lance_{verb}_{kind}_metadata": f"SELECT Count FROM lance_{verb}_{kind}_metadata(..) as a statement of its own"
        for verb in ("set", "unset")
        for kind in ("schema", "table")
    },
}
"""Functions of the official extension that change a table, and the statements instead: an engine may call a table
function when it explains a query, or twice."""


def unknown(function: str) -> InvalidArgument | UnsupportedFeature:
    """Returns the error for a function that is none of the table functions."""
    if function in _STATEMENTS:
        return UnsupportedFeature(f"{function} would change a table inside of a query: write {_STATEMENTS[function]}")
    return InvalidArgument(f"No table function {function!r}; functions: {', '.join(sorted(FUNCTIONS))}")
