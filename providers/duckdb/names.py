"""Names on a connection of DuckDB, which is asked about its own ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import duckdb

from lance_sql.errors import InvalidArgument

from ..attached import Names


class DuckDBNames(Names):
    """Names of a connection of DuckDB. A failed transaction has none."""

    def __init__(self, target: Any) -> None:
        super().__init__(target)
        self._target = target

    @cached_property
    def _schemas(self) -> set[tuple[str, str]]:
        rows = self._asked("SELECT lower(database_name), lower(schema_name) FROM duckdb_schemas()")
        return {(database, schema) for database, schema in rows}

    @cached_property
    def _current(self) -> tuple[str, str]:
        rows = self._asked("SELECT lower(current_database()), current_schema()")
        return rows[0] if rows else ("", "")

    def _is_temporary(self, name: str) -> bool:
        query = (
            "SELECT lower(table_name) FROM duckdb_tables() WHERE temporary"
            " UNION ALL SELECT lower(view_name) FROM duckdb_views() WHERE temporary"
        )
        return (name.lower(),) in self._asked(query)

    def moment(self, text: str) -> str | None:
        rows = self._asked("SELECT try_cast($text AS TIMESTAMPTZ)::VARCHAR", {"text": text})
        if rows == [(None,)]:
            raise InvalidArgument(f"{text!r} is not a time with a zone")
        return str(rows[0][0]) if rows else None

    def has_function(self, name: str) -> bool:
        query = "SELECT 1 FROM duckdb_functions() WHERE function_name = lower($name) LIMIT 1"
        return bool(self._asked(query, {"name": name}))

    def is_parsed(self, text: str) -> bool:
        try:
            # PIVOT is several statements in DuckDB 1.5
            return bool(duckdb.DuckDBPyConnection.extract_statements(self._target, text))
        except duckdb.Error:
            return False

    def _asked(self, query: str, parameters: dict[str, Any] | None = None) -> list[Any]:
        """Runs a query. Returns no rows in a failed transaction."""
        try:
            # bypasses the method that parses statements
            return duckdb.DuckDBPyConnection.execute(self._target, query, parameters or {}).fetchall()
        except duckdb.Error:
            return []
