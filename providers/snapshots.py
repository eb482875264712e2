"""Tables opened by path from SQL: each query reads the newest version, and open versions are cached.

Opening always reads the manifest, so that a query sees every earlier commit. Other data that an earlier query has read
for the same manifest (metadata of data files, deletions, row ids) is cached with its Dataset. The cache is valid while
no file has changed, if the store can detect that: a damaged file may have been repaired.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.runtime.caches import LruCache
from lance_sql.table.version_names import split_name

if TYPE_CHECKING:
    from collections.abc import Hashable

_MAX_DATASETS: Final = 32

# datasets have locks of their own
_cached: LruCache[Hashable, Dataset] = LruCache("versions of queries", most_entries=_MAX_DATASETS, forgets_at_fork=True)


def open_version(
    uri: str, *, use_indices: bool = True, statistics_cache: str | None = None, **time_travel: Any
) -> Dataset:
    """Opens the version of a table that a SQL reference names.

    uri: optionally with a version or a tag, as in "orders.lance@41"
    use_indices, statistics_cache: as for `lance_sql.open`
    time_travel: of `lance_sql.open`, None if not given
    raises: as `lance_sql.open`; InvalidArgument if two versions are named
    """
    path, version, tag = split_name(uri)
    opening = partial(lance_sql.opening.open, use_indices=use_indices, statistics_cache=statistics_cache)
    if path == uri or all(chosen is None for chosen in time_travel.values()):
        opened = opening(uri, **time_travel)
    else:
        given = [name for name in ("version", "tag", "as_of") if time_travel.get(name) is not None]
        if given:
            raise InvalidArgument(f"{uri!r} names a version, and so does {given[0]}: leave one of them out")
        opened = opening(path, **{**time_travel, "version": tag if version is None else version})
    snapshot = opened.snapshot
    if snapshot.access.identity is None:
        return opened
    # A table that was deleted and written again may have the same version numbers. But its manifest is another file, or
    # its commits have other times and names.
    identity = (
        path,
        snapshot.store.uri,
        snapshot.manifest_path,
        snapshot.store.identity(snapshot.manifest_path),
        snapshot.use_indices,
        statistics_cache,
        snapshot.access,
        snapshot.manifest.timestamp,
        snapshot.manifest.transaction_file,
    )
    cached = _cached.get(identity)
    # opening has checked the files of one that was opened before
    if cached is not None and (cached.snapshot is snapshot or cached.snapshot.is_as_read()):
        return cached
    _cached.put(identity, opened)
    return opened
