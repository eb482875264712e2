"""Reading rows of the columns of data files: two rounds of requests, however many columns and pages there are.

The first round brings the heads of pages that are met for the first time (chunk tables, dictionaries), the second the
values. Both ask each file for all its ranges at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.file.footer import FileVersion, Footer, parse_footer, parse_table
from lance_sql.file.heads import HeadCache
from lance_sql.file.metadata_v2 import ColumnMetadata, parse_column, parse_num_rows
from lance_sql.layouts.nest import Chain
from lance_sql.layouts.page import Page, concat
from lance_sql.layouts.pages import head_ranges, open_page
from lance_sql.row_ranges import RowRanges
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


@dataclass(frozen=True)
class LeafColumn:
    """One column of an open file, and what its pages become.

    name: the column's name in the table, for errors
    """

    file: DataFile
    index: int
    chain: Chain
    name: str

    @cached_property
    def metadata(self) -> ColumnMetadata:
        """The column's pages."""
        return self.file.column(self.index)

    @cached_property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """First table row of each page, then the number of rows: int64[pages + 1].

        raises: CorruptFile when the pages do not add up to the file's rows
        """
        with at(file=self.file.path, column=self.name):
            starts, per_row = self.metadata.row_starts, self.chain.items_per_row
            num_rows, rest = divmod(int(starts[-1]), per_row)
            if rest or num_rows != self.file.num_rows:
                raise CorruptFile(f"the pages of the column hold {num_rows} rows, the file {self.file.num_rows}")
            if (starts % per_row).any():
                raise CorruptFile("a page that ends inside a row")
            return starts // per_row

    def at(self, page: int) -> at:
        """Where errors in a page are."""
        return at(file=self.file.path, column=self.name, page=page)


def read_columns(columns: Sequence[LeafColumn], rows: RowRanges) -> list[pa.Array]:
    """One array of `chain.type` for each column, in order.

    rows: relative to the files' first row; at least one
    raises: CorruptFile or UnsupportedFeature with the file, column and page
    """
    parts = [_pages_of(column, rows) for column in columns]
    pages = [page for column in parts for page in column]
    heads = _open_heads(pages)
    planned = []
    for part, page in zip(pages, heads, strict=True):
        with part.column.at(part.number):
            planned.append(page.read(part.rows, part.column.chain, part.column.file.gap, part.column.file.fetch))
    fetched = _fetch([(part.column.file, read.ranges) for part, read in zip(pages, planned, strict=True)])
    arrays = []
    for part, read, buffers in zip(pages, planned, fetched, strict=True):
        with part.column.at(part.number):
            array = read.decode(buffers)
            # levels that no layer has make rows disappear
            if len(array) != row_ranges.count(part.rows):
                raise CorruptFile(f"{row_ranges.count(part.rows)} rows became {len(array)}")
            arrays.append(array)
    ends = accumulate(len(column) for column in parts)
    return [concat(arrays[end - len(column) : end]) for column, end in zip(parts, ends, strict=True)]


class _PageRows(NamedTuple):
    """Some rows of one page, relative to the page."""

    column: LeafColumn
    number: int
    rows: RowRanges


def _pages_of(column: LeafColumn, rows: RowRanges) -> list[_PageRows]:
    """The pages that hold the rows, with the rows of each."""
    starts = column.row_starts
    first = int(starts.searchsorted(rows[0, 0], side="right")) - 1
    end = int(starts.searchsorted(rows[-1, 1], side="left"))
    if end - first == 1:
        return [_PageRows(column, first, rows - starts[first] if first else rows)]
    pages = []
    for number in range(first, end):
        start = int(starts[number])
        inside = row_ranges.clip(rows, start, int(starts[number + 1]))
        if len(inside):
            pages.append(_PageRows(column, number, inside - start))
    return pages


def _open_heads(parts: Sequence[_PageRows]) -> list[Page]:
    """The page of each part; heads that are not cached are fetched together."""
    found: list[Page | None] = []
    missing: list[tuple[int, _PageRows, list[ByteRange]]] = []
    for part in parts:
        page = part.column.file.heads.get((part.column.file, part.column.index, part.number))
        if page is None:
            with part.column.at(part.number):
                metadata = part.column.metadata.pages[part.number]
                missing.append((len(found), part, head_ranges(metadata.layout, metadata.buffers)))
        found.append(page)
    fetched = _fetch([(part.column.file, ranges) for _, part, ranges in missing])
    for (place, part, _), buffers in zip(missing, fetched, strict=True):
        with part.column.at(part.number):
            metadata = part.column.metadata.pages[part.number]
            page = open_page(metadata.layout, metadata.buffers, metadata.num_rows, buffers)
        found[place] = page
        part.column.file.heads.put((part.column.file, part.column.index, part.number), page)
    return [page for page in found if page is not None]


def _fetch(wanted: Sequence[tuple[DataFile, Sequence[ByteRange]]]) -> list[list[pa.Buffer]]:
    """The buffers of each entry; one request list per file."""
    by_file: dict[DataFile, list[ByteRange]] = {}
    for file, ranges in wanted:
        by_file.setdefault(file, []).extend(ranges)
    buffers = {file: iter(file.fetch(ranges)) for file, ranges in by_file.items()}
    return [list(islice(buffers[file], len(ranges))) for file, ranges in wanted]
