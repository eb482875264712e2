"""Jobs of Spark in which the tasks write, and give back what they wrote as messages."""

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

from . import types as spark_types
from .errors import short_errors

_MESSAGE: Final = "message"
_SCHEMA: Final = pa.schema([(_MESSAGE, pa.binary())])
_ROW_ID: Final = "_rowid"
_ROW_ADDRESS: Final = "_rowaddr"


def run_changes(job: ChangeJob, changes: DataFrame) -> list[Written]:
    """Has the tasks write the rows of a frame.

    changes: as `ChangeJob.write` takes them, in Spark's types
    raises: what a task raises, as one line
    """
    # ids that ascend take a bit or a few bytes each in the manifest, and rows that were neighbours stay so
    ordered = changes.sortWithinPartitions(_ROW_ADDRESS)
    written: list[Written] = run_tasks(ordered, partial(_write_changes, job))
    return written


def run_compaction(spark: SparkSession, job: CompactionJob) -> list[Any]:
    """Has the tasks rewrite the groups of a compaction, each in a task of its own."""
    count = len(job.groups)
    done = dict(run_tasks(spark.range(0, count, 1, count), partial(_write_groups, job)))
    return [done[number] for number in range(count)]


def run_tasks(frame: DataFrame, write: Callable[[Iterator[pa.RecordBatch]], list[Any]]) -> list[Any]:
    """What a function gives for the rows of each task, of all tasks in one list.

    write: picklable, and so is what it gives
    raises: what a task raises, as one line
    """
    with short_errors():
        rows = frame.mapInArrow(partial(_as_messages, write), f"{_MESSAGE} binary").collect()
    results: list[Any] = []
    # no message is there any longer than needed
    while rows:
        results += pickle.loads(rows.pop()[_MESSAGE])
    return results


def _as_messages(
    write: Callable[[Iterator[pa.RecordBatch]], list[Any]], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In a worker: one row with all that was written."""
    yield pa.RecordBatch.from_pydict({_MESSAGE: [pickle.dumps(write(batches))]}, _SCHEMA)


def _write_changes(job: ChangeJob, batches: Iterator[pa.RecordBatch]) -> list[Written]:
    schema = table_types(job.dataset)
    names = [*schema.names, _ROW_ID, _ROW_ADDRESS, CHANGE]
    types = pa.schema([*schema, (_ROW_ID, pa.uint64()), (_ROW_ADDRESS, pa.uint64()), (CHANGE, pa.string())])
    return [job.write(spark_types.cast(batch.select(names), types) for batch in batches)]


def _write_groups(job: CompactionJob, batches: Iterator[pa.RecordBatch]) -> list[Any]:
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    return [(number, job.write(number)) for number in numbers]


def table_types(dataset: Dataset) -> pa.Schema:
    """The columns of a table without what is beside their types; of extension types, what they store.

    raises: InvalidArgument for names that the job needs itself
    """
    fields = []
    for field in dataset.schema:
        if field.name in (_ROW_ID, _ROW_ADDRESS, CHANGE):
            raise InvalidArgument(f"{dataset.uri} has a column {field.name!r}, which changes in Spark need themselves")
        type = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
        fields.append(pa.field(field.name, type))
    return pa.schema(fields)
