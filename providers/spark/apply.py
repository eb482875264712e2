"""Changes by key, applied in Spark: each task has all changes of some keys, in one commit.

frame       one row for each change; Spark sends those of one key to one task
task        computes their result on the rows of these keys in the table, with the same code as in one process
driver      one commit, including changes that depend on all keys
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.jobs.applying import (
    Application,
    EventSource,
    Part,
    Run,
    choose,
    has_commit_times,
    missing,
    opened,
    read,
    schema_of,
)
from lance_sql.jobs.distributed import ChangeJob, change_rows
from lance_sql.values import selection

from . import data_source as source
from . import types as spark_types
from .columns import spelled
from .jobs import run_tasks

_ORDER: Final = "__lance_order"


@dataclass(frozen=True)
class Reading:
    """Conversion of the rows of a task to events. Picklable.

    schema: of the frame, in Arrow's types
    arguments: of `lance_sql.jobs.applying.read`
    """

    schema: pa.Schema
    arguments: Mapping[str, Any]

    def events(self, rows: pa.Table) -> EventSource:
        """raises: as `lance_sql.apply_changes`"""
        return read(rows, **self.arguments)


def apply_changes(
    session: SparkSession,
    target: Dataset,
    changes: DataFrame | ChangeFeed,
    keys: str | Sequence[str] | None,
    *,
    ignore_null_updates: bool | Sequence[str],
    track_history_on: Sequence[str] | None,
    track_history_except: Sequence[str] | None,
    scd: int,
    properties: Mapping[str, str] | None,
    **arguments: Any,
) -> Dataset:
    """Implements `LanceTable.apply_changes`, for the newest version of a table.

    arguments: others of `lance_sql.apply_changes`
    """
    given = dict(properties or {})
    is_in_order = False
    if isinstance(changes, ChangeFeed):
        keys = keys or changes.primary_key
        feed, changes = changes, missing(changes, target.latest())
        if feed.properties and not changes.properties:
            return target.latest()
        given |= changes.properties
        # one commit has the changes of a cursor, and later commits have later changes
        is_in_order = bool(changes.properties) and arguments["sequence_by"] is None
        changes = _frame(session, changes)
    if not isinstance(changes, DataFrame):
        raise InvalidArgument(f"Changes must be a frame of Spark or a change feed, not {type(changes).__name__}")
    names = changes.columns
    lists = {"keys": keys, **arguments}
    for name, value in lists.items():
        if value is not None and name != "delete_when":
            lists[name] = [spelled(session, each, names) for each in ([value] if isinstance(value, str) else value)]
    with_commit_times = scd == 2 and has_commit_times(target)
    reading = Reading(spark_types.arrow_schema(changes.schema), {**lists, "with_commit_times": with_commit_times})
    empty = reading.events(selection.empty(reading.schema))
    application = choose(
        empty, ignore_null_updates, track_history_on, track_history_except, scd=scd, is_in_order=is_in_order
    )
    # rows with equal sequence values count in the order of the frame
    ordered = changes.withColumn(_ORDER, F.monotonically_increasing_id())
    ordered = ordered.repartition(*(F.col("`" + key.replace("`", "``") + "`") for key in application.keys))

    def parts(job: ChangeJob) -> list[Part]:
        return run_tasks(ordered, _Task(job, application, reading))

    run = Run(application, parts)
    with opened(target, schema_of(empty, scd), target.snapshot.access, application.applied_to) as dataset:
        return change_rows(dataset, "apply_changes", run, inserts_by_key=True, properties=given, config=run.config)


@dataclass(frozen=True)
class _Task:
    job: ChangeJob
    application: Application
    reading: Reading

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> list[Part]:
        """Applies all changes of some keys, in a worker."""
        schema = self.reading.schema
        cast = [spark_types.cast(batch, schema.append(pa.field(_ORDER, pa.int64()))) for batch in batches]
        rows = pa.Table.from_batches(
            [batch for batch in cast if batch.num_rows], schema.append(pa.field(_ORDER, pa.int64()))
        )
        if not rows.num_rows:
            return []
        rows = rows.sort_by(_ORDER).drop_columns([_ORDER])
        return [self.application.part(self.job, self.reading.events(rows).events)]


def _frame(session: SparkSession, feed: ChangeFeed) -> DataFrame:
    """Returns the images of a feed, read by Spark's tasks."""
    newest = Dataset(feed.snapshot)
    if not feed.is_snapshot:
        return source.read_changes(session, newest, None, None, feed.arguments)
    rows = source.read(session, newest, [*newest.schema.names, "_rowid"])
    feed_columns = {
        "_change_type": F.lit("insert"),
        "_commit_version": F.lit(feed.end).cast("bigint"),
        "_commit_timestamp": F.lit(newest.snapshot.manifest.timestamp),
    }
    return rows.withColumns(feed_columns)
