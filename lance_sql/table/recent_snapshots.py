"""Cache of recently opened versions.

A query that names a table by its path opens it each time, for example in a script that runs repeatedly, and a service
asks a handle for the newest version before each answer. Content read from a version (footers, pages, row ids, indices)
and values derived from it stay valid as long as none of the files has changed.

    a version, and how it is opened    -->    the snapshot, if every file that it has read is unchanged

Another version of the same place starts with the open indices of the last one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from lance_sql.format.file.learned import Learning
from lance_sql.runtime import caches
from lance_sql.store import LocalStore, Store
from lance_sql.store.access import Access

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


class Key(NamedTuple):
    """A version.

    place: a branch of a table, and how it is opened
    manifest_path: of the version
    """

    place: Hashable
    manifest_path: str

    @classmethod
    def of(
        cls,
        root: str,
        store: Store,
        manifest_path: str,
        *,
        branch: str | None,
        access: Access,
        use_indices: bool,
        learning: Learning,
    ) -> Key | None:
        """Returns the key of a snapshot; None if it is never cached. Arguments as for `Snapshot`."""
        # learned statistics of a folder are saved when the version is no longer in use; on Windows, mapped files cannot
        # be removed
        if not isinstance(store, LocalStore) or learning.folder is not None or os.name != "posix":
            return None
        if access.identity is None:
            return None
        return cls((root, store.root, branch, access, use_indices, learning), manifest_path)


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
        # from the least recently used to the most
        self._snapshots: dict[Key, S] = {}

    def get_or_make(self, key: Key | None, make: Callable[[S | None], S]) -> S:
        """Returns the cached snapshot, if it is equal to one opened now, or one that is made. Threads that ask at the
        same time get the same one.

        key: None for a snapshot that is not cached
        make: given the snapshot of the same place that was opened last, current or not; None without any
        """
        if key is None:
            return make(None)
        before = self._snapshots.get(key)
        stores = _local_stores(before) if before is not None else None
        if before is None or stores is None or not all(store.is_as_read() for store in stores):
            return self._keep(key, make(self._neighbor(key)), before)
        with self._lock:
            if self._snapshots.get(key) is before:
                self._snapshots[key] = self._snapshots.pop(key)
        return before

    def _neighbor(self, key: Key) -> S | None:
        for each, snapshot in reversed(list(self._snapshots.items())):
            if each.place == key.place:
                return snapshot
        return None

    def _keep(self, key: Key, snapshot: S, before: S | None) -> S:
        """Caches a snapshot in place of the one before, unless another thread has just done so."""
        # freeing snapshots may run Python code, which must not need the lock
        dropped: list[S] = []
        with self._lock:
            now = self._snapshots.get(key)
            if now is not None and now is not before:
                return now
            num_bytes = num_mapped = 0
            for number, (older, each) in enumerate(reversed(list(self._snapshots.items())), start=1):
                num_bytes += each.num_bytes
                num_mapped += sum(store.num_mapped for store in _local_stores(each) or ())
                has_room = num_bytes <= self._most_bytes and num_mapped <= self._most_mapped
                if older == key or number >= self._most_snapshots or not has_room:
                    dropped.append(self._snapshots.pop(older))
            self._snapshots[key] = snapshot
        return snapshot

    def usage(self) -> caches.Usage:
        """Returns the usage of the cache. Bytes are counted by the caches of each snapshot."""
        return caches.Usage(len(self._snapshots), None, self._most_snapshots, None)

    def clear(self) -> None:
        """Removes all snapshots."""
        with self._lock:
            dropped, self._snapshots = self._snapshots, {}
        del dropped

    def after_fork(self) -> None:
        self._start()


def _local_stores(snapshot: Reusable) -> list[LocalStore] | None:
    """Returns all stores that files were read from; None if unknown, or if one of them is not local."""
    stores = snapshot.stores
    if stores is None:
        return None
    local = [store for store in stores if isinstance(store, LocalStore)]
    return local if len(local) == len(stores) else None
