"""Opened pages, kept for the next batch that reads from them, within a budget of memory.

What a file of a known identity says of its columns and pages is kept for all tables of the process (`KNOWN`): data
files are immutable, and whoever opens a table anew mostly reads files that were read before.
"""

from collections.abc import Hashable
from typing import Final, Protocol

from lance_sql.runtime.caches import LruCache

BUDGET_BYTES = 96 * 1024 * 1024


class CachedPage(Protocol):
    """What is kept: a page that has been opened."""

    @property
    def num_bytes(self) -> int:
        """Memory that keeping it takes, roughly."""
        ...


class PageCache(LruCache[Hashable, CachedPage]):
    """The most recently used pages, up to `budget` bytes; dropping one costs reading its head again."""

    def __init__(self, name: str | None = None, budget: int = BUDGET_BYTES, *, forgets_at_fork: bool = False) -> None:
        """As for `LruCache`."""
        super().__init__(name, most_bytes=budget, num_bytes=_num_bytes, forgets_at_fork=forgets_at_fork)


def _num_bytes(page: CachedPage) -> int:
    return page.num_bytes


# readers of the kernels have locks of their own
KNOWN: Final = PageCache("pages", forgets_at_fork=True)
"""Of all tables that this process reads: what is kept by the identity of its file, and needs no bytes of a mapping."""
