"""Opening a table: one version, by its number, tag, branch or time."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, Final

from lance_sql.dataset import Dataset
from lance_sql.format.file.learned import Learning
from lance_sql.store.access import Access
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.table.open_snapshot import open_named
from lance_sql.table.versions import VersionLike
from lance_sql.values.keywords import suggests_keywords

_LOG: Final = logging.getLogger("lance_sql")


@suggests_keywords
def open(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | timedelta | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    manifest_store: ManifestStore | None = None,
    use_indices: bool = True,
    learn_statistics: bool = True,
    statistics_cache: str | os.PathLike[str] | None = None,
    allow_bases: str | Iterable[str] | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
    checksums: bool | None = None,
) -> Dataset:
    """Opens one version of a table, by default the latest one of main.

    uri: a path, or a URI of S3 (with DynamoDB: `s3+ddb://`), Google Cloud Storage, Azure or any fsspec file system;
        if no version is named otherwise, a version, tag, branch or time may follow an @: "orders.lance@41"
    version, tag, as_of: at most one of them; `branch` combines with `version` and `as_of`
    version: a number, of which negative ones count back from the newest version: -1 is the one before it; or a tag;
        or a time, as `as_of`, if no tag has that name
    as_of: open the newest version committed at this time or before; a time without a zone is UTC. Also an age before
        now such as "1d" or a timedelta, "today" and "yesterday"
    storage_options: for the store of the URI, by the names of object_store
    manifest_store: the manifest store that the table is written with, if any
    use_indices: whether filters may use the table's secondary indices
    learn_statistics: whether scans learn the bounds of columns that they filter, and use those of earlier scans
    statistics_cache: a folder that shares learned statistics with other processes; defaults to the environment
        variable LANCE_SQL_STATISTICS_CACHE
    allow_bases: URI prefixes of places outside the table's own machine or bucket that may hold its files, in addition
        to the environment variable LANCE_SQL_ALLOW_BASES. Files elsewhere raise ForeignBase without a request
    cache: a folder that caches bytes of a table in an object store, or True for ~/.cache/lance-sql/ranges, or False
        for none; defaults to the environment variable LANCE_SQL_CACHE
    checksums: compare blocks of files with their checksums when they are first read, and raise CorruptFile for those
        that differ; defaults to the environment variable LANCE_SQL_CHECKSUMS, or False
    raises: TableNotFound, VersionNotFound, InvalidArgument; CorruptFile, UnsupportedFeature

    >>> lance_sql.open("examples/orders.lance", version=1).version
    1
    >>> lance_sql.open("examples/orders.lance@audited").version
    5
    """
    access = Access.of(
        storage_options=storage_options,
        manifest_store=manifest_store,
        allow_bases=allow_bases,
        cache=cache,
        checksums=checksums,
    )
    opened = Dataset(
        open_named(
            uri,
            version=version,
            tag=tag,
            branch=branch,
            as_of=as_of,
            access=access,
            use_indices=use_indices,
            learning=Learning.of(learn_statistics, statistics_cache),
        )
    )
    if opened.snapshot.manifest.names_log:
        from lance_sql.reads import write_ahead_log

        if notice := write_ahead_log.notice(opened.snapshot):
            _LOG.warning("%s: in no version: %s", opened.snapshot.label, notice)
    return opened
