"""Reading rows of the columns of data files: two rounds of requests, however many columns and pages there are.

The first round brings the heads of pages that are met for the first time (chunk tables, dictionaries), the second the
values. Both ask each file for all its ranges at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.file.footer import FileVersion, Footer, parse_footer, parse_table
from lance_sql.file.heads import HeadCache
from lance_sql.file.metadata_v2 import ColumnMetadata, parse_column, parse_num_rows
from lance_sql.layouts.nest import Chain
from lance_sql.layouts.page import Page, PageRead, concat
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


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """Some rows of one column of a file, as an array of `chain.type`.

    rows: relative to the file's first row; at least one
    name: the column's name in the table, for errors
    """

    file: DataFile
    column_index: int
    rows: RowRanges
    chain: Chain
    name: str


@dataclass(slots=True)
class _PageRows:
    read: ColumnRead
    number: int
    rows: RowRanges
    page: Page | None = None
    planned: PageRead | None = None


def read_columns(reads: Sequence[ColumnRead]) -> list[pa.Array]:
    """One array for each of `reads`, in order.

    raises: CorruptFile or UnsupportedFeature with the file, column and page
    """
    pages = [_pages_of(read) for read in reads]
    flat = [page for column in pages for page in column]
    _open_heads(flat)
    for page in flat:
        assert page.page is not None
        with at(file=page.read.file.path, column=page.read.name, page=page.number):
            page.planned = page.page.read(page.rows, page.read.chain, page.read.file.gap, page.read.file.fetch)
    fetched = _fetch([(page.read.file, page.planned.ranges if page.planned else ()) for page in flat])
    arrays: dict[int, pa.Array] = {}
    for page, buffers in zip(flat, fetched, strict=True):
        assert page.planned is not None
        with at(file=page.read.file.path, column=page.read.name, page=page.number):
            arrays[id(page)] = page.planned.decode(buffers)
    return [concat([arrays[id(page)] for page in column]) for column in pages]


def _pages_of(read: ColumnRead) -> list[_PageRows]:
    """The pages that hold the rows, with the rows of each."""
    with at(file=read.file.path, column=read.name):
        column = read.file.column(read.column_index)
        per_row = read.chain.items_per_row
        num_rows, rest = divmod(column.num_rows, per_row)
        if rest or num_rows != read.file.num_rows:
            raise CorruptFile(f"the pages of the column hold {num_rows} rows, the file {read.file.num_rows}")
        starts = column.row_starts // per_row
        if (starts * per_row != column.row_starts).any():
            raise CorruptFile("a page that ends inside a row")
    pages = []
    first = int(starts.searchsorted(read.rows[0, 0], side="right")) - 1
    end = int(starts.searchsorted(read.rows[-1, 1], side="left"))
    for number in range(first, end):
        start, stop = int(starts[number]), int(starts[number + 1])
        rows = row_ranges.clip(read.rows, start, stop)
        if len(rows):
            pages.append(_PageRows(read, number, rows - start))
    return pages


def _open_heads(pages: Sequence[_PageRows]) -> None:
    """Sets the page of each; heads that are not cached are fetched together."""
    missing: list[tuple[_PageRows, list[ByteRange]]] = []
    for page in pages:
        file, column = page.read.file, page.read.column_index
        page.page = file.heads.get((file, column, page.number))
        if page.page is None:
            with at(file=file.path, column=page.read.name, page=page.number):
                metadata = file.column(column).pages[page.number]
                missing.append((page, head_ranges(metadata.layout, metadata.buffers)))
    fetched = _fetch([(page.read.file, ranges) for page, ranges in missing])
    for (page, _), buffers in zip(missing, fetched, strict=True):
        file, column = page.read.file, page.read.column_index
        with at(file=file.path, column=page.read.name, page=page.number):
            metadata = file.column(column).pages[page.number]
            page.page = open_page(metadata.layout, metadata.buffers, metadata.num_rows, buffers)
        file.heads.put((file, column, page.number), page.page)


def _fetch(wanted: Sequence[tuple[DataFile, Sequence[ByteRange]]]) -> list[list[pa.Buffer]]:
    """The buffers of each entry; one request list per file."""
    by_file: dict[DataFile, list[ByteRange]] = {}
    for file, ranges in wanted:
        by_file.setdefault(file, []).extend(ranges)
    buffers = {file: iter(file.fetch(ranges)) for file, ranges in by_file.items()}
    return [[next(buffers[file]) for _ in ranges] for file, ranges in wanted]
