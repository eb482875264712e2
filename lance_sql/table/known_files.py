"""Cache of the parsed content of immutable files, by file identity.

Opening a table again, binding a query or reading the changes of the last hundred versions mostly needs content that
was read before. A replaced file has another identity.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

from lance_sql.runtime.caches import LruCache
from lance_sql.store import Store
from lance_sql.store.file_statuses import FINE_TICK_NS, longest_tick

T = TypeVar("T")

_MICROSECOND_NS: Final = 1000


class KnownFiles(Generic[T]):
    """Cache of values parsed from files, with a memory limit. Thread-safe.

    name: see `LruCache`
    budget: in bytes
    num_bytes: returns the size of a value
    """

    def __init__(self, name: str, budget: int, num_bytes: Callable[[T], int]) -> None:
        self._budget = budget
        self._num_bytes = num_bytes
        self._values: LruCache[tuple[str, int], T] = LruCache(
            name, most_bytes=budget, num_bytes=num_bytes, forgets_at_fork=True
        )

    def get(self, store: Store, path: str, read: Callable[[], T], *, part: int = 0) -> T:
        """Returns the cached value of a file, or calls `read` if there is none or the store has no identities. None
        is not cached.

        part: distinguishes values from several parts of one file
        raises: as `read`
        """
        identity = store.identity(path)
        if identity is None:
            return read()
        key = (identity, part)
        known = self._values.get(key)
        if known is not None:
            return known
        value = read()
        if value is None:
            return value
        # A value that would evict all others is not cached.
        if self._num_bytes(value) <= self._budget // 2 and _is_settled(store, path, identity):
            self._values.put(key, value)
        return value


def _is_settled(store: Store, path: str, identity: str) -> bool:
    """Whether the file is unchanged, and was not written a moment ago."""
    try:
        modified = store.modified(path)
    except OSError:
        # the file was removed after it was read
        return False
    if modified is None:
        return False
    # the identity of a remote file has its tag; its time has whole seconds
    is_local = store.concurrency <= 1
    tick = longest_tick(modified.microsecond * _MICROSECOND_NS) if is_local else FINE_TICK_NS
    age = datetime.now(UTC) - modified
    return age > timedelta(microseconds=tick / _MICROSECOND_NS) and store.identity(path) == identity
