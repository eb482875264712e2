"""The versions of a table."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.dataset import Dataset


def versions(dataset: Dataset, limit: int | None = None) -> pa.Table:
    """One row for each version of the branch as of now, ascending, with what its commit did; see
    `Dataset.history`. `damage` says why a version cannot be read.

    limit: only so many of the newest
    """
    return dataset.history(limit).to_table()
