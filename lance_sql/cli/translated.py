"""Statements in which a parser of our own has a part: those that change Lance tables, those with clauses that DuckDB
does not have, and copies into files that are called as Lance tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import sqlglot
from sqlglot import exp

from lance_sql.cli.agreement import agreed, done
from lance_sql.cli.merge import told_of
from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.changes import Change
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import dialect_of, parse
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.running import write
from lance_sql.one_sql.statements import Statement, split, understand, writes
from lance_sql.one_sql.written import Written

if TYPE_CHECKING:
    from lance_sql.cli.statements import Consent


def understood(connection: Any, sql: str) -> list[Any]:
    """The statements: ours, as `Statement`, and those that DuckDB makes of the others.

    connection: of DuckDB
    raises: DuckDB's own errors; InvalidArgument for copies into files that are called as Lance tables
    """
    return [each for piece in _pieces(sql) for each in _understood(connection, piece)]


def changes_table(connection: Any, statement: Statement, consent: Consent) -> bool:
    """Carries out a statement that changes a table, after it was agreed to; False for one that asks for rows."""
    if statement.change is None:
        return False
    _change(statement.change, statement.text, _engine(connection), consent)
    return True


def read(connection: Any, statement: Statement) -> Any:
    """The rows that a statement asks for, as a RecordBatchReader."""
    return _engine(connection).prepare(statement.tree).read()


def _engine(connection: Any) -> Engine:
    return Engine("duckdb", connection, is_spoken=True)


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
        return [understand(piece, dialect, in_own_words=True)]
    if len(trees) == 1 and isinstance(trees[0], exp.Query) and understand(piece, dialect).needs_translation:
        return [understand(piece, dialect, in_own_words=True)]
    refuse_copies(connection, piece)
    statements: list[Any] = connection.extract_statements(piece)
    return statements


def _change(change: Change, text: str, engine: Engine, consent: Consent) -> None:
    """Carries a change out, after it was agreed to where something is replaced."""
    if change.is_for_all_rows and not consent.every:
        raise InvalidArgument(f"This {change.verb} every row of {change.path}: give --all, or say WHERE true")
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
