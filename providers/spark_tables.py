"""Lance tables for users of PySpark: a table as an object with the verbs of Delta's, and frames of its changes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

import lance_sql.dataset
from lance_sql.changes.bounds import Bound
from lance_sql.changes.plan import Mode
from lance_sql.dataset import Dataset
from lance_sql.distributed import CHANGE, DELETE, WRITE, ChangeJob, Written, change_rows, compact_groups
from lance_sql.errors import ColumnNotFound, InvalidArgument, TableExists, TableNotFound
from lance_sql.writing import MAX_ROWS_PER_FILE

from . import read_spark as read
from . import spark as source
from . import spark_types
from .spark import register
from .spark_errors import short_errors
from .spark_jobs import run_changes, run_compaction, table_types
from .spark_merge import Expression, MergeBuilder

__all__ = ["LanceTable", "MergeBuilder", "read", "read_changes", "register", "short_errors", "write"]

WriteMode: TypeAlias = Literal["append", "overwrite", "error", "ignore"]

_SYSTEM = ("_rowid", "_rowaddr")


class LanceTable:
    """A table, as it is when it is asked. What changes rows is computed and written by Spark's tasks; the driver gets
    names of files, and 16 bytes for each changed row, and makes one commit.

    >>> table = LanceTable.for_path(spark, "events.lance")  # doctest: +SKIP
    >>> table.merge(changes, on="id").when_matched_update().when_not_matched_insert().execute()  # doctest: +SKIP
    """

    def __init__(
        self, session: SparkSession, path: str, *, branch: str | None, storage_options: Mapping[str, Any] | None
    ) -> None:
        self.session = register(session)
        self.path = path
        self._place: dict[str, Any] = {"branch": branch, "storage_options": storage_options}

    @classmethod
    def for_path(
        cls,
        session: SparkSession,
        path: str | os.PathLike[str],
        *,
        branch: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> LanceTable:
        """The table at a path or URI.

        raises: TableNotFound; MissingDependency where Spark's workers run a Python without this package
        """
        table = cls(session, os.fspath(path), branch=branch, storage_options=storage_options)
        _ = table.dataset()
        return table

    forPath = for_path  # noqa: N815 - as Delta calls it on Spark

    def dataset(self) -> Dataset:
        """The newest version."""
        return lance_sql.dataset.open(self.path, **self._place)

    def to_df(self, columns: Sequence[str] | None = None, filter: str | None = None) -> DataFrame:
        """The newest version as a frame; see `lance_sql.read_spark`."""
        frame: DataFrame = read(self.session, self.dataset(), columns, filter)
        return frame

    toDF = to_df  # noqa: N815 - as Delta calls it on Spark

    def merge(self, frame: DataFrame, on: str | Sequence[str]) -> MergeBuilder:
        """Merges the rows of a frame by key columns; what becomes of them, the clauses of the builder say.

        on: columns that both sides have
        """
        keys = (on,) if isinstance(on, str) else tuple(on)
        if not keys or len(set(keys)) != len(keys):
            raise InvalidArgument(f"on={list(keys)}: give each key column once, and at least one")
        return MergeBuilder(self, frame, keys)

    def update(
        self,
        set: Mapping[str, Expression],
        where: Expression | None = None,
        *,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Sets columns in the rows that pass a filter, or in all.

        set: new values by column: text in Spark's SQL, or columns, over the row as it was
        where: text is a filter as for `lance_sql.read_spark`, and nothing else is read; a column is Spark's
        raises: ColumnNotFound, InvalidArgument; CommitConflict; what goes wrong in a task, as one line
        """
        values = {name: F.expr(value) if isinstance(value, str) else value for name, value in set.items()}
        if not values:
            raise InvalidArgument("No column is set")

        def run(job: ChangeJob) -> list[Written]:
            dataset = job.dataset
            for name in values:
                if name not in dataset.schema.names:
                    raise ColumnNotFound(f"{self.path} has no column {name!r}")
            rows = self._rows(dataset, [*dataset.schema.names, *_SYSTEM], where)
            types = spark_types.spark_schema(table_types(dataset))
            new = [
                values.get(field.name, F.col(_quoted(field.name))).cast(field.dataType).alias(field.name)
                for field in types
            ]
            return run_changes(job, rows.select(*new, *_SYSTEM, F.lit(WRITE).alias(CHANGE)))

        return change_rows(self.dataset(), "update", run, properties=properties)

    def delete(self, where: Expression, *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Deletes the rows that pass a filter.

        where: as for `update`
        """

        def run(job: ChangeJob) -> list[Written]:
            dataset = job.dataset
            is_text = isinstance(where, str)
            rows = self._rows(dataset, [*(() if is_text else dataset.schema.names), *_SYSTEM], where)
            types = spark_types.spark_schema(table_types(dataset))
            empty = [F.lit(None).cast(field.dataType).alias(field.name) for field in types]
            return run_changes(job, rows.select(*empty, *_SYSTEM, F.lit(DELETE).alias(CHANGE)))

        return change_rows(self.dataset(), "delete", run, properties=properties)

    def compact(
        self,
        *,
        target_rows: int = MAX_ROWS_PER_FILE,
        max_deleted_share: float = 0.1,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """As `Dataset.compact`; each group of fragments is rewritten by a task."""
        return compact_groups(
            self.dataset(),
            lambda job: run_compaction(self.session, job),
            target_rows=target_rows,
            max_deleted_share=max_deleted_share,
            properties=properties,
        )

    def cleanup(self, **arguments: Any) -> Any:
        """As `Dataset.cleanup`, in the driver."""
        return self.dataset().cleanup(**arguments)

    def changes(self, start: Bound | None = None, end: Bound | None = None, **arguments: Any) -> DataFrame:
        """What versions changed, as a frame; see `read_changes`."""
        return read_changes(self.session, self.dataset(), start, end, **arguments)

    def history(self) -> DataFrame:
        """The versions, newest first: what each commit did, and to how many rows."""
        schema = (
            "version bigint, timestamp timestamp, operation string, rows_inserted bigint, rows_updated bigint,"
            " rows_deleted bigint, properties map<string, string>"
        )
        rows = []
        for info in reversed(self.dataset().versions()):
            did = info.summary
            counts = (None,) * 3 if did is None else (did.rows_inserted, did.rows_updated, did.rows_deleted)
            operation = info.operation if did is None else did.operation
            rows.append((info.version, info.timestamp, operation, *counts, {} if did is None else dict(did.properties)))
        return self.session.createDataFrame(rows, schema)

    def _rows(self, dataset: Dataset, columns: Sequence[str], where: Expression | None) -> DataFrame:
        if where is None or isinstance(where, str):
            # what is wrong is said here, rather than by a worker of Spark
            _ = dataset.scan(columns, where).schema
            return source.read(self.session, dataset, columns, where)
        if not isinstance(where, Column):
            raise InvalidArgument(f"A filter is text or a column of Spark, not a {type(where).__name__}")
        return source.read(self.session, dataset, columns).where(where)


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    mode: WriteMode = "error",
    target_rows_per_file: int | None = None,
    merge_schema: bool = False,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **options: str,
) -> Dataset:
    """Writes a frame, with what Spark does not offer to a source in Python.

    mode: "error" where there is a table, "ignore" the frame where there is one, "append", which creates a table that
        does not exist, or "overwrite"
    target_rows_per_file: about so many rows in a file, whatever the number of tasks. The frame is counted first:
        cache it where that is expensive
    merge_schema: columns that the table does not have are added to it, NULL in its rows, by a commit of their own
    options: as for `frame.write`
    returns: the version that was made; with "ignore", the newest one
    raises: TableExists; InvalidArgument for rows that do not fit; what goes wrong in a task, as one line
    """
    if mode not in ("append", "overwrite", "error", "ignore"):
        raise InvalidArgument(f"mode={mode!r} is not one of 'append', 'overwrite', 'error' and 'ignore'")
    register(frame.sparkSession)
    place = os.fspath(path)
    try:
        table = lance_sql.dataset.open(place, branch=branch, storage_options=storage_options)
    except TableNotFound:
        table = None
    if table is not None and mode == "ignore":
        return table
    if table is not None and mode == "error":
        raise TableExists(f"There is a table at {place!r} already: say mode='append', 'overwrite' or 'ignore'")
    if table is not None and mode == "append":
        frame = _as_spelled(frame, table)
        if merge_schema:
            _add_columns(table, frame)
    if target_rows_per_file is not None:
        if target_rows_per_file < 1:
            raise InvalidArgument(f"target_rows_per_file={target_rows_per_file} must be at least 1")
        with short_errors():
            frame = frame.repartition(max(1, math.ceil(frame.count() / target_rows_per_file)))
    storage = {f"storage.{key}": str(value) for key, value in (storage_options or {}).items()}
    given = {**options, **storage, **({} if branch is None else {"branch": branch})}
    with short_errors():
        spark_mode = "overwrite" if mode == "overwrite" else "append"
        frame.write.format("lance").options(**given).mode(spark_mode).save(place)
    return lance_sql.dataset.open(place, branch=branch, storage_options=storage_options)


def _as_spelled(frame: DataFrame, table: Dataset) -> DataFrame:
    """The frame with columns spelled as the table has them, where Spark does not tell cases apart."""
    if str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true":
        return frame
    known = {name.lower(): name for name in table.schema.names}
    return frame.toDF(
        *(name if name in table.schema.names else known.get(name.lower(), name) for name in frame.columns)
    )


def _add_columns(table: Dataset, frame: DataFrame) -> None:
    rows = spark_types.arrow_schema(frame.schema)
    new = [field.with_nullable(True) for field in rows if field.name not in table.schema.names]
    if new:
        table.add_columns(new)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


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
    columns: Sequence[str] | None = None,
    filter: str | None = None,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """What the versions from `start` to `end` changed, as a frame: the columns of the table, `_change_type`,
    `_commit_version` as bigint, `_commit_timestamp` and `_rowid`.

    table: a Dataset, or a path or URI, which may come with `branch` and `storage_options`. The frame stays at the
        versions that the range means now
    start, end, since, mode, drop_unchanged, key: as for `Dataset.changes`; without `end`, up to the newest version
    columns, filter: as for `lance_sql.read_spark`: nothing else is read
    raises: as `lance_sql.open` and `Dataset.changes`
    """
    dataset = table if isinstance(table, Dataset) else None
    if dataset is None:
        dataset = lance_sql.dataset.open(table, branch=branch, storage_options=storage_options)
    arguments = {
        "start": start,
        "end": end,
        "since": since,
        "mode": mode,
        "drop_unchanged": drop_unchanged,
        "key": key,
    }
    return source.read_changes(register(spark), dataset, columns, filter, arguments)
