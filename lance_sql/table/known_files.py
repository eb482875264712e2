"""What the process has read from files that never change, by the identity of each.

Whoever opens a table anew, binds a query or asks for the changes of the last hundred versions mostly wants what was
read before. A file in the place of another has another identity.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from cachetools import LRUCache

from lance_sql.store import Store

T = TypeVar("T")

# Of two changes at nearly the same time the system's clock tells only one: a file that has just been written may be
# another one a moment later, with the same identity.
_SETTLED: Final = timedelta(milliseconds=100)


class KnownFiles(Generic[T]):
    """What was made of the files that were read last, as much as a budget of memory allows. Thread-safe.

    budget: in bytes
    num_bytes: what a value takes
    """

    def __init__(self, budget: int, num_bytes: Callable[[T], int]) -> None:
        self._budget = budget
        self._num_bytes = num_bytes
        self.forget()
        _all.add(self)

    def forget(self) -> None:
        """A forked process begins so: it has none of the threads that may have held the lock."""
        self._lock = Lock()
        self._values: LRUCache[tuple[str, int], T] = LRUCache(self._budget, getsizeof=self._num_bytes)

    def get(self, store: Store, path: str, read: Callable[[], T], *, part: int = 0) -> T:
        """What `read` returns for the file, which is called where that is not known, or the store has no identities.
        None is asked for again.

        part: tells what is read from other parts of the same file
        raises: as `read`
        """
        identity = store.identity(path)
        if identity is None:
            return read()
        key = (identity, part)
        with self._lock:
            known: T | None = self._values.get(key)
        if known is not None:
            return known
        found = read()
        if found is None:
            return found
        # One that would push out all others is not worth it.
        if self._num_bytes(found) <= self._budget // 2 and _is_settled(store, path, identity):
            with self._lock:
                self._values[key] = found
        return found


def _is_settled(store: Store, path: str, identity: str) -> bool:
    """Whether the file is still the same one, and was not written a moment ago."""
    try:
        modified = store.modified(path)
    except OSError:
        # it was removed since it was read
        return False
    is_old = modified is not None and datetime.now(UTC) - modified > _SETTLED
    return is_old and store.identity(path) == identity


_all: WeakSet[KnownFiles[Any]] = WeakSet()


def _forget_all() -> None:
    for each in list(_all):
        each.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
