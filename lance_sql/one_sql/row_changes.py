"""Changes of single rows that a query finds: it returns the rows, their actions, and their new values.

    CHANGE            the action for the row: the number of a clause
    _rowid            of the row of the table; NULL for a new one
    _rowaddr
    v0, v1, ..        new values of the columns that a clause sets, each clause its own: they may have other types

Columns that its clause does not set are read by row id, so that their values stay exactly the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.jobs.distributed import ChangeJob, Clauses, Written, change_rows
from lance_sql.one_sql.engines import Engine
from lance_sql.providers.adapter import every
from lance_sql.providers.sources import Source
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.writes.statements.row_changes import deleted, system_column

_numbers = itertools.count()

Assign: TypeAlias = Callable[[str, exp.Expr], exp.Expr]
"""Casts a value to the type of a column, by the column's name, in the engine."""


def new_name() -> str:
    """Returns a unique name for a table in a query."""
    return f"__lance_target_{next(_numbers)}"


def value_column(number: int) -> str:
    """Returns the name of the query's column with the new values of a column."""
    return f"v{number}"


def named(name: str, alias: str) -> exp.Table:
    """Returns the table with its alias in the statement, which may be an SQL keyword."""
    return exp.Table(this=exp.to_identifier(name), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def system(name: str, table: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def check_engine(engine: Engine, statement: str) -> None:
    """
    raises: UnsupportedFeature, with an alternative, for engines that do not compute changes of rows
    """
    if engine.adapter.changes_rows:
        return
    able = " or ".join(f"engine={each.name!r}" for each in every() if each.changes_rows)
    also = f", and so does {engine.adapter.instead}" if engine.adapter.instead else ""
    raise UnsupportedFeature(f"{engine.title} cannot compute {statement}: {able} does{also}")


def change(
    dataset: Dataset,
    operation: str,
    engine: Engine,
    query: Callable[[str, Assign], exp.Expr],
    *,
    clauses: Clauses,
    inserts: bool = False,
    skips_equal: bool = False,
) -> Dataset:
    """Changes the rows that a query finds in the newest version, in one commit.

    query: returns the query, from the name of the table in it and a function that casts a value to a column
    clauses: by the number of a clause
    inserts: there may be new rows
    skips_equal: rows that already have the new values are not written
    raises: InvalidArgument when a row is changed twice, and for values that a column does not hold; CommitConflict
    """

    def run(job: ChangeJob) -> list[Written]:
        name = new_name()
        source = _with_system_columns(job.dataset, ROW_ID, ROW_ADDRESS)
        types = engine.column_types(source)
        rows = query(name, lambda column, value: engine.cast(value, types.get(column)))
        prepared = engine.prepare(rows, {name: source}, is_typed=False)
        rows_of_query = prepared.reader()
        return [job.write(rows_of_query if inserts else map(_with_rows, rows_of_query), clauses)]

    return change_rows(dataset, operation, run, inserts_by_key=inserts, skips_equal=skips_equal)


def delete(dataset: Dataset, engine: Engine, query: Callable[[str], exp.Expr]) -> Dataset:
    """Deletes the rows that a query finds in the newest version, in one commit.

    query: returns the query from the name of the table in it; its only column is `_rowaddr`
    raises: as `change`
    """

    def run(job: ChangeJob) -> list[Written]:
        name = new_name()
        source = _with_system_columns(job.dataset, ROW_ADDRESS)
        prepared = engine.prepare(query(name), {name: source}, is_typed=False)
        batches = map(_with_rows, prepared.reader())
        return [job.apply(deleted(system_column(batch, ROW_ADDRESS)) for batch in batches)]

    return change_rows(dataset, "delete", run)


def _with_system_columns(dataset: Dataset, *needed: str) -> Source:
    """
    needed: names of system columns
    raises: InvalidArgument for a column of the table that hides one of them
    """
    for name in dataset.schema.names:
        if name.lower() in needed:
            raise InvalidArgument(
                f"The column {name!r} of {dataset.snapshot.label} differs from the system column {name.lower()!r} only"
                " in case, which SQL ignores: rename it, or use a verb of Dataset"
            )
    return Source(dataset, with_system_columns=True)


def _with_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """
    raises: UnsupportedFeature for rows that the table does not have
    """
    if batch.column(ROW_ADDRESS).null_count:
        raise UnsupportedFeature(
            "An outer join returns rows that the table does not have: use an inner or left join from the table"
        )
    return batch
