"""The open fragments of a version, cached."""

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
"""Limit of the cache. A fragment is kept with the deletions, lineage and columns that were read of it."""


class OpenFragments:
    """The fragments of a version, each opened once. Thread-safe; the least recently used are dropped.

    Picklable without the manifest: fragments are given as values.
    """

    def __init__(self, files: TableFiles) -> None:
        self.files = files
        self._open: LruCache[int, OpenFragment] = LruCache("open fragments", most_entries=MAX_OPEN_FRAGMENTS)

    def __reduce__(self) -> tuple[type[OpenFragments], tuple[TableFiles]]:
        return OpenFragments, (self.files,)

    def get(self, fragment: Fragment) -> OpenFragment:
        """The fragment, opened; no file is read before something is asked of it."""
        opened = self._open.get(fragment.id)
        if opened is not None and _is_of(opened, fragment):
            return opened
        # what a change makes of a fragment has the same id
        made = OpenFragment(self.files, fragment)
        return self._open.keep(fragment.id, made, lambda known: not _is_of(known, fragment))

    @property
    def num_bytes(self) -> int:
        """Memory that what was read of the fragments and their files takes, roughly."""
        fragments = [self._open.peek(number) for number in self._open]
        return self.files.num_bytes + sum(each.num_bytes for each in fragments if each is not None)

    @property
    def concurrency(self) -> int:
        """How many requests to the table's store pay off at once."""
        return self.files.location.store.concurrency

    def prefetch(self, fragments: Sequence[Fragment], fields: Collection[int]) -> None:
        """Opens the data files that have one of the fields, and reads the deletion files, all at the same time; nothing
        where nobody waits for requests.

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


def _is_of(opened: OpenFragment, fragment: Fragment) -> bool:
    return opened.fragment is fragment or opened.fragment == fragment
