"""Running SQL statements, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lance_sql.cli import progress, screen
from lance_sql.cli.agreement import Consent
from lance_sql.cli.interrupts import interruptible
from lance_sql.cli.whole_statements import Whole, of_duckdb
from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.connections import may_be_ours


def run(
    connection: Any,
    sql: str,
    output: str,
    *,
    max_rows: int | None = None,
    quiet: bool = False,
    consent: Consent | None = None,
) -> None:
    """Runs statements, and shows the rows of each that has some. All are parsed before the first one runs.

    Statements on Lance tables that DuckDB does not run go to the verbs of `Dataset`; the others go to DuckDB.

    connection: of DuckDB
    output, max_rows: as for `screen.show`
    quiet: no progress
    raises: DuckDB's own errors; InvalidArgument for statements that remove every row without consent, and for
        several statements in Arrow's format, which holds one table
    """
    import duckdb

    statements: list[Any]
    if may_be_ours(sql):
        from lance_sql.cli import translated

        statements = translated.understood(connection, sql)
    else:
        statements = of_duckdb(connection, sql)
    if output == "arrow" and len(statements) > 1:
        raise InvalidArgument(
            f"Arrow output holds one table, not the results of {len(statements)} statements: run one statement"
        )
    # rows shown as they arrive would overwrite the line
    hidden = quiet or (output != "table" and sys.stdout.isatty())
    with interruptible(connection), _named(sql):
        for statement in statements:
            if not isinstance(statement, duckdb.Statement | Whole):
                answer = translated.carry_out(connection, statement, consent or Consent(), quiet=quiet)
                if answer is not None:
                    screen.show(answer.to_reader(), output, max_rows=max_rows)
                continue
            with progress.watched(connection, hidden=hidden) as count:
                result = connection.sql(statement.query)
                if result is None:
                    continue
                if list(result.columns) == ["explain_key", "explain_value"] and output == "table":
                    screen.show_text("\n".join(plan for _, plan in result.fetchall()))
                elif _is_count(statement, result):
                    changed = sum(number for (number,) in result.fetchall())
                    click.echo(f"{changed:,} {'row' if changed == 1 else 'rows'} {_done(statement)}", err=True)
                else:
                    screen.show(count(result.to_arrow_reader()), output, max_rows=max_rows, types=True)


@contextmanager
def _named(sql: str) -> Iterator[None]:
    """Adds the statements to errors, for their explanation."""
    try:
        yield
    except Exception as error:
        error.add_note(sql)
        raise


def _done(statement: Any) -> str:
    """Returns the participle for the effect of a statement on rows."""
    import duckdb

    done = {duckdb.StatementType.DELETE: "deleted", duckdb.StatementType.UPDATE: "updated"}
    return done.get(statement.type, "written")


def _is_count(statement: Any, result: Any) -> bool:
    """Whether a statement only returns the number of changed rows."""
    import duckdb

    changes = duckdb.ExpectedResultType.CHANGED_ROWS in statement.expected_result_type
    return changes and list(result.columns) == ["Count"]
