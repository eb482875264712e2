"""What a table consists of, as tables of its own: its versions, files, fragments, columns, indices, tags and branches.

Every function takes the handle on a version and gives an Arrow table, for the command line and for SQL. Functions are
imported when they are first used: an engine that is told the names of the tables needs none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

    from lance_sql.dataset import Dataset
    from lance_sql.metadata.metadata_tables.column_rows import columns
    from lance_sql.metadata.metadata_tables.cursor_pages import cursor_page
    from lance_sql.metadata.metadata_tables.file_rows import files, fragments
    from lance_sql.metadata.metadata_tables.index_rows import indices
    from lance_sql.metadata.metadata_tables.name_rows import branches, cursors, tags
    from lance_sql.metadata.metadata_tables.rule_rows import rules
    from lance_sql.metadata.metadata_tables.statistics_rows import statistics
    from lance_sql.metadata.metadata_tables.version_rows import versions

__all__ = [
    "NAMES",
    "branches",
    "columns",
    "cursor_page",
    "cursors",
    "files",
    "fragments",
    "indices",
    "of_name",
    "rules",
    "statistics",
    "tags",
    "versions",
]

_MODULES: Final = {
    "versions": "version_rows",
    "files": "file_rows",
    "fragments": "file_rows",
    "columns": "column_rows",
    "tags": "name_rows",
    "branches": "name_rows",
    "cursors": "name_rows",
    "rules": "rule_rows",
    "indices": "index_rows",
    "statistics": "statistics_rows",
}
NAMES: Final = tuple(_MODULES)
"""The tables that SQL has, as `lance_versions` and so on."""


def of_name(name: str) -> Callable[[Dataset], pa.Table]:
    """The function of one of `NAMES`."""
    function: Callable[[Dataset], pa.Table] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return function


if not TYPE_CHECKING:
    # seen by a type checker, any name would be there

    def __getattr__(name: str) -> Any:
        if name == "cursor_page":
            from lance_sql.metadata.metadata_tables.cursor_pages import cursor_page

            return cursor_page
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return of_name(name)
