"""Lance tables for users of PySpark: frames of a table and of its changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import lance_sql.dataset
from lance_sql.changes.bounds import Bound
from lance_sql.changes.plan import Mode
from lance_sql.dataset import Dataset

from . import read_spark as read
from . import spark as source
from .spark import register
from .spark_errors import short_errors

__all__ = ["read", "read_changes", "register", "short_errors"]


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
