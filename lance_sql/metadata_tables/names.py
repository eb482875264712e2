"""The names that a table has for versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.table.refs import Ref

_TIME: Final = pa.timestamp("us", "UTC")


def tags(dataset: Dataset) -> pa.Table:
    """One row for each tag of the table as of now; `branch` is NULL for a version of main."""
    return _table("tag", "branch", dataset.tags())


def branches(dataset: Dataset) -> pa.Table:
    """One row for each branch of the table as of now: the branch and version that it began with, NULL for main."""
    return _table("branch", "parent", dataset.branches())


def _table(name: str, of: str, refs: Mapping[str, Ref]) -> pa.Table:
    return pa.table(
        {
            name: pa.array(list(refs), pa.string()),
            of: pa.array([ref.branch for ref in refs.values()], pa.string()),
            "version": pa.array([ref.version for ref in refs.values()], pa.uint64()),
            "created_at": pa.array([ref.created_at for ref in refs.values()], _TIME),
        }
    )
