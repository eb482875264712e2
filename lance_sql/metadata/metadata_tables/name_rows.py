"""The names that a table has for versions, and for places in its changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.table import versions
from lance_sql.table.location import branch_store
from lance_sql.table.refs import Ref

_TIME: Final = pa.timestamp("us", "UTC")


def tags(dataset: Dataset) -> pa.Table:
    """One row for each tag of the table as of now; `branch` is NULL for a version of main."""
    return _table("tag", "branch", dataset.tags())


def branches(dataset: Dataset) -> pa.Table:
    """One row for each branch of the table as of now: the branch and version that it began with, NULL for main."""
    return _table("branch", "parent", dataset.branches())


def cursors(dataset: Dataset) -> pa.Table:
    """One row for each cursor of the table as of now: the last version whose changes it has taken, and how many were
    committed to its branch since, which is NULL for a branch that is gone."""
    records = list(dataset.cursors().values())
    newest = {record.branch: _newest(dataset, record.branch) for record in records}
    behind = [None if (last := newest[each.branch]) is None else last - each.position for each in records]
    return pa.table(
        {
            "cursor": pa.array([each.name for each in records], pa.string()),
            "branch": pa.array([each.branch for each in records], pa.string()),
            "position": pa.array([each.position for each in records], pa.uint64()),
            "versions_behind": pa.array(behind, pa.int64()),
            "needs_snapshot": pa.array([each.needs_snapshot for each in records], pa.bool_()),
            "created_at": pa.array([each.created_at for each in records], _TIME),
            "updated_at": pa.array([each.updated_at for each in records], _TIME),
        }
    )


def _newest(dataset: Dataset, branch: str | None) -> int | None:
    own = dataset.snapshot
    if branch is not None and branch not in own.branches():
        return None
    store = own.main if branch is None else branch_store(own.uri, branch, own.storage_options)
    newest = versions.newest(store)
    return None if newest is None else newest.version


def _table(name: str, of: str, refs: Mapping[str, Ref]) -> pa.Table:
    return pa.table(
        {
            name: pa.array(list(refs), pa.string()),
            of: pa.array([ref.branch for ref in refs.values()], pa.string()),
            "version": pa.array([ref.version for ref in refs.values()], pa.uint64()),
            "created_at": pa.array([ref.created_at for ref in refs.values()], _TIME),
        }
    )
