"""Statements of SQL: those that are run, one after the other, and those that are not."""

from __future__ import annotations

import sys
from typing import Any

import click

from lance_sql.cli import progress, screen
from lance_sql.cli.interrupts import interruptible
from lance_sql.errors import InvalidArgument


def run(connection: Any, sql: str, output: str, *, max_rows: int | None = None, quiet: bool = False) -> None:
    """Runs statements, and shows the rows of each that has some. All are parsed before the first one is run.

    connection: of DuckDB
    output, max_rows: as for `screen.show`
    quiet: no progress
    raises: DuckDB's own errors; InvalidArgument for copies into Lance tables, and for several statements in Arrow's
        format, which holds one table
    """
    statements = connection.extract_statements(sql)
    refuse_copies(connection, sql)
    if output == "arrow" and len(statements) > 1:
        raise InvalidArgument(f"Arrow output holds one table, and these are {len(statements)} statements")
    # rows that are shown as they come would run into the line
    hidden = quiet or (output != "table" and sys.stdout.isatty())
    with interruptible(connection):
        for statement in statements:
            with progress.watched(connection, hidden=hidden) as count:
                result = connection.sql(statement.query)
                if result is None:
                    continue
                if _is_count(statement, result):
                    changed = sum(number for (number,) in result.fetchall())
                    click.echo(f"{changed:,} {'row' if changed == 1 else 'rows'} written", err=True)
                else:
                    screen.show(count(result.to_arrow_reader()), output, max_rows=max_rows)


def _is_count(statement: Any, result: Any) -> bool:
    """Whether a statement answers only with how many rows it has changed."""
    import duckdb

    changes = duckdb.ExpectedResultType.CHANGED_ROWS in statement.expected_result_type
    return changes and list(result.columns) == ["Count"]


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
