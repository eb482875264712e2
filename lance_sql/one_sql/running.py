"""Running a statement in an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Unpack

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.one_sql.dialects import syntax_of
from lance_sql.one_sql.engines import Engine, engine_of
from lance_sql.one_sql.named_tables import looked_up_in
from lance_sql.one_sql.parameters import with_values
from lance_sql.one_sql.query_rows import Rows
from lance_sql.one_sql.statements import understand
from lance_sql.one_sql.writing_statements import Change
from lance_sql.one_sql.written import Written
from lance_sql.providers import attached
from lance_sql.runtime import observing
from lance_sql.runtime.progress import Progress, reporting
from lance_sql.store.access import AccessOptions, within
from lance_sql.table import commit_origin
from lance_sql.table.commit_summary import CommitSummary
from lance_sql.values.keywords import suggests_keywords


@suggests_keywords
def sql(
    text: str,
    parameters: Sequence[Any] | Mapping[str, Any] | str | None = None,
    engine: str | None = None,
    *,
    dialect: str | None = None,
    connection: Any = None,
    session: Any = None,
    all_rows: bool = False,
    dry_run: bool = False,
    job: str | None = None,
    progress: Progress | None = None,
    **access: Unpack[AccessOptions],
) -> Rows | Written:
    """Runs a statement over Lance tables, with the same SQL in every engine.

    Tables are 'orders.lance', 'orders.lance@41', orders.lance@audited without quotes, `lance_scan('orders.lance',
    version => 41)` and the other table functions with the arguments that they have in DuckDB; `VERSION AS OF 41`,
    `TIMESTAMP AS OF '...'` and `CHANGES FROM VERSION 5 TO VERSION 9` of Spark, and `AT (VERSION => 41)`, follow a path.
    All are opened before the query runs, so it reads one version of each.

    `INSERT`, `UPDATE`, `DELETE`, `MERGE INTO`, `CREATE TABLE 'x.lance' AS` and `COPY .. TO 'x.lance' (FORMAT lance)`
    write by the verbs of `Dataset`, in one commit, which keeps the ids of rows and records the statement.

    text: one statement
    parameters: values for `?` or `$1` in order, or for `$name` by name (also `:name` in Spark's dialect), as literals
        of the text; or, in place of values, the engine
    engine: "duckdb", "datafusion", "spark", or "sail" for Spark's SQL without Java; the one that `connection` or
        `session` belongs to, else "duckdb"
    dialect: the dialect of the text, by its name in sqlglot; the engine's own by default
    connection, session: of the engine, with its own tables and views: a DuckDB connection, a SessionContext, or a
        SparkSession; by default a new one, or Spark's active one
    all_rows: confirms a DELETE or UPDATE without WHERE, or TRUNCATE
    dry_run: changes nothing; a statement that writes runs in a clone of its table, which is removed
    job: the name of the job of the statement, recorded in its commit; by default, the environment variable
        LANCE_SQL_JOB
    progress: called with the number of rows done, and the total or None, by statements that write or maintain tables
    access: keywords of `lance_sql.open`, such as storage_options, for the tables that the statement names; those of a
        connection from `connect` are its own
    returns: rows with Arrow's stream interface, and `to_table()`; for statements that write, one row with a summary,
        and the new version as `dataset`
    raises: InvalidArgument for text that is not SQL, and for invalid arguments; UnsupportedFeature, naming the
        engine and the construct, for features that the engine lacks; TableNotFound, VersionNotFound; errors of DuckDB
        and Spark for text in their own dialects; CommitConflict

    >>> lance_sql.sql("SELECT count(*) AS n FROM 'examples/orders.lance' VERSION AS OF 4", "datafusion").to_pylist()
    [{'n': 400}]
    >>> lance_sql.sql("SELECT status FROM 'examples/orders.lance' WHERE id = $id", {"id": 2}).fetchall()
    [('shipped',)]
    """
    if isinstance(parameters, str):
        if engine is not None:
            raise InvalidArgument(f"The engine is given twice, {parameters!r} and {engine!r}: leave one of them out")
        engine, parameters = parameters, None
    wanted = engine_of(engine, connection, session, dialect)
    of_target = attached.access_of(wanted.target)
    with within(of_target), within(access), looked_up_in(wanted.adapter.names(wanted.target)), reporting(progress):
        return _run(text, parameters, wanted, dialect, all_rows=all_rows, dry_run=dry_run, job=job)


def _run(
    text: str,
    parameters: object,
    wanted: Engine,
    dialect: str | None,
    *,
    all_rows: bool,
    dry_run: bool,
    job: str | None,
) -> Rows | Written:
    name = wanted.name if dialect is None else dialect.lower()
    syntax = syntax_of(name)
    given = text if parameters is None else with_values(text, parameters, syntax)
    statement = understand(given, syntax.dialect(), in_own_words=wanted.runs_as_typed)
    if statement.change is not None:
        # the commit records the text without the values
        recorded = statement.text if parameters is None else text
        return write(statement.change, wanted, recorded, all_rows=all_rows, dry_run=dry_run, job=job)
    if statement.task is not None:
        with observing.recorded("statement", engine=wanted.name, statement=text.strip()):
            answer = statement.task.perform(wanted, dry_run=dry_run)
        return Rows(wanted.name, text.strip(), answer.to_reader)
    assert statement.tree is not None, "a query"
    prepared = wanted.prepare(statement.tree, is_kept=True)
    read = prepared.read if wanted.adapter.runs_as_typed else prepared.reader
    return Rows(wanted.name, prepared.statement, partial(_read, read, wanted.name, text.strip()))


def _read(read: Callable[[], pa.RecordBatchReader], engine: str, text: str) -> pa.RecordBatchReader:
    """Runs a query, and records it when its rows are read."""
    watch = observing.begin("statement")
    if watch is None:
        return read()
    watch.note(engine=engine, statement=text)
    with ExitStack() as if_it_fails:
        if_it_fails.enter_context(watch)
        reader = read()
        if_it_fails.pop_all()
    return pa.RecordBatchReader.from_batches(reader.schema, watch.over(reader))


def write(
    change: Change, engine: Engine, text: str, *, all_rows: bool = False, dry_run: bool = False, job: str | None = None
) -> Written:
    """Runs a change, or rehearses it.

    text: of the statement, which the commit records
    raises: as `sql`
    """
    if change.is_for_all_rows and not all_rows:
        raise InvalidArgument(f"This {change.verb} every row of {change.path}: add WHERE true, or pass all_rows=True")
    if not dry_run:
        engine.check_no_transaction()
    watched = observing.recorded("statement", engine=engine.name, statement=text.strip(), table=change.path)
    with commit_origin.of(text.strip(), job), watched:
        dataset, numbers = change.rehearse(engine) if dry_run else change.report(change.path, engine)
    done = dataset.last_change or CommitSummary(change.operation, 0, 0, 0, 0, 0)
    return Written(None if dry_run else dataset, done, numbers)
