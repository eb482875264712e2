"""Opening a version of a table by its path or URI.

Recently opened local versions stay open, so that opening the same version again reads nothing.

Cache of recently opened versions.

A query that names a table by its path opens it each time, for example in a script that runs repeatedly. Content
read from a version (footers, pages, row ids, indices) and values derived from it stay valid as long as none of the
files has changed.

    arguments of open_snapshot    -->    the snapshot, if every file that it has read is unchanged
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from datetime import date, datetime, timedelta
from threading import Lock
from typing import Any, Final, Generic, Protocol, TypeVar

from lance_sql.errors import CorruptFile, LanceError, TableNotFound, VersionNotFound
from lance_sql.format.file.learned import Learning
from lance_sql.runtime import caches, observing
from lance_sql.store import LocalStore, Store
from lance_sql.store.access import Access
from lance_sql.table import address, location, versions
from lance_sql.table.files import LEARNS
from lance_sql.table.snapshot import Snapshot, read_manifest
from lance_sql.table.version_names import split_name
from lance_sql.table.versions import VersionFile, VersionLike
from lance_sql.values.local_paths import place_text

MOST_SNAPSHOTS: Final = 16

MOST_BYTES: Final = 64 << 20
MOST_MAPPED: Final = 64
"""Limit of mapped files. Both limits exclude the newest snapshot, which is always cached."""


class Reusable(Protocol):
    """A cached snapshot."""

    @property
    def stores(self) -> tuple[Store, ...] | None:
        """All stores that files of it were read from; None if unknown."""
        ...

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the content that was read."""
        ...


S = TypeVar("S", bound=Reusable)


class RecentSnapshots(Generic[S]):
    """Cache of the snapshots that were opened last. Thread-safe. Empty in a forked process, whose locks may be
    held."""

    name: Final = "versions opened last"

    def __init__(
        self, most_snapshots: int = MOST_SNAPSHOTS, most_bytes: int = MOST_BYTES, most_mapped: int = MOST_MAPPED
    ) -> None:
        self._most_snapshots = most_snapshots
        self._most_bytes = most_bytes
        self._most_mapped = most_mapped
        self._start()
        caches.register(self)

    def _start(self) -> None:
        self._lock = Lock()
        self._snapshots: OrderedDict[Hashable, S] = OrderedDict()

    def get(self, key: Hashable) -> S | None:
        """Returns the snapshot, if it is equal to one opened now."""
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            return None
        stores = _local_stores(snapshot)
        is_current = stores is not None and all(store.is_as_read() for store in stores)
        with self._lock:
            if is_current and key in self._snapshots:
                self._snapshots.move_to_end(key)
            elif self._snapshots.get(key) is snapshot:
                del self._snapshots[key]
        return snapshot if is_current else None

    def keep(self, key: Hashable, snapshot: S) -> None:
        """Caches a snapshot that was just opened."""
        # freeing snapshots may run Python code, which must not need the lock
        dropped: list[S] = []
        with self._lock:
            num_bytes = num_mapped = 0
            for number, (older, each) in enumerate(reversed(self._snapshots.copy().items()), start=1):
                num_bytes += each.num_bytes
                num_mapped += sum(store.num_mapped for store in _local_stores(each) or ())
                has_room = num_bytes <= self._most_bytes and num_mapped <= self._most_mapped
                if older == key or number >= self._most_snapshots or not has_room:
                    dropped.append(self._snapshots.pop(older))
            self._snapshots[key] = snapshot

    def usage(self) -> caches.Usage:
        """Returns the usage of the cache. Bytes are counted by the caches of each snapshot."""
        return caches.Usage(len(self._snapshots), None, self._most_snapshots, None)

    def clear(self) -> None:
        """Removes all snapshots."""
        with self._lock:
            dropped, self._snapshots = self._snapshots, OrderedDict()
        del dropped

    def after_fork(self) -> None:
        """See `caches.Counted`."""
        self._start()


def _local_stores(snapshot: Reusable) -> list[LocalStore] | None:
    """Returns all stores that files were read from; None if unknown, or if one of them is not local."""
    stores = snapshot.stores
    if stores is None:
        return None
    local = [store for store in stores if isinstance(store, LocalStore)]
    return local if len(local) == len(stores) else None


_RECENT: Final[RecentSnapshots[Snapshot]] = RecentSnapshots()


