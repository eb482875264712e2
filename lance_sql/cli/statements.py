"""Statements of SQL: those that are run, one after the other, and those that are not."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any, Final

import click

from lance_sql.cli import progress, screen
from lance_sql.cli.interrupts import interruptible
from lance_sql.errors import InvalidArgument

# What may change a Lance table, or say what DuckDB has no words for. Most questions have none of it, and need not wait
# for the import of a parser.
_NOT_DUCKDBS: Final = re.compile(
    r"\b(insert|update|delete|truncate|merge|create|copy|changes|version\s+as|timestamp\s+as|at\s*\()|=>|@|\.lance\b(?!')",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Consent:
    """What was agreed to beforehand, as for the verbs that change tables.

    yes: nobody is asked
    every: a statement that removes all rows is meant
    dry_run: nothing is changed
    """

    yes: bool = False
    every: bool = False
    dry_run: bool = False


def run(
    connection: Any,
    sql: str,
    output: str,
    *,
    max_rows: int | None = None,
    quiet: bool = False,
    consent: Consent | None = None,
) -> None:
    """Runs statements, and shows the rows of each that has some. All are parsed before the first one is run.

    Those that change Lance tables go to the verbs of `Dataset`; those with clauses that DuckDB does not have are
    translated; the others are DuckDB's.

    connection: of DuckDB
    output, max_rows: as for `screen.show`
    quiet: no progress
    raises: DuckDB's own errors; InvalidArgument for copies into files that are called as Lance tables, for statements
        that remove every row unless that is meant, and for several statements in Arrow's format, which holds one table
    """
    import duckdb

    if _NOT_DUCKDBS.search(sql):
        from lance_sql.cli import translated

        found = translated.understood(connection, sql)
    else:
        found = connection.extract_statements(sql)
    if output == "arrow" and len(found) > 1:
        raise InvalidArgument(f"Arrow output holds one table, and these are {len(found)} statements")
    # rows that are shown as they come would run into the line
    hidden = quiet or (output != "table" and sys.stdout.isatty())
    with interruptible(connection):
        for statement in found:
            if not isinstance(statement, duckdb.Statement):
                if translated.changes_table(connection, statement, consent or Consent()):
                    continue
                with progress.watched(connection, hidden=hidden) as count:
                    screen.show(count(translated.read(connection, statement)), output, max_rows=max_rows)
                continue
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
