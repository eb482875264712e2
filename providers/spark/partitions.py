"""Partitions of reads in Spark: each is a task of a scan, which a worker reads without planning again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

_ROWS_PER_PARTITION: Final = 4 * 1024 * 1024


class Task(Protocol):
    """A part of a scan for a worker. Picklable."""

    def to_reader(self) -> Iterable[pa.RecordBatch]: ...


class LancePartition(InputPartition):
    """One part of a scan; None for a scan without rows, because Spark rejects an empty list of partitions."""

    def __init__(self, task: Task | None) -> None:
        super().__init__(None)
        self.task = task

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields its rows."""
        return iter(()) if self.task is None else iter(self.task.to_reader())


def partition_count(num_rows: int) -> int:
    """Returns a suitable number of partitions for this many rows."""
    return max(os.cpu_count() or 1, num_rows // _ROWS_PER_PARTITION)