def open_snapshot(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | timedelta | str | None = None,
    access: Access | None = None,
    use_indices: bool = True,
    learning: Learning = LEARNS,
) -> Snapshot:
    """Opens one version of the table at a path or URI; by default the latest one of main.

    version, tag, as_of: at most one of them; `branch` goes with `version` and `as_of`
    version: a number, of which a negative one counts back from the newest existing version; or a tag, or a time
    as_of: the newest version committed at or before this time, a datetime or ISO 8601 text; a time without a zone
        is UTC
    access: to its files; by default, that of `Access.of`
    use_indices: whether scans may use secondary indices
    learning: whether scans learn statistics, and use those of earlier scans
    raises: TableNotFound, VersionNotFound, InvalidArgument; CorruptFile and UnsupportedFeature for an unreadable
        manifest - an older version is never returned instead
    """
    with observing.recorded("open", table=uri) as watch:
        opened = _open(place_text(uri), version, tag, branch, as_of, access or Access.of(), use_indices, learning)
        if watch is not None:
            watch.note(table=opened.store.uri, version=opened.version)
        return opened


def _open(
    text: str,
    version: VersionLike | None,
    tag: str | None,
    branch: str | None,
    as_of: datetime | date | timedelta | str | None,
    access: Access,
    use_indices: bool,
    learning: Learning,
) -> Snapshot:
    """Does the work of `open_snapshot`."""
    root, main, store, found_branch, file, is_latest = location.locate(
        text, version=version, tag=tag, branch=branch, as_of=as_of, access=access
    )
    key = _key(root, store, found_branch, file, access, use_indices, learning)
    recent = _RECENT.get(key) if key is not None else None
    if recent is not None:
        return recent
    snapshot = Snapshot(
        root,
        main,
        store,
        file,
        branch=found_branch,
        access=access,
        use_indices=use_indices,
        learning=learning,
    )
    try:
        of_branch = snapshot.manifest.branch is not None and found_branch is None
    except VersionNotFound:
        if not is_latest:
            raise
        # it was removed while it was opened
        return open_snapshot(root, branch=found_branch, access=access, use_indices=use_indices, learning=learning)
    except CorruptFile as error:
        if is_latest:
            error.message += _newest_readable(store, file, snapshot.name)
        raise
    if of_branch and (linked := address.resolve_links(root, access)) is not None:
        return open_snapshot(
            linked.root,
            version=version,
            branch=branch or linked.branch,
            as_of=as_of,
            access=access,
            use_indices=use_indices,
            learning=learning,
        )
    if key is not None:
        _RECENT.keep(key, snapshot)
    return snapshot


def open_named(uri: str | os.PathLike[str], **options: Any) -> Snapshot:
    """Opens one version of the table at a path or URI, which may end in an @ and a version, a tag, a branch or a time
    if no argument names a version.

    options, raises: as for `open_snapshot`
    """
    if any(options.get(name) is not None for name in ("version", "tag", "branch", "as_of")):
        return open_snapshot(uri, **options)
    path, version, name = split_name(place_text(uri))
    if (version, name) == (None, None):
        return open_snapshot(uri, **options)
    try:
        try:
            return open_snapshot(path, **{**options, "version": version, "tag": name})
        except VersionNotFound:
            if name is None:
                raise
            if name in open_snapshot(path, **options).branches():
                return open_snapshot(path, **{**options, "branch": name})
            return open_snapshot(path, **{**options, "version": name})
    except TableNotFound:
        # if the name without its suffix is not a table, the whole name may be one
        return open_snapshot(uri, **options)


def _key(
    uri: str,
    store: Store,
    branch: str | None,
    file: VersionFile,
    access: Access,
    use_indices: bool,
    learning: Learning,
) -> Hashable | None:
    """Returns the cache key of a snapshot; None if it is never cached."""
    # learned statistics of a folder are saved when the version is no longer in use; on Windows, mapped files cannot
    # be removed
    if not isinstance(store, LocalStore) or learning.folder is not None or os.name != "posix":
        return None
    if access.identity is None:
        return None
    return uri, store.root, branch, file.path, access, use_indices, learning


def close_unused() -> None:
    """Closes the versions that are cached for the next open. Until then, mapped files that were removed still take
    space on disk."""
    _RECENT.clear()


def list_snapshots(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    access: Access | None = None,
) -> list[Snapshot]:
    """Returns every version of a branch, ascending, or the named one. Reads no manifest, so damaged versions are
    included.

    raises: TableNotFound, VersionNotFound, InvalidArgument
    """
    text = place_text(uri)
    # damage is to be found, and not to stop the reader
    access = (Access.of() if access is None else access).without_checksums()
    located = location.locate(text, version=version, tag=tag, branch=branch, access=access)
    files = [located.file] if version is not None or tag is not None else versions.list_versions(located.store)
    return [
        Snapshot(located.root, located.main, located.store, file, branch=located.branch, access=access)
        for file in files
    ]


def _newest_readable(store: Store, damaged: VersionFile, table: str) -> str:
    """Returns the end of the message about a damaged latest version."""
    older = [file for file in versions.list_versions(store) if file.version < damaged.version]
    for file in reversed(older[-10:]):
        try:
            read_manifest(store, file, table)
        except LanceError:
            continue
        return f". The newest version whose manifest can be read is {file.version}"
    return ""
