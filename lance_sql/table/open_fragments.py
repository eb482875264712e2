"""Cache of the open fragments of a version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from lance_sql.runtime.caches import LruCache
from lance_sql.store import concurrently
from lance_sql.table.files import TableFiles
from lance_sql.table.fragment import Fragment
from lance_sql.table.listed_columns import listed
from lance_sql.table.open_fragment import OpenFragment

MAX_OPEN_FRAGMENTS: Final = 1024
"""Limit of the cache. Each entry includes the deletions, lineage and columns read of the fragment."""


class OpenFragments:
    """Fragments of a version, each opened once. Thread-safe; evicts the least recently used.

    Picklable without the manifest, because callers pass fragments as values.
    """

    def __init__(self, files: TableFiles) -> None:
        self.files = files
        self._open: LruCache[object, OpenFragment] = LruCache("open fragments", most_entries=MAX_OPEN_FRAGMENTS)

    def __reduce__(self) -> tuple[type[OpenFragments], tuple[TableFiles]]:
        return OpenFragments, (self.files,)

    def get(self, fragment: Fragment) -> OpenFragment:
        """Returns the opened fragment. Files are read on demand."""
        # change feeds read fragments without their deletions
        deletions = fragment.deletion_file
        key = fragment.id if deletions is None else (fragment.id, deletions.read_version, deletions.id)
        opened = self._open.get(key)
        if opened is not None and (opened.fragment is fragment or opened.fragment == fragment):
            return opened
        # a changed fragment keeps its id
        made = OpenFragment(self.files, fragment)
        return self._open.keep(key, made, lambda known: known.fragment != fragment)

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the cached content of the fragments and their files."""
        fragments = [self._open.peek(number) for number in self._open]
        return self.files.num_bytes + sum(each.num_bytes for each in fragments if each is not None)

    @property
    def concurrency(self) -> int:
        """Number of concurrent requests that pay off for the table's store."""
        return self.files.location.store.concurrency

    def prefetch(self, fragments: Sequence[Fragment], fields: Collection[int]) -> None:
        """Opens the data files with one of the fields, and reads the deletion files, concurrently. Does nothing for
        stores without latency.

        fields: ids
        raises: CorruptFile, UnsupportedFeature
        """
        if self.concurrency <= 1:
            return
        calls: list[Callable[[], object]]
        calls = [self.get(fragment).load_deletions for fragment in fragments if fragment.deletion_file is not None]
        for fragment in fragments:
            for file, has in zip(fragment.files, listed(fragment.files).files, strict=True):
                if not has.fields.isdisjoint(fields):
                    calls.append(partial(self.files.open, file))
        concurrently(calls, self.concurrency)
