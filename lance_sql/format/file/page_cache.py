"""Opened pages, cached for later batches within a memory budget.

Metadata of the columns of a file with a known identity is cached for all tables of the process (`KNOWN`): data files
are immutable, and opening a table again mostly reads files that were read before. Their pages are opened again, which
takes no more requests: heads of pages are fetched with the metadata, or with the values.
"""

from collections.abc import Hashable
from typing import Final, Protocol

from lance_sql.runtime.caches import LruCache

BUDGET_BYTES = 96 * 1024 * 1024


class CachedPage(Protocol):
    """A cache entry: an open page."""

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the entry."""
        ...


class PageCache(LruCache[Hashable, CachedPage]):
    """The most recently used pages, up to `budget` bytes. After an eviction, the head of the page is read again."""

    def __init__(self, name: str | None = None, budget: int = BUDGET_BYTES, *, forgets_at_fork: bool = False) -> None:
        """As for `LruCache`."""
        super().__init__(name, most_bytes=budget, num_bytes=_num_bytes, forgets_at_fork=forgets_at_fork)


def _num_bytes(page: CachedPage) -> int:
    return page.num_bytes


# readers of the kernels have locks of their own
KNOWN: Final = PageCache("columns of files", forgets_at_fork=True)
"""Cache for all tables of this process: entries by the identity of their file, which need no bytes of a mapping."""
