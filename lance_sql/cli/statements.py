"""Statements of SQL: those that are run, one after the other, and those that are not."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click
from sqlglot import exp

from lance_sql.cli import progress, screen
from lance_sql.cli.agreement import agreed, done
from lance_sql.cli.interrupts import interruptible
from lance_sql.cli.merge import told_of
from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.changes import Change
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import dialect_of, parse
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.running import write
from lance_sql.one_sql.statements import Statement, split, understand, writes
from lance_sql.one_sql.written import Written


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
    found = [each for piece in _pieces(sql) for each in _understood(connection, piece)]
    if output == "arrow" and len(found) > 1:
        raise InvalidArgument(f"Arrow output holds one table, and these are {len(found)} statements")
    # rows that are shown as they come would run into the line
    hidden = quiet or (output != "table" and sys.stdout.isatty())
    engine = Engine("duckdb", connection, is_spoken=True)
    with interruptible(connection):
        for statement in found:
            if isinstance(statement, Statement) and statement.change is not None:
                _change(statement.change, statement.text, engine, consent or Consent())
                continue
            with progress.watched(connection, hidden=hidden) as count:
                if isinstance(statement, Statement):
                    reader = engine.prepare(statement.tree).read()
                    screen.show(count(reader), output, max_rows=max_rows)
                    continue
                result = connection.sql(statement.query)
                if result is None:
                    continue
                if _is_count(statement, result):
                    changed = sum(number for (number,) in result.fetchall())
                    click.echo(f"{changed:,} {'row' if changed == 1 else 'rows'} written", err=True)
                else:
                    screen.show(count(result.to_arrow_reader()), output, max_rows=max_rows)


def _told(written: Written) -> str | None:
    change = written.change
    return told_of(change.rows_inserted, change.rows_updated, change.rows_deleted)


def _pieces(sql: str) -> list[str]:
    """The statements, each by itself; all of them together where they cannot be told apart, for DuckDB to complain."""
    try:
        return split(sql, dialect_of("duckdb")) or [sql]
    except InvalidArgument:
        return [sql]


def _understood(connection: Any, piece: str) -> list[Any]:
    """A statement that is ours, or those that DuckDB makes of it."""
    dialect = dialect_of("duckdb")
    try:
        rewritten = rewrite(piece, dialect)
        trees = parse(rewritten, dialect)
    except InvalidArgument:
        trees, rewritten = [], piece
    if len(trees) == 1 and writes(trees[0]):
        return [understand(piece, dialect)]
    if len(trees) == 1 and isinstance(trees[0], exp.Query) and understand(piece, dialect).needs_translation:
        return [understand(piece, dialect)]
    refuse_copies(connection, piece)
    statements: list[Any] = connection.extract_statements(piece)
    return statements


def _change(change: Change, text: str, engine: Engine, consent: Consent) -> None:
    """Carries a change out, after it was agreed to where something is replaced."""
    if change.is_for_all_rows and not consent.every:
        raise InvalidArgument(f"This removes every row of {change.path}: give --all, or say WHERE true")
    if consent.dry_run or (change.replaces and not consent.yes):
        expected = _told(write(change, engine, text, all_rows=True, dry_run=True))
        if expected is None:
            click.echo(f"Nothing to change in {change.path}.", err=True)
            return
        if not agreed(f"{expected} in {change.path}", consent.dry_run, yes=False):
            return
    made = write(change, engine, text, all_rows=True)
    if made.dataset is not None:
        done(made.dataset, _told(made) or "no row changed")


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
            raise InvalidArgument(
                f"{target} would be a file of another format: COPY .. TO '{target}' (FORMAT lance) makes a table"
            )
