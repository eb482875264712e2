"""Changes of single rows that a query finds: it returns the rows, their actions, and their new values.

    __lance_clause    the action for the row: the number of a clause
    _rowid            of the row of the table; NULL for a new one
    _rowaddr
    v0, v1, ..        new values of the columns that a clause sets, each clause its own: they may have other types

Columns that its clause does not set are read by row id, so that their values stay exactly the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.casts.assignment import assign
from lance_sql.jobs.distributed import CHANGE, DELETE, WRITE, ChangeJob, Written, change_rows
from lance_sql.one_sql.engines import Engine
from lance_sql.providers.sources import Source
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.reads.scan.take import parts
from lance_sql.values.selection import matching

CLAUSE: Final = "__lance_clause"
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
    """Returns a system column of the table."""
    return exp.column(name, table=table, quoted=True)


def check_engine(engine: Engine, statement: str) -> None:
    """
    raises: UnsupportedFeature, with an alternative, for engines that do not compute changes of rows
    """
    if engine.name == "duckdb":
        return
    way = "engine='duckdb' does" + (", and so does lance_sql.spark.LanceTable" if engine.name == "spark" else "")
    raise UnsupportedFeature(f"{engine.title} computes no {statement}: {way}")


def change(
    dataset: Dataset,
    operation: str,
    engine: Engine,
    query: Callable[[str, Assign], exp.Expr],
    *,
    values: Mapping[int, Mapping[str, str]],
    deleting: frozenset[int],
    inserts: bool = False,
    skips_equal: bool = False,
) -> Dataset:
    """Changes the rows that a query finds in the newest version, in one commit.

    query: returns the query, from the name of the table in it and a function that casts a value to a column
    values: by the number of a clause: for each column that it sets, the column of the query with the new values
    deleting: numbers of clauses whose rows are deleted
    inserts: there may be new rows
    skips_equal: rows that already have the new values are not written
    raises: InvalidArgument when a row is changed twice, and for values that a column does not hold; CommitConflict
    """

    def run(job: ChangeJob) -> list[Written]:
        name = new_name()
        source = Source(job.dataset, with_system_columns=True)
        types = engine.column_types(source)
        rows = query(name, lambda column, value: engine.cast(value, types.get(column)))
        prepared = engine.prepare(rows, {name: source}, is_typed=False)
        return [job.write(_batches(prepared.reader(), job.dataset, values, deleting, inserts))]

    return change_rows(dataset, operation, run, inserts_by_key=inserts, skips_equal=skips_equal)


def delete(dataset: Dataset, engine: Engine, query: Callable[[str], exp.Expr]) -> Dataset:
    """Deletes the rows that a query finds in the newest version, in one commit.

    query: returns the query from the name of the table in it; its only column is `_rowaddr`
    raises: as `change`
    """

    def run(job: ChangeJob) -> list[Written]:
        name = new_name()
        source = Source(job.dataset, with_system_columns=True)
        prepared = engine.prepare(query(name), {name: source}, is_typed=False)
        return [job.delete(map(_with_rows, prepared.reader()))]

    return change_rows(dataset, "delete", run)


def _with_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """
    raises: UnsupportedFeature for rows that the table does not have
    """
    if batch.column(ROW_ADDRESS).null_count:
        raise UnsupportedFeature("The statement joins its table from the outer side, and names rows that it has not")
    return batch


def _batches(
    batches: Iterable[pa.RecordBatch],
    dataset: Dataset,
    values: Mapping[int, Mapping[str, str]],
    deleting: frozenset[int],
    inserts: bool,
) -> Iterator[pa.RecordBatch]:
    """Converts the rows of the query to batches for `ChangeJob.write`."""
    for batch in batches:
        if not inserts:
            _with_rows(batch)
        for number in pc.unique(batch.column(CLAUSE)).to_pylist():
            rows = matching(batch, pc.equal(batch.column(CLAUSE), number))
            if number in deleting:
                yield _assembled(rows, DELETE, dataset, {}, has_old=False)
                continue
            is_new = pc.is_null(rows.column(ROW_ADDRESS))
            for part, has_old in ((matching(rows, pc.invert(is_new)), True), (matching(rows, is_new), False)):
                for some in _parts(part, dataset, values[number]) if has_old else [part]:
                    if some.num_rows:
                        yield _assembled(some, WRITE, dataset, values[number], has_old=has_old)


def _parts(rows: pa.RecordBatch, dataset: Dataset, set_at: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """Splits the rows into parts that fit in memory together with the columns that are not set: rows of the query are
    short, and those of the table may be long."""
    columns = resolve(dataset.snapshot, _others(dataset, set_at))
    ids = rows.column(ROW_ID).cast(pa.uint64()).to_numpy()
    for part in parts(dataset.snapshot, columns, ids, more_bytes=rows.nbytes / max(rows.num_rows, 1)):
        yield rows.slice(part.start, part.stop - part.start)


def _others(dataset: Dataset, set_at: Mapping[str, str]) -> list[str]:
    return [name for name in dataset.schema.names if name not in set_at]


def _assembled(
    part: pa.RecordBatch, kind: str, dataset: Dataset, set_at: Mapping[str, str], *, has_old: bool
) -> pa.RecordBatch:
    """
    has_old: the rows exist, and keep the values of columns that are not set
    """
    schema = dataset.schema
    others = _others(dataset, set_at)
    old = dataset.take(part.column(ROW_ID), others).combine_chunks() if has_old and others else None
    arrays: list[Any] = []
    for field in schema:
        if kind == DELETE:
            arrays.append(pa.nulls(part.num_rows, field.type))
        elif field.name in set_at:
            arrays.append(assign(field.name, part.column(set_at[field.name]), field))
        elif old is not None:
            arrays.append(_whole(old.column(field.name)))
        else:
            arrays.append(pa.nulls(part.num_rows, field.type))
    fields = [*(field.with_nullable(True) for field in schema)]
    fields += [pa.field(ROW_ID, pa.uint64()), pa.field(ROW_ADDRESS, pa.uint64()), pa.field(CHANGE, pa.string())]
    arrays += [part.column(ROW_ID), part.column(ROW_ADDRESS), pa.repeat(kind, part.num_rows)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
