"""Changes of single rows that a query of DuckDB finds: it says which rows, what becomes of them, and their new values.

    __clause      what becomes of the row: the number of a clause
    _rowid        of the row of the table; NULL for a new one
    _rowaddr
    v0, v1, ..    new values of the columns that the statement sets

Columns that it does not set are read by row id, so that they stay exactly what they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lance_sql.casts.assignment import assign
from lance_sql.dataset import Dataset
from lance_sql.distributed import CHANGE, DELETE, WRITE, ChangeJob, Written, change_rows
from lance_sql.errors import UnsupportedFeature
from lance_sql.one_sql.engines import Engine
from lance_sql.providers.sources import Source
from lance_sql.scan.system_columns import ROW_ADDRESS, ROW_ID

CLAUSE: Final = "__clause"
_numbers = itertools.count()


def new_name() -> str:
    """A name that nothing else has, for a table in a query."""
    return f"__lance_target_{next(_numbers)}"


def value_column(number: int) -> str:
    """What the query calls the new values of a column."""
    return f"v{number}"


def system(name: str, table: str) -> exp.Column:
    """A system column of the table."""
    return exp.column(name, table=table, quoted=True)


def check_engine(engine: Engine, statement: str) -> None:
    """
    raises: UnsupportedFeature, with the way out, for engines that do not compute changes of rows
    """
    if engine.name == "duckdb":
        return
    way = "engine='duckdb' does" + (", and so does lance_sql.spark.LanceTable" if engine.name == "spark" else "")
    raise UnsupportedFeature(f"{engine.title} computes no {statement}: {way}")


def change(
    dataset: Dataset,
    operation: str,
    engine: Engine,
    query: Callable[[str], exp.Expr],
    *,
    columns: Sequence[str],
    deleting: frozenset[int],
    inserts: bool = False,
) -> Dataset:
    """Changes the rows that a query finds in the newest version, in one commit.

    query: the query, of the name that the table has in it
    columns: that it has new values for, in the order of `value_column`
    deleting: numbers of clauses whose rows go
    inserts: there may be new rows
    raises: InvalidArgument when a row is changed twice, and for values that a column does not hold; CommitConflict
    """

    def run(job: ChangeJob) -> list[Written]:
        name = new_name()
        prepared = engine.prepare(query(name), {name: Source(job.dataset, with_system_columns=True)})
        return [job.write(_batches(prepared.read(), job.dataset, columns, deleting))]

    return change_rows(dataset, operation, run, inserts_by_key=inserts)


def _batches(
    reader: pa.RecordBatchReader, dataset: Dataset, columns: Sequence[str], deleting: frozenset[int]
) -> Iterator[pa.RecordBatch]:
    """What `ChangeJob.write` takes."""
    set_at = {name: value_column(number) for number, name in enumerate(columns)}
    for batch in reader:
        is_deleted = pc.is_in(batch.column(CLAUSE), pa.array(sorted(deleting), batch.column(CLAUSE).type))
        is_new = pc.is_null(batch.column(ROW_ADDRESS))
        kept = batch.filter(pc.invert(is_deleted))
        parts = (
            (batch.filter(is_deleted), DELETE, False),
            (kept.filter(pc.invert(is_new.filter(pc.invert(is_deleted)))), WRITE, True),
            (kept.filter(is_new.filter(pc.invert(is_deleted))), WRITE, False),
        )
        for part, kind, has_old in parts:
            if part.num_rows:
                yield _assembled(part, kind, dataset, set_at, has_old=has_old)


def _assembled(
    part: pa.RecordBatch, kind: str, dataset: Dataset, set_at: Mapping[str, str], *, has_old: bool
) -> pa.RecordBatch:
    """
    has_old: the rows are there already, and keep what is not set
    """
    schema = dataset.schema
    others = [name for name in schema.names if name not in set_at]
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
