"""What the process has read from files that never change, by the identity of each.

Whoever opens a table anew, binds a query or asks for the changes of the last hundred versions mostly wants what was
read before. A file in the place of another has another identity.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Generic, TypeVar

from lance_sql.runtime.caches import LruCache
from lance_sql.store import Store

T = TypeVar("T")

# Of two changes at nearly the same time the system's clock tells only one: a file that has just been written may be
# another one a moment later, with the same identity.
_SETTLED: Final = timedelta(milliseconds=100)


class KnownFiles(Generic[T]):
    """What was made of the files that were read last, as much as a budget of memory allows. Thread-safe.

    name: see `LruCache`
    budget: in bytes
    num_bytes: what a value takes
    """

    def __init__(self, name: str, budget: int, num_bytes: Callable[[T], int]) -> None:
        self._budget = budget
        self._num_bytes = num_bytes
        self._values: LruCache[tuple[str, int], T] = LruCache(
            name, most_bytes=budget, num_bytes=num_bytes, forgets_at_fork=True
        )

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
        known = self._values.get(key)
        if known is not None:
            return known
        value = read()
        if value is None:
            return value
        # One that would push out all others is not worth it.
        if self._num_bytes(value) <= self._budget // 2 and _is_settled(store, path, identity):
            self._values.put(key, value)
        return value


def _is_settled(store: Store, path: str, identity: str) -> bool:
    """Whether the file is still the same one, and was not written a moment ago."""
    try:
        modified = store.modified(path)
    except OSError:
        # it was removed since it was read
        return False
    is_old = modified is not None and datetime.now(UTC) - modified > _SETTLED
    return is_old and store.identity(path) == identity
