"""The bytes of a data file: its end, which opening has read, parts that are held ahead, and the rest in its store."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import at
from lance_sql.format.file import held_bytes
from lance_sql.format.file.held_bytes import HeldBytes
from lance_sql.store import ByteRange, Store
from lance_sql.store.ranges import ROUND_TRIP_BYTES
from lance_sql.values.row_ranges import RowRanges

TAIL_BYTES = 64 * 1024
"""Read at the end of a file to open it; holds all metadata of most files."""


class FileBytes:
    """What a file holds, byte by byte. Thread-safe.

    What is made of a file may keep its bytes: they lead to nothing that is made of them, so that a file whose last
    reader goes is let go of at once.

    size: of the file
    tail: its last bytes
    identity: as its store says; None where it says none
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
            # before anything is read: what was read is of this file as long as the store still says the same
            self.identity = store.identity(path)
            # of a file that is far away, little more takes no longer than another request
            is_quick = store.concurrency > 1 and (has_short_end or (size is not None and size <= ROUND_TRIP_BYTES))
            self.size, self.tail = store.tail(path, ROUND_TRIP_BYTES if is_quick else TAIL_BYTES, size=size)

    def fetch(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """The bytes of each range, which lie anywhere in the file."""
        if not ranges:
            return []
        with self.at():
            return self.read(ranges)

    def read(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """As `fetch`, whose errors do not say in which file they are."""
        known = [self._in_memory(start, end) for start, end in ranges]
        missing = [each for each, content in zip(ranges, known, strict=True) if content is None]
        asked = iter(self._store.get_ranges(self.path, missing) if missing else ())
        return [next(asked) if content is None else content for content in known]

    def read_scattered(
        self, columns: Sequence[tuple[_kernels.ColumnReader, RowRanges]]
    ) -> tuple[Sequence[_kernels.FileParts | None] | None, tuple[int, str] | None]:
        """The bytes of rows that are far apart; see `_kernels.read_scattered`. Nothing of a file that is not local.

        columns: of this file, with ranges of rows
        raises: CorruptFile for a path that leads out of the store
        """
        with self.at():
            local = self._store.local_path(self.path)
        return (None, None) if local is None else _kernels.read_scattered(local, columns)

    def hold(self, ranges: Sequence[ByteRange]) -> HeldBytes:
        """Asks for bytes that are about to be read: until they are let go of, they are in memory.

        raises: CorruptFile where the file does not have them
        """
        # what the tail has is there already
        tail_start = self.size - self.tail.size
        with self.at():
            held = held_bytes.read([each for each in ranges if each.start < tail_start], self.read)
        with self._lock:
            self._held = (*self._held, held)
        return held

    def let_go(self, held: HeldBytes) -> None:
        """Ends `hold`."""
        with self._lock:
            self._held = tuple(each for each in self._held if each is not held)

    @property
    def concurrency(self) -> int:
        """How many requests to the file's store pay off at once."""
        return self._store.concurrency

    @property
    def is_far(self) -> bool:
        """Whether whoever reads the file waits for an answer."""
        return self._store.concurrency > 1

    @property
    def gap(self) -> int:
        """Bytes between two ranges that are better read over than asked for separately."""
        return self._store.gap

    @property
    def is_mapped(self) -> bool:
        """Whether bytes cost nothing as long as nobody looks at them."""
        return self.is_in_memory or self.gap >= self.size

    @property
    def is_unchanged(self) -> bool:
        """Whether no other file has taken its place since it was opened, as far as its store can tell."""
        return self.identity is not None and self._store.identity(self.path) == self.identity

    @property
    def is_in_memory(self) -> bool:
        """Whether opening the file has read all of it, so that nothing is gained by keeping parts of it once more."""
        return bool(self.tail.size == self.size)

    def at(self, column: str | None = None, page: int | None = None) -> at:
        """Where errors in the file are."""
        return at(table=self.table, file=self.path, column=column, page=page)

    def _in_memory(self, start: int, end: int) -> pa.Buffer | None:
        tail_start = self.size - self.tail.size
        if tail_start <= start <= end <= self.size:
            return self.tail.slice(start - tail_start, end - start)
        return next((content for held in self._held if (content := held.find(start, end)) is not None), None)
