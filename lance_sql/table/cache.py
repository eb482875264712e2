"""What a snapshot has read once and keeps: values by key, the least recently used one dropped first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar, cast

_T = TypeVar("_T")


class Cache:
    """At most `max_entries` values. Thread-safe: two threads that miss at once make it twice, one is kept."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._values: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """The value of a key, made when it is not there; an error of `make` passes and nothing is kept.

        A key must say what type its value has, for example by its first part.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast(_T, self._values[key])
        # Not under the lock: making a value reads files.
        value = make()
        with self._lock:
            kept = self._values.setdefault(key, value)
            if len(self._values) > self._max_entries:
                self._values.popitem(last=False)
        return cast(_T, kept)
