"""Manifests that the process has read before.

A manifest never changes, and whoever opens a table anew, binds a query or asks for the changes of the last hundred
versions mostly wants those of before. A file in the place of another has another identity.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

from cachetools import LRUCache

from lance_sql.store import Store
from lance_sql.table import manifest
from lance_sql.table.manifest import Manifest

BUDGET_BYTES: Final = 64 * 1024 * 1024

# What a manifest takes in memory: its message and what was made of it, and the values of fragments that were asked for.
_BYTES: Final = 16 * 1024
_PER_BYTE: Final = 4
_PER_FRAGMENT: Final = 4 * 1024

# Of two changes at nearly the same time the system's clock tells only one: a file that has just been written may be
# another one a moment later, with the same identity.
_SETTLED: Final = timedelta(milliseconds=100)


def read(store: Store, path: str, table: str, *, size: int | None = None) -> Manifest:
    """As `manifest.read`, which is called for files that are not known, and for all where the store has no identities.

    raises: as `manifest.read`
    """
    identity = store.identity(path)
    if identity is None:
        return manifest.read(store, path, table, size=size)
    known = _known.get(identity)
    if known is not None:
        return known
    found = manifest.read(store, path, table, size=size)
    modified = store.modified(path)
    is_settled = modified is not None and datetime.now(UTC) - modified > _SETTLED
    # another file may have taken its place meanwhile
    if is_settled and store.identity(path) == identity:
        _known.put(identity, found)
    return found


class _Known:
    """Manifests by identity, the most recently used of them, up to a budget of memory. Thread-safe."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A forked process begins so: it has none of the threads that may have held the lock."""
        self._lock = Lock()
        self._manifests: LRUCache[str, Manifest] = LRUCache(BUDGET_BYTES, getsizeof=_num_bytes)

    def get(self, identity: str) -> Manifest | None:
        with self._lock:
            found: Manifest | None = self._manifests.get(identity)
            return found

    def put(self, identity: str, found: Manifest) -> None:
        # one that would push out all others is not worth it
        if _num_bytes(found) <= BUDGET_BYTES // 2:
            with self._lock:
                self._manifests[identity] = found


def _num_bytes(found: Manifest) -> int:
    fragments = found.fragments
    return _BYTES + _PER_BYTE * len(fragments.content) + _PER_FRAGMENT * len(fragments)


_known: Final = _Known()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_known.forget)
