"""Opened pages, kept for the next batch that reads from them, within a budget of memory.

What a file of a known identity says of its columns and pages is kept for all tables of the process (`KNOWN`): data
files are immutable, and whoever opens a table anew mostly reads files that were read before.
"""

import os
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Final, Protocol

BUDGET_BYTES = 96 * 1024 * 1024


class CachedPage(Protocol):
    """What is kept: a page that has been opened."""

    @property
    def num_bytes(self) -> int:
        """Memory that keeping it takes, roughly."""
        ...


class PageCache:
    """The most recently used pages, up to `budget` bytes. Thread-safe.

    A page in use stays alive without the cache; dropping it costs reading its head again.
    """

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._budget = budget
        self._lock = Lock()
        self._pages: OrderedDict[Hashable, CachedPage] = OrderedDict()
        self._num_bytes = 0

    def get(self, key: Hashable) -> CachedPage | None:
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def put(self, key: Hashable, page: CachedPage) -> None:
        with self._lock:
            if key in self._pages:
                return
            self._pages[key] = page
            self._num_bytes += page.num_bytes
            while self._num_bytes > self._budget and len(self._pages) > 1:
                _, dropped = self._pages.popitem(last=False)
                self._num_bytes -= dropped.num_bytes

    def clear(self) -> None:
        """Forgets everything. A forked process begins so: it has none of the threads that may have held a lock."""
        self._lock = Lock()
        self._pages = OrderedDict()
        self._num_bytes = 0


KNOWN: Final = PageCache()
"""Of all tables that this process reads: what is kept by the identity of its file, and needs no bytes of a mapping."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KNOWN.clear)
