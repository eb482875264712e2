"""Table changes as a stream in Spark: batches of whole commits, each delivered once.

    spark.readStream.format("lance").option("readChangeFeed", "true").load(path)    the change feed
    spark.readStream.format("lance").load(path)                                     inserted rows only

A stream begins with all rows of the newest version, as inserts, unless the options name a start. Its position is a
version, so that a restart needs only the offset, and a commit is never split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.scan import Scan, ScanTask

from . import types as spark_types
from .change_options import StreamOptions
from .changes import without_updates
from .offsets import INITIAL, Offset
from .partitions import LancePartition, partition_count


@dataclass(frozen=True)
class SnapshotTask:
    """Some rows of a version, returned as inserts. Picklable.

    names: requested columns, including those of the change feed
    constants: values of the columns that describe the change
    """

    task: ScanTask
    names: tuple[str, ...]
    constants: Mapping[str, pa.Scalar]

    def to_reader(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows."""
        for batch in self.task.to_reader():
            arrays = [
                pa.repeat(self.constants[name], batch.num_rows) if name in self.constants else batch.column(name)
                for name in self.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, list(self.names))


class LanceStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads changes of a table, batch by batch.

    schema: the requested columns, in Spark's types
    """

    def __init__(self, options: StreamOptions, schema: StructType) -> None:
        self._options = options
        self._schema = spark_types.arrow_schema(schema)
        self._last: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return dict(INITIAL)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Ends the stream at the version that is the newest now."""
        self._last = self._options.open().version

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any] | None = None, limit: object = None
    ) -> dict[str, Any]:
        """Returns the end of the next batch.

        start: None from releases of PySpark that do not limit batches
        raises: InvalidArgument for a table that was created again; VersionNotFound for changes that were cleaned up
        """
        dataset = self._options.open()
        newest = dataset.version if self._last is None else min(dataset.version, self._last)
        at = Offset.from_json(start or INITIAL)
        if at is None:
            at = self._beginning(dataset)
            if not at.is_bootstrapping:
                # an empty batch, which records the start of the stream in the checkpoint
                return at.to_json()
        if at.is_bootstrapping:
            return at.at_part(at.parts if self._options.max_rows is None else at.part + 1).to_json()
        self._check(dataset, at)
        if newest > at.version:
            # raises an error if some of it was cleaned up
            self._options.open_range(at.version + 1, newest, dataset)
        end = self._end(dataset, at.version, newest)
        return at.at(end, self._token(dataset, end)).to_json() if end > at.version else at.to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        return {"version": self._options.open().version}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Returns the partitions of a batch, the same on each call.

        raises: VersionNotFound for a range that was cleaned up, with the oldest version to begin with
        """
        last = Offset.from_json(end)
        assert last is not None
        first = Offset.from_json(start) or last.beginning()
        if first.is_bootstrapping:
            return self._snapshot_partitions(first, last)
        if first.version >= last.version:
            return []
        dataset = self._options.open()
        for offset in (first, last):
            self._check(dataset, offset)
        feed = self._options.open_range(first.version + 1, last.version, dataset)
        scan = feed.scan(self._schema.names, self._options.filter)
        rows = sum(task.num_candidates for task in scan.tasks(1))
        return [LancePartition(task) for task in scan.tasks(self._options.partitions or partition_count(rows))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LancePartition)
        for batch in partition.batches():
            if not self._options.computes_updates:
                batch = without_updates(batch)
            yield spark_types.cast(batch, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Does nothing: no state is kept for delivered batches."""

    def _beginning(self, dataset: Dataset) -> Offset:
        """Returns the start of a new stream."""
        version = self._options.first_offset(dataset)
        if version is not None:
            return Offset(version, version, commit=self._token(dataset, version))
        dataset = self._options.open_version(dataset.version)
        scan, most = self._stored_scan(dataset), self._options.max_rows
        # includes deleted rows: a part has at most this many rows
        rows = sum(task.num_candidates for task in scan.tasks(1))
        shares = -(-rows // most) if most is not None else self._options.partitions or partition_count(rows)
        parts = len(scan.tasks(shares))
        # a table without rows has one empty part
        commit = dataset.snapshot.token
        return Offset(dataset.version, dataset.version, 0, max(parts, 1), shares, commit)

    def _snapshot_partitions(self, first: Offset, last: Offset) -> list[LancePartition]:
        dataset = self._options.open_version(last.start)
        if last.version == last.start:
            self._check(dataset, last)
        tasks = self._stored_scan(dataset).tasks(last.shares)
        if max(len(tasks), 1) != last.parts:
            raise InvalidArgument(
                f"The checkpoint is of another release: it expects {last.parts} parts of version {last.start} of"
                f" {dataset.uri}, which has {len(tasks)}. Start with a new checkpoint"
            )
        chosen = tasks[first.part : last.part]
        constants = self._empty_feed(dataset).of_inserts_by(dataset.version)
        names = tuple(self._schema.names)
        return [LancePartition(SnapshotTask(task, names, constants)) for task in chosen]

    def _empty_feed(self, dataset: Dataset) -> ChangeFeed:
        return self._options.open_range(dataset.version + 1, dataset.version, dataset)

    def _token(self, dataset: Dataset, version: int) -> str | None:
        """Returns the identity of the commit of a version, or None if the version does not exist."""
        snapshot = self._options.open_range(version + 1, version, dataset).snapshot
        return snapshot.token if snapshot.version == version else None

    def _check(self, dataset: Dataset, offset: Offset) -> None:
        """Makes sure that a stream continues with the table that it began with.

        raises: InvalidArgument
        """
        is_ahead = dataset.version < offset.version and (offset.version > offset.start or offset.parts)
        now = None if offset.commit is None or is_ahead else self._token(dataset, offset.version)
        if is_ahead or (now is not None and now != offset.commit):
            raise InvalidArgument(
                f"The stream is at version {offset.version} of {dataset.uri}, which is another commit now, or is"
                " missing: the table or branch was restored from a backup or created again. Start with a new checkpoint"
            )

    def _stored_scan(self, dataset: Dataset) -> Scan:
        described = {field.name for field in self._empty_feed(dataset).feed_fields}
        return dataset.scan([name for name in self._schema.names if name not in described], self._options.filter)

    def _end(self, dataset: Dataset, version: int, newest: int) -> int:
        """Returns the last version of a batch that begins after a version: at least one commit, if there is one."""
        if self._options.max_versions is not None:
            newest = min(newest, version + self._options.max_versions)
        if self._options.max_rows is None:
            return max(newest, version)
        rows = 0
        for end in range(version + 1, newest + 1):
            rows += self._options.open_range(end, end, dataset).scan([], self._options.filter).count_rows()
            if rows > self._options.max_rows and end > version + 1:
                return end - 1
            if rows >= self._options.max_rows:
                return end
        return max(newest, version)
