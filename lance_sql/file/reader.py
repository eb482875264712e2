"""Opening a data file: its footer, and the metadata of its columns as they are asked for."""

from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from lance_sql.errors import CorruptFile, at
from lance_sql.file.footer import FileVersion, Footer, parse_footer, parse_table
from lance_sql.file.heads import HeadCache
from lance_sql.file.metadata_v2 import ColumnMetadata, parse_column, parse_num_rows
from lance_sql.store import ByteRange, Store

TAIL_BYTES = 64 * 1024
"""Read at the end of a file to open it; holds all metadata of most files."""


class DataFile:
    """An open data file. Thread-safe; columns are parsed when they are first asked for."""

    def __init__(self, store: Store, path: str, heads: HeadCache) -> None:
        self.path = path
        self._store = store
        self._heads = heads
        self._lock = Lock()
        self._parsed: dict[int, ColumnMetadata] = {}
        with at(file=path):
            file_size, tail = store.tail(path, TAIL_BYTES)
            self._tail = tail
            self._footer: Footer = parse_footer(file_size, tail)
            columns, buffers = self._metadata([self._footer.columns, self._footer.global_buffers])
            self._columns = parse_table(columns, file_size)
            global_buffers = parse_table(buffers, file_size)
            if not global_buffers:
                raise CorruptFile("a data file without a descriptor")
            self.num_rows = parse_num_rows(bytes(self._metadata(global_buffers[:1])[0]))

    @property
    def file_version(self) -> FileVersion:
        return self._footer.file_version

    @property
    def num_columns(self) -> int:
        return len(self._columns)

    @property
    def num_bytes(self) -> int:
        return self._footer.file_size

    def column(self, index: int) -> ColumnMetadata:
        """The metadata of column `index`.

        raises: CorruptFile when the file has no such column
        """
        column = self._parsed.get(index)
        if column is None:
            with at(file=self.path):
                if not 0 <= index < len(self._columns):
                    raise CorruptFile(f"column {index} of {len(self._columns)} columns")
                (data,) = self._metadata([self._columns[index]])
                column = parse_column(bytes(data), self._footer.file_size)
            with self._lock:
                self._parsed[index] = column
        return column

    def fetch(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """The bytes of each range, which lie anywhere in the file."""
        with at(file=self.path):
            return self._store.get_ranges(self.path, ranges) if ranges else []

    @property
    def gap(self) -> int:
        """Bytes between two ranges that are better read over than asked for separately."""
        return self._store.gap

    @property
    def heads(self) -> HeadCache:
        return self._heads

    def _metadata(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """Like `fetch`, from the tail where it has them."""
        tail_start = self._footer.file_size - self._tail.size
        if all(start >= tail_start for start, _ in ranges):
            return [self._tail.slice(start - tail_start, end - start) for start, end in ranges]
        return self._store.get_ranges(self.path, ranges)
