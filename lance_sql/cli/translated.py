"""Running statements on Lance tables that DuckDB does not run, after confirmation."""

from __future__ import annotations

from typing import Any, Final

import click
import pyarrow as pa

from lance_sql.cli import progress
from lance_sql.cli.agreement import Consent, agreed, done
from lance_sql.cli.merge import counts_in_words
from lance_sql.cli.whole_statements import of_duckdb
from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.named_tables import looked_up_in
from lance_sql.one_sql.running import write
from lance_sql.one_sql.statements import Statement, for_duckdb
from lance_sql.one_sql.tasks import Task
from lance_sql.one_sql.writing_statements import Change
from lance_sql.one_sql.written import Written
from lance_sql.providers.adapter import named
from lance_sql.providers.duckdb.names import DuckDBNames

_OF_ROWS: Final = ("append", "create", "delete", "insert", "merge", "nothing", "overwrite", "update")


def understood(connection: Any, sql: str) -> list[Any]:
    """Parses statements: those on Lance tables as `Statement`, and the others as DuckDB's statements.

    connection: of DuckDB
    raises: DuckDB's own errors; InvalidArgument and UnsupportedFeature for those on Lance tables
    """
    statements: list[Any] = []
    with looked_up_in(DuckDBNames(connection)):
        parts = for_duckdb(sql)
    for part in parts:
        statements += [part] if isinstance(part, Statement) else of_duckdb(connection, part)
    return statements


def carry_out(connection: Any, statement: Statement, consent: Consent, *, quiet: bool = False) -> pa.Table | None:
    """Runs a statement after confirmation; returns its table, or None if the result is one printed line."""
    engine = _engine(connection)
    if not consent.dry_run and (statement.task is None or statement.task.changes):
        engine.check_no_transaction()
    with looked_up_in(DuckDBNames(connection)):
        if statement.task is not None:
            return _perform(statement.task, engine, consent)
        assert statement.change is not None, "no query"
        _change(statement.change, statement.text, engine, consent, quiet=quiet)
    return None


def _perform(task: Task, engine: Engine, consent: Consent) -> pa.Table | None:
    question = None if consent.yes and not consent.dry_run else task.question
    if question is not None and not agreed(question, consent.dry_run, yes=False):
        return None
    return task.run(engine, dry_run=consent.dry_run)


def _engine(connection: Any) -> Engine:
    return Engine(named("duckdb"), connection, is_spoken=True)


def _change_in_words(written: Written, *, is_done: bool = False) -> str | None:
    change = written.change
    counts = change.rows_inserted, change.rows_updated, change.rows_deleted, change.rows_equal
    return counts_in_words(*counts, is_done=is_done)


def _change(change: Change, text: str, engine: Engine, consent: Consent, *, quiet: bool) -> None:
    """Runs a change; asks for confirmation first if it replaces rows."""
    if change.is_for_all_rows and not consent.every:
        raise InvalidArgument(f"This {change.verb} every row of {change.path}: pass --all, or add WHERE true")
    if change.question is not None:
        if consent.dry_run:
            write(change, engine, text, all_rows=True, dry_run=True)
        if not (consent.yes and not consent.dry_run) and not agreed(change.question, consent.dry_run, yes=False):
            return
    elif consent.dry_run or (change.replaces and not consent.yes):
        with progress.shown("rows tried", hidden=quiet):
            expected = _change_in_words(write(change, engine, text, all_rows=True, dry_run=True))
        if expected is None:
            click.echo(f"Nothing to change in {change.path}.", err=True)
            return
        if not agreed(f"{expected} in {change.path}", consent.dry_run, yes=False):
            return
    with progress.shown("rows written", hidden=quiet):
        written = write(change, engine, text, all_rows=True)
    if written.dataset is not None:
        done(written.dataset, _change_in_words(written, is_done=True) or _without_rows(written.change.operation))


def _without_rows(operation: str) -> str:
    return "no row changed" if operation in _OF_ROWS else operation.replace("_", " ")
