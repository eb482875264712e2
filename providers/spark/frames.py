"""Frames of table changes, and writes of frames with features that Spark does not offer to Python sources."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, Unpack

from pyspark.sql import DataFrame, SparkSession

import lance_sql.opening
from lance_sql.changes.bounds import Bound
from lance_sql.changes.plan import Mode
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableExists, TableNotFound
from lance_sql.store.access import Access, AccessOptions, access_options
from lance_sql.values.keywords import suggests_keywords

from . import data_source as source
from .columns import as_spelled
from .data_source import register
from .errors import short_errors

WriteMode: TypeAlias = Literal["append", "overwrite", "error", "ignore"]


@suggests_keywords
def read_changes(
    spark: SparkSession,
    table: Dataset | str | os.PathLike[str],
    start: Bound | None = None,
    end: Bound | None = None,
    *,
    since: Bound | None = None,
    mode: Mode = "all",
    drop_unchanged: bool = False,
    key: str | Sequence[str] | None = None,
    trust_snapshots: bool = False,
    origin: bool = False,
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    branch: str | None = None,
    **access: Unpack[AccessOptions],
) -> DataFrame:
    """Returns the changes of the versions from `start` to `end` as a frame: the columns of the table, `_change_type`,
    `_commit_version` as bigint, `_commit_timestamp` and `_rowid`.

    table: a Dataset, or a path or URI, optionally with `branch` and keywords of access. The frame stays at the
        versions of the range as of now
    start, end, since, mode, drop_unchanged, key, trust_snapshots, origin: as for `Dataset.changes`; without `end`, up
        to the newest version
    columns, filter: as for `lance_sql.read_spark`: nothing else is read
    access: keywords of `lance_sql.open` that say how the files are reached
    raises: as `lance_sql.open` and `Dataset.changes`
    """
    dataset = table if isinstance(table, Dataset) else lance_sql.opening.open(table, branch=branch, **access)
    arguments = {
        "start": start,
        "end": end,
        "since": since,
        "mode": mode,
        "drop_unchanged": drop_unchanged,
        "key": key,
        "trust_snapshots": trust_snapshots,
        "origin": origin,
    }
    return source.read_changes(register(spark), dataset, columns, filter, arguments)


@suggests_keywords
def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    mode: WriteMode = "error",
    target_rows_per_file: int | None = None,
    merge_schema: bool = False,
    branch: str | None = None,
    **options: Any,
) -> Dataset:
    """Writes a frame, with features that Spark does not offer to Python sources.

    mode: "error" if the table exists, "ignore" the frame if it exists, "append", which creates a missing table, or
        "overwrite"
    target_rows_per_file: approximate rows in a file, independent of the number of tasks. The frame is counted first:
        cache it if that is expensive
    merge_schema: add columns that the table lacks, NULL in its rows, in the version with the new rows. If another
        writer changes columns meanwhile, nothing is written
    options: as for `frame.write`; also keywords of `lance_sql.open` that say how the files are reached, of which tasks
        cannot have a manifest store
    returns: the new version; with "ignore", the newest one
    raises: TableExists; InvalidArgument for rows that do not fit; errors of a task, as one line
    """
    if mode not in ("append", "overwrite", "error", "ignore"):
        raise InvalidArgument(f"mode={mode!r} is not one of 'append', 'overwrite', 'error' and 'ignore'")
    register(frame.sparkSession)
    table_path = os.fspath(path)
    access = access_options(options)
    texts = Access.of(**access).texts()
    try:
        table = lance_sql.opening.open(table_path, branch=branch, **access)
    except TableNotFound:
        table = None
    if table is not None and mode == "ignore":
        return table
    if table is not None and mode == "error":
        raise TableExists(f"Table {table_path!r} exists already: pass mode='append', 'overwrite' or 'ignore'")
    if table is not None and mode == "append":
        frame = as_spelled(frame, table.schema.names)
        if merge_schema:
            options = {**options, "mergeSchema": "true"}
    if target_rows_per_file is not None:
        if target_rows_per_file < 1:
            raise InvalidArgument(f"target_rows_per_file={target_rows_per_file} must be at least 1")
        with short_errors():
            frame = frame.repartition(max(1, math.ceil(frame.count() / target_rows_per_file)))
    storage = {f"storage.{key}": value for key, value in texts.items()}
    given = {name: value for name, value in options.items() if name not in access}
    given |= storage if branch is None else {**storage, "branch": branch}
    with short_errors():
        spark_mode = "overwrite" if mode == "overwrite" else "append"
        frame.write.format("lance").options(**given).mode(spark_mode).save(table_path)
    return lance_sql.opening.open(table_path, branch=branch, **access)
