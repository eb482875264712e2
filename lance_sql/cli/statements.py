"""Statements of SQL that the command line does not run."""

from __future__ import annotations

from typing import Any

from lance_sql.errors import InvalidArgument


def refuse_copies(connection: Any, sql: str) -> None:
    """Refuses to copy rows into a file that has the name of a Lance table, which DuckDB would make a CSV file.

    connection: of DuckDB, whose parser says which statements copy
    raises: InvalidArgument; DuckDB's own error for SQL that it cannot parse
    """
    import duckdb

    if "copy" not in sql.lower():
        return
    for statement in connection.extract_statements(sql):
        if statement.type == duckdb.StatementType.COPY:
            _refuse_copy(statement.query)


def _refuse_copy(sql: str) -> None:
    import sqlglot
    from sqlglot import exp

    try:
        parsed = sqlglot.parse_one(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        parsed = None
    if not isinstance(parsed, exp.Copy):
        # DuckDB knows what it is, and will say what is wrong with it
        return
    reads = bool(parsed.args.get("kind"))
    targets = [file.name for file in parsed.args.get("files") or []]
    for target in targets:
        if not reads and target.rstrip("/").lower().endswith(".lance"):
            raise InvalidArgument(f'COPY writes no Lance tables: lance-sql write {target} "SELECT ..." does')
