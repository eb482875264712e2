"""What a table consists of, as tables of its own: its versions, files, fragments, columns, indices, tags and branches.

Every function takes the handle on a version and gives an Arrow table, for the command line and for SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from lance_sql.contracts.rules import as_table
from lance_sql.dataset import Dataset
from lance_sql.metadata_tables.columns import columns
from lance_sql.metadata_tables.cursor_page import cursor_page
from lance_sql.metadata_tables.files import files, fragments
from lance_sql.metadata_tables.indices import indices
from lance_sql.metadata_tables.names import branches, cursors, tags
from lance_sql.metadata_tables.statistics import statistics
from lance_sql.metadata_tables.versions import versions

__all__ = [
    "BY_NAME",
    "branches",
    "columns",
    "cursor_page",
    "cursors",
    "files",
    "fragments",
    "indices",
    "statistics",
    "tags",
    "versions",
]


def rules(dataset: Dataset) -> pa.Table:
    """One row for each rule of the table."""
    return as_table(dataset.rules())


BY_NAME: Final[Mapping[str, Callable[[Dataset], pa.Table]]] = {
    "versions": versions,
    "files": files,
    "fragments": fragments,
    "columns": columns,
    "tags": tags,
    "branches": branches,
    "cursors": cursors,
    "rules": rules,
    "indices": indices,
    "statistics": statistics,
}
"""The tables that SQL has, as `lance_versions` and so on."""
