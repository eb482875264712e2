"""Bounded caches of the process, counted by name.

    name                  | instances
    pages                 | one for the process, shared by all readers
    pages of versions     | one for each open version, and so on

`lance_sql.cache_usage` lists all of them. Evicted entries are read or computed again.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Final, Generic, Protocol, TypeVar
from weakref import ref

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FEWEST_DEAD: Final = 256


@dataclass(frozen=True, slots=True)
class Usage:
    """Contents and limits of a cache.

    entries: number of values; None if not counted
    num_bytes: their approximate memory; None likewise
    most_entries, most_bytes: None if unlimited
    """

    entries: int | None
    num_bytes: int | None = None
    most_entries: int | None = None
    most_bytes: int | None = None


class Counted(Protocol):
    """A holder of memory that can be counted and freed."""

    @property
    def name(self) -> str:
        """Name under which it is counted, together with all others of that name."""
        ...

    def usage(self) -> Usage:
        """Returns its current contents and limits."""
        ...

    def clear(self) -> None:
        """Frees everything that can be read or computed again."""
        ...

    def after_fork(self) -> None:
        """Runs in a forked process, which has none of the threads that may have held a lock."""
        ...


# Not a set of weak references, which runs Python to remove entries and could lose a signal. No lock either.
_counted: Final[dict[int, ref[Counted]]] = {}
_numbers: Final = count()
_most_before_sweep = _FEWEST_DEAD


def register(counted: Counted) -> None:
    """Counts an object as long as another reference keeps it alive."""
    global _most_before_sweep
    _counted[next(_numbers)] = ref(counted)
    if len(_counted) > _most_before_sweep:
        _most_before_sweep = 2 * len(all_counted()) + _FEWEST_DEAD


def all_counted() -> list[Counted]:
    """Returns all live objects, the oldest first."""
    return alive(_counted)


def alive(references: dict[int, ref[V]]) -> list[V]:
    """Returns the live objects of references, in their order, and removes the other references."""
    found = []
    # a copy is atomic; a list of items is not, because garbage collection and other threads may run meanwhile
    for number, reference in references.copy().items():
        if (each := reference()) is not None:
            found.append(each)
        else:
            references.pop(number, None)
    return found


class LruCache(Generic[K, V]):
    """The most recently used values, as many as fit. Thread-safe.

    The newest value stays, however large it is. A value in use stays alive without the cache. A forked process inherits
    the contents of its parent, unless a thread was just changing them.
    """

    def __init__(
        self,
        name: str | None,
        *,
        most_entries: int | None = None,
        most_bytes: int | None = None,
        num_bytes: Callable[[V], int] | None = None,
        dropped: Callable[[K], object] | None = None,
        forgets_at_fork: bool = False,
    ) -> None:
        """
        name: under which it is counted; None if its owner counts it
        num_bytes: returns the approximate size of a value, when it is added
        dropped: called with each evicted key, by the thread that caused the eviction
        forgets_at_fork: for values with locks of their own
        """
        self._name = name
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._size = num_bytes
        self._dropped = dropped
        self._forgets_at_fork = forgets_at_fork
        self._start()
        if name is not None:
            register(self)

    def _start(self) -> None:
        self._lock = Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._num_bytes = 0

    @property
    def name(self) -> str:
        return self._name or ""

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the values."""
        return self._num_bytes

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._values))

    def get(self, key: K) -> V | None:
        """Returns the value, and marks it as used."""
        with self._lock:
            # two calls for a value that is there: small operations look up many
            try:
                value = self._values[key][0]
            except KeyError:
                return None
            self._values.move_to_end(key)
            return value

    def peek(self, key: K) -> V | None:
        """Returns the value without marking it as used."""
        entry = self._values.get(key)
        return entry[0] if entry is not None else None

    def keep(self, key: K, value: V, replaces: Callable[[V], bool] | None = None) -> V:
        """Caches a value unless the key has one and the new one does not replace it (`replaces`). Returns the cached
        one."""
        size = self._size(value) if self._size is not None else 0
        # freeing a value may run Python, which must not need the lock
        dropped: list[tuple[K, tuple[V, int]]] = []
        with self._lock:
            current = self._values.get(key)
            if current is not None:
                if replaces is None or not replaces(current[0]):
                    self._values.move_to_end(key)
                    return current[0]
                self._num_bytes -= current[1]
                del self._values[key]
            self._values[key] = value, size
            self._num_bytes += size
            while self._is_too_much() and len(self._values) > 1:
                dropped.append(self._values.popitem(last=False))
                self._num_bytes -= dropped[-1][1][1]
        if self._dropped is not None:
            for old, _ in dropped:
                self._dropped(old)
        return value

    def put(self, key: K, value: V) -> None:
        """Caches the value in place of an existing one."""
        self.keep(key, value, lambda _: True)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """Returns the value, or makes and caches it. If several threads make one, all get the first."""
        value = self.get(key)
        return value if value is not None else self.keep(key, make())

    def pop(self, key: K) -> V | None:
        """Removes and returns a value."""
        with self._lock:
            entry = self._values.pop(key, None)
            if entry is None:
                return None
            self._num_bytes -= entry[1]
            return entry[0]

    def clear(self) -> None:
        """Frees all values."""
        with self._lock:
            old_values, self._values = self._values, OrderedDict()
            self._num_bytes = 0
        del old_values

    def after_fork(self) -> None:
        if self._forgets_at_fork or self._lock.locked():
            self._start()

    def usage(self) -> Usage:
        num_bytes = self._num_bytes if self._size is not None else None
        return Usage(len(self._values), num_bytes, self._most_entries, self._most_bytes)

    def _is_too_much(self) -> bool:
        if self._most_bytes is not None and self._num_bytes > self._most_bytes:
            return True
        return self._most_entries is not None and len(self._values) > self._most_entries


class Measured:
    """Memory outside an `LruCache`, counted by a function.

    clear: frees it; without one it is freed with its tables
    """

    def __init__(self, name: str, usage: Callable[[], Usage], clear: Callable[[], object] | None = None) -> None:
        self.name = name
        self._usage = usage
        self._clear = clear
        register(self)

    def usage(self) -> Usage:
        return self._usage()

    def clear(self) -> None:
        if self._clear is not None:
            self._clear()

    def after_fork(self) -> None:
        """Does nothing: its owner handles forks."""


def total(usages: Iterable[Usage]) -> Usage:
    """Adds up usages. A number that one of them does not count or limit is None."""
    listed = list(usages)

    def added(values: list[int | None]) -> int | None:
        counted = [value for value in values if value is not None]
        return sum(counted) if len(counted) == len(values) and counted else None

    return Usage(
        added([each.entries for each in listed]),
        added([each.num_bytes for each in listed]),
        added([each.most_entries for each in listed]),
        added([each.most_bytes for each in listed]),
    )


def _after_fork() -> None:
    for each in all_counted():
        each.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
