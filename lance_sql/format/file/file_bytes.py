"""The bytes of a data file: its tail, which opening has read, prefetched parts, and the rest in its store."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import at
from lance_sql.format.file import held_bytes
from lance_sql.format.file.held_bytes import HeldBytes
from lance_sql.store import ByteRange, MappedFile, Store
from lance_sql.store.ranges import ROUND_TRIP_BYTES
from lance_sql.values.row_ranges import RowRanges

TAIL_BYTES = 64 * 1024
"""Bytes read at the end of a file to open it; covers all metadata of most files."""


class FileBytes:
    """The content of a file by byte range. Thread-safe.

    Objects made from a file may hold its bytes. Bytes refer to none of these objects, so that a file is freed with its
    last reader.

    size: of the file
    tail: its last bytes
    is_in_memory: opening has read the whole file, so that caching parts of it has no benefit
    is_mapped: bytes cost nothing until they are accessed
    identity: as returned by its store, or None
    """

    def __init__(
        self,
        store: Store,
        path: str,
        *,
        size: int | None = None,
        table: str | None = None,
        has_short_end: bool = False,
    ) -> None:
        """As for `FileReader`."""
        self.path = path
        self.table = table
        self._store = store
        self._held: tuple[HeldBytes, ...] = ()
        self._lock = Lock()
        with self.at():
            # before anything is read: the bytes are of this file as long as the store returns the same identity
            self.identity = store.identity(path)
            # for a remote file, a slightly larger read takes no longer than another request
            is_quick = store.concurrency > 1 and (has_short_end or (size is not None and size <= ROUND_TRIP_BYTES))
            self.size, self.tail = store.tail(path, ROUND_TRIP_BYTES if is_quick else TAIL_BYTES, size=size)
        self.is_in_memory = bool(self.tail.size == self.size)
        self.is_mapped = self.is_in_memory or store.gap >= self.size

    def fetch(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """Reads the bytes of each range, anywhere in the file."""
        if not ranges:
            return []
        with self.at():
            return self.read(ranges)

    def read(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """Reads like `fetch`, but its errors do not name the file."""
        tail_start, held = self.size - self.tail.size, self._held
        known = [
            self.tail.slice(start - tail_start, end - start)
            if tail_start <= start <= end <= self.size
            else _find(held, start, end)
            if held
            else None
            for start, end in ranges
        ]
        missing = [each for each, content in zip(ranges, known, strict=True) if content is None]
        contents = self._store.get_ranges(self.path, missing) if missing else []
        if len(missing) == len(ranges):
            return contents
        asked = iter(contents)
        return [next(asked) if content is None else content for content in known]

    def content(self) -> tuple[pa.Buffer, MappedFile | None] | None:
        """Returns the whole file, and the mapping that holds it, if opening has not read it; None if it is not local.

        raises: as reading the file
        """
        if self.is_in_memory:
            return self.tail, None
        with self.at():
            mapping = self._store.mapped(self.path)
        return None if mapping is None else (mapping.content, mapping)

    def read_scattered(
        self, columns: Sequence[tuple[_kernels.ColumnReader, RowRanges]]
    ) -> tuple[Sequence[_kernels.FileParts | None] | None, tuple[int, str] | None]:
        """Reads rows that are far apart; see `_kernels.read_scattered`. Returns nothing for a file that is not local.

        columns: of this file, with ranges of rows
        raises: CorruptFile for a path that leads out of the store
        """
        with self.at():
            local = self._store.local_path(self.path)
        return (None, None) if local is None else _kernels.read_scattered(local, columns)

    def hold(self, ranges: Sequence[ByteRange]) -> HeldBytes:
        """Prefetches bytes. They stay in memory until they are released.

        raises: CorruptFile if the file does not have them
        """
        # the tail is in memory already
        tail_start = self.size - self.tail.size
        with self.at():
            held = held_bytes.read([each for each in ranges if each.start < tail_start], self.read)
        with self._lock:
            self._held = (*self._held, held)
        return held

    def let_go(self, held: HeldBytes) -> None:
        """Releases the bytes of `hold`."""
        with self._lock:
            self._held = tuple(each for each in self._held if each is not held)

    @property
    def concurrency(self) -> int:
        """Number of simultaneous requests to the file's store that pay off."""
        return self._store.concurrency

    @property
    def is_far(self) -> bool:
        """Whether the file is remote, so that reads wait for an answer."""
        return self._store.concurrency > 1

    @property
    def gap(self) -> int:
        """Maximum bytes between two ranges that are cheaper to read over than to request separately."""
        return self._store.gap

    @property
    def is_unchanged(self) -> bool:
        """Whether the file is the same as when it was opened, as far as its store can detect that."""
        return self.identity is not None and self._store.identity(self.path) == self.identity

    def at(self, column: str | None = None, page: int | None = None) -> at:
        """Returns the context that adds the file to errors."""
        return at(table=self.table, file=self.path, column=column, page=page)


def _find(held: Sequence[HeldBytes], start: int, end: int) -> pa.Buffer | None:
    """Returns the bytes of a range that were prefetched; None for others."""
    contents = (each.find(start, end) for each in held)
    return next((content for content in contents if content is not None), None)
