"""Versions that were opened last, for whoever opens them again.

A query that names a table by its path opens it each time, as a script does that is asked again and again. What was read
of a version (footers, pages, row ids, indices) and what was made of it is as good as new as long as none of these files
has changed.

    what open_snapshot was asked for    -->    the snapshot, if every file that it has read is still the same
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar

from lance_sql.runtime import caches
from lance_sql.store import LocalStore, Store

MOST_SNAPSHOTS: Final = 16

MOST_BYTES: Final = 64 << 20
MOST_MAPPED: Final = 64
"""Files that are mapped. Both beside the newest, which stays however much it holds."""


class Reusable(Protocol):
    """What is kept: a snapshot."""

    @property
    def stores(self) -> tuple[Store, ...] | None:
        """All that files of it were read from; None where that is not told."""
        ...

    @property
    def num_bytes(self) -> int:
        """Memory that what was read of it takes, roughly."""
        ...


S = TypeVar("S", bound=Reusable)


class RecentSnapshots(Generic[S]):
    """The snapshots that were opened last. Thread-safe. A forked process has none: their locks may be held."""

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
        """The snapshot, as long as it is as good as one that is opened now."""
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
        """Keeps a snapshot that was just opened."""
        # whatever goes may run Python, which must not want the lock
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
        """As for every cache; their bytes are counted by the caches of each."""
        return caches.Usage(len(self._snapshots), None, self._most_snapshots, None)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            dropped, self._snapshots = self._snapshots, OrderedDict()
        del dropped

    def after_fork(self) -> None:
        """See `caches.Counted`."""
        self._start()


def _local_stores(snapshot: Reusable) -> list[LocalStore] | None:
    """All that files were read from; None where that is not told, or they are others."""
    stores = snapshot.stores
    if stores is None:
        return None
    local = [store for store in stores if isinstance(store, LocalStore)]
    return local if len(local) == len(stores) else None
