"""Spark jobs whose tasks write, and return messages about the written files."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.jobs.distributed import CHANGE, ChangeJob, CompactionJob, Written
from lance_sql.values import kinds

from . import types as spark_types
from .errors import short_errors

_MESSAGE: Final = "message"
_SCHEMA: Final = pa.schema([(_MESSAGE, pa.binary())])
_ROW_ID: Final = "_rowid"
_ROW_ADDRESS: Final = "_rowaddr"


def run_changes(job: ChangeJob, changes: DataFrame) -> list[Written]:
    """Writes the rows of a frame in Spark's tasks.

    changes: as for `ChangeJob.write`, in Spark's types; rows to delete need no other columns
    raises: errors of a task, as one line
    """
    # ascending ids take a bit or a few bytes each in the manifest, and neighboring rows stay together
    ordered = changes.sortWithinPartitions(_ROW_ADDRESS)
    written: list[Written] = run_tasks(ordered, partial(_write_changes, job))
    return written


def run_compaction(spark: SparkSession, job: CompactionJob) -> list[Any]:
    """Rewrites the groups of a compaction, each in its own Spark task."""
    count = len(job.groups)
    done = dict(run_tasks(spark.range(0, count, 1, count), partial(_write_groups, job)))
    return [done[number] for number in range(count)]


def run_tasks(frame: DataFrame, write: Callable[[Iterator[pa.RecordBatch]], list[Any]]) -> list[Any]:
    """Runs a function on the rows of each task, and returns the results of all tasks in one list.

    write: picklable, like its results
    raises: errors of a task, as one line
    """
    with short_errors():
        rows = frame.mapInArrow(partial(_as_messages, write), f"{_MESSAGE} binary").collect()
    results: list[Any] = []
    # frees each message as soon as possible
    while rows:
        results += pickle.loads(rows.pop()[_MESSAGE])
    return results


def _as_messages(
    write: Callable[[Iterator[pa.RecordBatch]], list[Any]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields one row with all results, in a worker."""
    yield pa.RecordBatch.from_pydict({_MESSAGE: [pickle.dumps(write(batches))]}, _SCHEMA)


def _write_changes(job: ChangeJob, batches: Iterator[pa.RecordBatch]) -> list[Written]:
    types = [*table_types(job.dataset), (_ROW_ID, pa.uint64()), (_ROW_ADDRESS, pa.uint64()), (CHANGE, pa.string())]
    known = {field.name: field for field in pa.schema(types)}
    cast = (spark_types.cast(batch, pa.schema([known[name] for name in batch.schema.names])) for batch in batches)
    return [job.write(cast)]


def _write_groups(job: CompactionJob, batches: Iterator[pa.RecordBatch]) -> list[Any]:
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    return [(number, job.write(number)) for number in numbers]


def table_types(dataset: Dataset) -> pa.Schema:
    """Returns the columns of a table without metadata, and extension types as their storage types.

    raises: InvalidArgument for names that the job reserves
    """
    fields = []
    for field in dataset.schema:
        if field.name in (_ROW_ID, _ROW_ADDRESS, CHANGE):
            raise InvalidArgument(
                f"{dataset.uri} has a column {field.name!r}, which is reserved for changes in Spark: rename it"
            )
        type = kinds.storage(field.type)
        fields.append(pa.field(field.name, type))
    return pa.schema(fields)
