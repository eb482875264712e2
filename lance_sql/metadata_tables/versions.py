"""The versions of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from lance_sql.dataset import Dataset

_TIME: Final = pa.timestamp("us", "UTC")


def versions(dataset: Dataset, limit: int | None = None) -> pa.Table:
    """One row for each version of the branch as of now, ascending, with what its commit did; see
    `Dataset.history`. `damage` says why a version cannot be read.

    limit: only so many of the newest
    """
    entries = dataset.history(limit)
    return pa.table(
        {
            "version": pa.array([entry.version for entry in entries], pa.uint64()),
            "timestamp": pa.array([entry.timestamp for entry in entries], _TIME),
            "operation": pa.array(["(damaged)" if entry.damage else entry.operation for entry in entries], pa.string()),
            "fragments": _numbers([entry.fragments for entry in entries]),
            "rows": _numbers([entry.rows for entry in entries]),
            "inserted": _numbers([entry.rows_inserted for entry in entries]),
            "updated": _numbers([entry.rows_updated for entry in entries]),
            "deleted": _numbers([entry.rows_deleted for entry in entries]),
            "files_written": _numbers([entry.files_written for entry in entries]),
            "bytes_written": _numbers([entry.bytes_written for entry in entries]),
            "duration_ms": _numbers([entry.duration_ms for entry in entries]),
            "writer": pa.array([entry.writer for entry in entries], pa.string()),
            "job": pa.array([entry.job for entry in entries], pa.string()),
            "statement": pa.array([entry.statement for entry in entries], pa.string()),
            "tags": pa.array([", ".join(entry.tags) or None for entry in entries], pa.string()),
            "damage": pa.array([entry.damage for entry in entries], pa.string()),
        }
    )


def _numbers(values: Sequence[int | None]) -> pa.Array:
    return pa.array(values, pa.int64())
