"""The indices of a version."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.dataset import Dataset


def indices(dataset: Dataset) -> pa.Table:
    """One row for each index: its kind and columns, and how many fragments it covers and does not."""
    found = dataset.indices()
    return pa.table(
        {
            "name": pa.array([each.name for each in found], pa.string()),
            "kind": pa.array([each.kind for each in found], pa.string()),
            "columns": pa.array([", ".join(each.columns) for each in found], pa.string()),
            "segments": pa.array([each.num_segments for each in found], pa.int64()),
            "fragments": pa.array([each.num_fragments for each in found], pa.int64()),
            "uncovered": pa.array([each.num_uncovered for each in found], pa.int64()),
            "bytes": pa.array([each.size_bytes for each in found], pa.int64()),
        }
    )
