"""DuckDB as an engine of the library."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from ..adapter import Adapter
from ..attached import Names


class _DuckDB(Adapter):
    name: ClassVar = "duckdb"
    title: ClassVar = "DuckDB"
    connection: ClassVar = "a DuckDB connection"
    modules: ClassVar = frozenset({"duckdb", "_duckdb"})
    folder: ClassVar = "lance_sql.providers.duckdb"
    extra: ClassVar = "duckdb"

    runs_as_typed: ClassVar = True
    pushes_filters: ClassVar = True
    changes_rows: ClassVar = True
    computes_views: ClassVar = True
    attaches: ClassVar = True
    lists_tables: ClassVar = True
    has_nullable_counts: ClassVar = True

    def names(self, target: Any) -> Names:
        from .names import DuckDBNames

        return DuckDBNames(target)

    def is_in_transaction(self, target: Any) -> bool:
        from .results import is_in_transaction

        return is_in_transaction(target)


ADAPTER: Final = _DuckDB()
