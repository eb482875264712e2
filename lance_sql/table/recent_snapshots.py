"""Cache of recently opened versions.

A query that names a table by its path opens it each time, for example in a script that runs repeatedly. Content
read from a version (footers, pages, row ids, indices) and values derived from it stay valid as long as none of the
files has changed.

    arguments of open_snapshot    -->    the snapshot, if every file that it has read is unchanged

Another version of the same place starts with the open indices of the last one.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from lance_sql.runtime import caches
from lance_sql.store import LocalStore, Store

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
    """The version that arguments of `open_snapshot` name.

    place: a branch of a table, and how it is opened
    manifest_path: of the version
    """

    place: Hashable
    manifest_path: str


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

    def get(self, key: Key) -> S | None:
        """Returns the snapshot, if it is equal to one opened now."""
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            return None
        stores = _local_stores(snapshot)
        if stores is None or not all(store.is_as_read() for store in stores):
            return None
        with self._lock:
            if self._snapshots.get(key) is snapshot:
                self._snapshots[key] = self._snapshots.pop(key)
        return snapshot

    def neighbor(self, key: Key) -> S | None:
        """Returns the snapshot of the same place that was opened last, current or not; None without any."""
        for each, snapshot in reversed(list(self._snapshots.items())):
            if each.place == key.place:
                return snapshot
        return None

    def keep(self, key: Key, snapshot: S) -> None:
        """Caches a snapshot that was just opened."""
        # freeing snapshots may run Python code, which must not need the lock
        dropped: list[S] = []
        with self._lock:
            num_bytes = num_mapped = 0
            for number, (older, each) in enumerate(reversed(list(self._snapshots.items())), start=1):
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
