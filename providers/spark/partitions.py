"""Partitions of reads in Spark: each is a task of a scan, which a worker reads without planning anything again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

_ROWS_PER_PARTITION: Final = 4 * 1024 * 1024


class Task(Protocol):
    """What a worker reads: a part of a scan. Picklable."""

    def to_reader(self) -> Iterable[pa.RecordBatch]:
        """Its rows."""
        ...


class LancePartition(InputPartition):
    """One part of a scan; None of a scan without rows, for Spark takes no empty list of partitions."""

    def __init__(self, task: Task | None) -> None:
        super().__init__(None)
        self.task = task

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Its rows."""
        return iter(()) if self.task is None else iter(self.task.to_reader())


def partition_count(num_rows: int) -> int:
    """How many partitions are good for so many rows."""
    return max(os.cpu_count() or 1, num_rows // _ROWS_PER_PARTITION)
