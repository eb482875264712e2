"""The indices of a version."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.dataset import Dataset


def indices(dataset: Dataset) -> pa.Table:
    """One row for each index: its kind and columns, and how many fragments it covers and does not."""
    summaries = dataset.indices()
    return pa.table(
        {
            "name": pa.array([each.name for each in summaries], pa.string()),
            "kind": pa.array([each.kind for each in summaries], pa.string()),
            "columns": pa.array([", ".join(each.columns) for each in summaries], pa.string()),
            "segments": pa.array([each.num_segments for each in summaries], pa.int64()),
            "fragments": pa.array([each.num_fragments for each in summaries], pa.int64()),
            "uncovered": pa.array([each.num_uncovered for each in summaries], pa.int64()),
            "bytes": pa.array([each.size_bytes for each in summaries], pa.int64()),
        }
    )
