"""Reading rows of the columns of data files: few rounds of requests, however many columns and pages there are.

A flat column takes two: the first brings the heads of pages that are met for the first time (chunk tables,
dictionaries), the second the values. All columns of a file ask for their ranges of a round at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.encodings.fsst import MAX_EXPANSION
from lance_sql.errors import CorruptFile, at
from lance_sql.file import batch, blob_v2, native_columns
from lance_sql.file.batch import UnreadColumn, UntestedColumn
from lance_sql.file.heads import Head
from lance_sql.file.metadata_v2 import ColumnMetadata
from lance_sql.file.native_columns import NativeColumn, NativeRows
from lance_sql.file.reader import DataFile
from lance_sql.file.statistics import PageStatistics
from lance_sql.layouts.matching import Flags, PageMatch, ValueTest
from lance_sql.layouts.native import Form
from lance_sql.layouts.nest import Chain
from lance_sql.layouts.page import BlobRead, NativeRead, Page, PageRead
from lance_sql.layouts.pages import head_ranges, open_page
from lance_sql.layouts.reading import Reading, Shared, run, together
from lance_sql.layouts.tree import Blob, Constant, FullZip, Layer, MiniBlock
from lance_sql.row_ranges import RowRanges
from lance_sql.store import ByteRange, requests

BLOB_BYTES = 256 * 1024
"""Taken for the size of a blob that may lie outside of the data file."""

_NEVER_NULL = (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_LIST, Layer.EMPTYABLE_LIST)

AnyHead = TypeVar("AnyHead", bound=Head)
T = TypeVar("T")


class Column(Protocol):
    """A leaf of a table's field in one data file, with all that is around it up to the top-level field."""

    @property
    def file(self) -> DataFile: ...

    @property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """First table row of each page, then the number of rows: int64[pages + 1].

        raises: CorruptFile when the pages do not add up to the file's rows
        """
        ...

    @property
    def is_flat(self) -> bool:
        """Whether every table row is one value."""
        ...

    @property
    def row_bytes(self) -> float:
        """Bytes of Arrow data that one row takes, roughly."""
        ...

    def page_bytes(self, page: int) -> int:
        """Bytes of a page in the file, roughly."""
        ...

    def has_dictionaries(self, most_items: int) -> bool | None:
        """Whether a page has a dictionary, of at most so many items; None when a page has values without one."""
        ...

    def statistics(self) -> PageStatistics | None:
        """What is known of each page; reads what the file stores of it.

        raises: CorruptFile
        """
        ...

    def are_null(self, page: int, depth: int) -> bool | None:
        """Whether all values of a page are NULL, or none is, as far as its layout tells: None where it does not.

        depth: which values: 1 for those of the table's column, 2 for members of a struct that it is, and so on
        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def read(self, rows: RowRanges, shared: Shared) -> Reading[pa.Array | UnreadColumn]:
        """Reads `rows` (relative to the file's first row; at least one) in the form of the field's type, or fetches
        what the kernels need for it.

        raises: CorruptFile or UnsupportedFeature with the file, column and page
        """
        ...

    def native(self, rows: RowRanges) -> NativeRows | None:
        """The rows for the kernels, which know the pages; None where Python has a part in reading or testing them.

        raises: as `read`
        """
        ...

    def match(self, rows: RowRanges, test: ValueTest, flags: Flags) -> Reading[bool | UntestedColumn]:
        """Clears the flags of `rows` that do not match, or fetches what the kernels need for it; False, and no flag
        cleared, where they have to be read to know.

        flags: one for each of `rows`
        raises: as `read`
        """
        ...

    def select(self, rows: RowRanges) -> Reading[UnreadColumn | None]:
        """Fetches what the kernels need to read some of the rows; None where that is no faster than to read all.

        raises: as `read`
        """
        ...


def read_columns(columns: Sequence[Column], rows: RowRanges) -> list[pa.Array]:
    """One array for each column, in order; see `Column.read`."""
    rows = np.ascontiguousarray(rows)
    native = [_with_form(column.native(rows)) for column in columns]
    if None not in native:
        return native_columns.read([each for each in native if each is not None])[1]

    def start(places: Sequence[int]) -> list[Reading[pa.Array | UnreadColumn]]:
        shared = Shared()
        return [columns[place].read(rows, shared) for place in places]

    return batch.read(_fetch(columns, start))[1]


@dataclass(frozen=True, slots=True)
class Filtered:
    """What is left of some rows.

    done: which of the tests were carried out
    num_left: rows that have passed them
    arrays: one for each column, of the rows that are left; None where all rows are to be read
    """

    done: Sequence[bool]
    num_left: int
    arrays: Sequence[pa.Array | None]


def filter_columns(
    tests: Sequence[tuple[Column, ValueTest]], columns: Sequence[Column], rows: RowRanges, flags: Flags
) -> Filtered:
    """Clears the flags of rows that fail one of the tests, and reads the columns for the rows that are left.

    All columns ask for their bytes at once. The tests come one after the other: what one has ruled out, the next does
    not decode. Unless all of them can be carried out, no column is read.
    """
    num_tests = len(tests)
    rows = np.ascontiguousarray(rows)
    native = _filter_native(tests, columns, rows, flags)
    if native is not None:
        return native
    everything = [column for column, _ in tests] + list(columns)

    def start(places: Sequence[int]) -> list[Reading[bool | UntestedColumn | UnreadColumn | None]]:
        return [
            tests[place][0].match(rows, tests[place][1], flags)
            if place < num_tests
            else columns[place - num_tests].select(rows)
            for place in places
        ]

    found = _fetch(everything, start)
    done = [answer is not False for answer in found[:num_tests]]
    untested = [answer for answer in found[:num_tests] if isinstance(answer, UntestedColumn)]
    selected = [column if isinstance(column, UnreadColumn) else None for column in found[num_tests:]]
    if not all(done):
        selected = [None] * len(columns)
    num_left, arrays = batch.read([column for column in selected if column is not None], untested, flags)
    made = iter(arrays)
    return Filtered(done, num_left, [next(made, None) if column is not None else None for column in selected])


def _filter_native(
    tests: Sequence[tuple[Column, ValueTest]], columns: Sequence[Column], rows: RowRanges, flags: Flags
) -> Filtered | None:
    """The same where the kernels know all tested columns; None, and nothing done, where they do not."""
    tested = []
    for column, test in tests:
        found = column.native(rows)
        answers = found.column.test(test, found.pages) if found is not None else None
        if found is None or answers is None:
            return None
        tested.append((found, answers))
    wanted = [_with_form(column.native(rows)) for column in columns]
    num_left, arrays = native_columns.read([each for each in wanted if each is not None], tested, flags)
    made = iter(arrays)
    return Filtered([True] * len(tests), num_left, [next(made, None) if each is not None else None for each in wanted])


def _with_form(rows: NativeRows | None) -> tuple[NativeRows, Form] | None:
    form = rows.column.form(rows.pages) if rows is not None else None
    return (rows, form) if rows is not None and form is not None else None


def _fetch(columns: Sequence[Column], start: Callable[[Sequence[int]], list[Reading[T]]]) -> list[T]:
    """The results of readings of the columns, in order; those of one file share their requests.

    start: the readings of the columns at some places
    """
    by_file: dict[DataFile, list[int]] = {}
    for place, column in enumerate(columns):
        by_file.setdefault(column.file, []).append(place)
    concurrency = max((file.concurrency for file in by_file), default=1)
    calls = [partial(run, together(start(places)), file.fetch) for file, places in by_file.items()]
    results: dict[int, T] = {}
    for places, found in zip(by_file.values(), requests.together(calls, concurrency), strict=True):
        results.update(zip(places, found, strict=True))
    return [results[place] for place in range(len(columns))]


def split_by_page(starts: npt.NDArray[np.int64], rows: RowRanges) -> list[tuple[int, RowRanges]]:
    """The pages that hold the rows: the number of each, and its rows relative to the page.

    starts: first row of each page, then the number of rows
    """
    if len(starts) == 2:
        return [(0, rows)]
    first = int(starts.searchsorted(rows[0, 0], side="right")) - 1
    end = int(starts.searchsorted(rows[-1, 1], side="left"))
    if end - first == 1:
        return [(first, rows - starts[first] if first else rows)]
    firsts = starts.searchsorted(rows[:, 0], side="right") - 1
    ends = starts.searchsorted(rows[:, 1], side="left")
    pages = []
    for number in np.unique(row_ranges.expand(np.stack((firsts, ends), axis=1))).tolist():
        start = int(starts[number])
        inside = row_ranges.clip(rows, start, int(starts[number + 1]))
        if len(inside):
            pages.append((number, inside - start))
    return pages


def open_pages(
    file: DataFile,
    column: object,
    numbers: Sequence[int],
    where: Callable[[int], at],
    needs: Callable[[int], list[ByteRange]],
    make: Callable[[int, Sequence[pa.Buffer]], AnyHead],
) -> Reading[list[AnyHead]]:
    """The opened pages of a column; heads that are not cached are fetched together.

    column: tells the column from others of the file
    where: adds to errors in which page they are
    needs, make: the ranges of a page's head, and the page from their buffers
    """
    found = [file.heads.get((file, column, number)) for number in numbers]
    missing = []
    ranges: list[ByteRange] = []
    for place, (number, page) in enumerate(zip(numbers, found, strict=True)):
        if page is None:
            with where(number):
                wanted = needs(number)
            missing.append((place, number, len(wanted)))
            ranges += wanted
    if missing:
        buffers = (yield ranges) if ranges else ()
        done = 0
        for place, number, count in missing:
            with where(number):
                page = make(number, buffers[done : done + count])
            done += count
            found[place] = page
            if not file.is_in_memory:
                file.heads.put((file, column, number), page)
    return found  # type: ignore[return-value]  # the cache gives back what `make` has put there


@dataclass(frozen=True)
class LeafColumn:
    """A leaf of file versions 2.1 and 2.2: one column of an open file, and what its pages become.

    name: the column's name in the table, for errors
    """

    file: DataFile
    index: int
    metadata: ColumnMetadata
    chain: Chain
    name: str

    @cached_property
    def row_starts(self) -> npt.NDArray[np.int64]:
        """See `Column`."""
        with at(file=self.file.path, column=self.name):
            starts, per_row = self.metadata.row_starts, self.chain.items_per_row
            num_rows, rest = divmod(int(starts[-1]), per_row)
            if rest or num_rows != self.file.num_rows:
                raise CorruptFile(f"the pages of the column hold {num_rows} rows, the file {self.file.num_rows}")
            if per_row == 1:
                return starts
            if (starts % per_row).any():
                raise CorruptFile("a page that ends inside a row")
            return starts // per_row

    @property
    def is_flat(self) -> bool:
        """See `Column`."""
        return self.chain.is_flat

    def page_bytes(self, page: int) -> int:
        """See `Column`."""
        return self.metadata.pages[page].num_bytes

    @cached_property
    def row_bytes(self) -> float:
        """See `Column`."""
        file, chain = self.file, self.chain
        if chain.stored == blob_v2.DESCRIPTOR:
            return max(file.num_bytes / max(file.num_rows, 1), BLOB_BYTES)
        with at(file=file.path, column=self.name):
            pages = self.metadata.pages
            if any(isinstance(page.layout, Blob) for page in pages):
                return file.num_bytes / max(file.num_rows, 1)
            stored = max((page.row_bytes for page in pages), default=0.0)
        return max(value_bytes(chain.leaf, stored), stored)

    def has_dictionaries(self, most_items: int) -> bool | None:
        """See `Column`."""
        found = False
        for number, page in enumerate(self.metadata.pages):
            with self.at(number):
                match page.layout:
                    case MiniBlock(dictionary=dictionary, num_dictionary_items=count):
                        if dictionary is None or count > most_items:
                            return None
                        found = True
                    case Constant():
                        pass
                    case _:
                        return None
        return found

    def statistics(self) -> PageStatistics | None:
        """See `Column`; these file versions have none."""
        return None

    def are_null(self, page: int, depth: int) -> bool | None:
        """See `Column`."""
        chain = self.chain
        if chain.stored is not None or chain.finish is not None or depth > len(chain.outer) + 1:
            return None
        with self.at(page):
            metadata = self.metadata.pages[page]
            layout = metadata.layout
        # of an empty struct, the structs around it have no layers
        if not isinstance(layout, (Constant, FullZip, MiniBlock)) or len(layout.layers) != len(chain.outer) + 1:
            return None
        if isinstance(layout, Constant) and layout.inline_value is None and len(metadata.buffers) not in (1, 3):
            return True if layout.layers == (Layer.NULLABLE_ITEM,) and not metadata.buffers else None
        # layers are listed from the inside
        around = layout.layers[-depth:]
        return False if all(layer in _NEVER_NULL for layer in around) else None

    def read(self, rows: RowRanges, shared: Shared) -> Reading[pa.Array | UnreadColumn]:
        """See `Column`."""
        parts, pages = yield from self._pages_of(rows)
        planned = []
        for (number, inside), page in zip(parts, pages, strict=True):
            with self.at(number):
                planned.append(page.read(inside, self.chain, self.file.gap))
        buffers = (yield ranges) if (ranges := _ranges(planned)) else ()
        pieces = batch.Pieces()
        done = 0
        for (number, inside), part in zip(parts, planned, strict=True):
            own = buffers[done : done + len(part.ranges)]
            done += len(part.ranges)
            with self.at(number):
                if isinstance(part, NativeRead):
                    pieces.add(number, part.form, part.parts(own))
                    continue
                array = (yield from part.rows(own)) if isinstance(part, BlobRead) else part.decode(own)
                # levels that no layer has make rows disappear
                if len(array) != row_ranges.count(inside):
                    raise CorruptFile(f"{row_ranges.count(inside)} rows became {len(array)}")
                pieces.add_array(array)
        return UnreadColumn(pieces.found, self.chain.leaf, self.at)

    def native(self, rows: RowRanges) -> NativeRows | None:
        """See `Column`."""
        if not self._is_plain:
            return None
        file, leaf = self.file, self.chain.leaf
        key = (file, self.index, leaf)
        column = file.heads.get(key)
        if column is None:
            column = NativeColumn(file, self.row_starts, leaf, self.at)
            file.heads.put(key, column)
        assert isinstance(column, NativeColumn)
        numbers: Sequence[int] = range(*column.reader.pages_of(int(rows[0, 0]), int(rows[-1, 1])))
        if not all(map(column.is_open, numbers)):
            numbers = [number for number, _ in split_by_page(self.row_starts, rows)]
            missing = [number for number in numbers if not column.is_open(number)]
            pages = run(open_pages(file, self.index, missing, self.at, self._head_ranges, self._open), file.fetch)
            for number, page in zip(missing, pages, strict=True):
                with self.at(number):
                    column.open(number, page)
        return NativeRows(column, rows, numbers)

    @cached_property
    def _is_plain(self) -> bool:
        """Whether values become rows as they are, and asking for all of their bytes at once costs nothing."""
        chain = self.chain
        if chain.outer or chain.stored is not None or chain.finish is not None:
            return False
        return self.file.gap >= self.file.num_bytes and not self.file.is_in_memory

    def match(self, rows: RowRanges, test: ValueTest, flags: Flags) -> Reading[bool | UntestedColumn]:
        """See `Column`."""
        chain = self.chain
        if chain.outer or chain.stored is not None or chain.finish is not None:
            return False
        parts, pages = yield from self._pages_of(rows)
        planned = []
        for (number, inside), page in zip(parts, pages, strict=True):
            with self.at(number):
                answer = page.match(inside, test, chain, self.file.gap)
            if answer is None:
                return False
            planned.append(answer)
        buffers = (yield ranges) if (ranges := _ranges(planned)) else ()
        tested: list[tuple[object, ...]] = []
        numbers: list[int] = []
        done = start = 0
        for (number, inside), answer in zip(parts, planned, strict=True):
            end = start + row_ranges.count(inside)
            if answer is False:
                flags[start:end] = 0
            elif isinstance(answer, PageMatch):
                with self.at(number):
                    for part in answer.parts(buffers[done : done + len(answer.ranges)]):
                        tested.append((*part, answer.test, start))
                        numbers.append(number)
                        start += row_ranges.count(part[1])
                done += len(answer.ranges)
            start = end
        return UntestedColumn(tested, numbers, self.at) if tested else True

    def select(self, rows: RowRanges) -> Reading[UnreadColumn | None]:
        """See `Column`."""
        if self.chain.outer:
            return None
        parts, pages = yield from self._pages_of(rows)
        planned = []
        for (number, inside), page in zip(parts, pages, strict=True):
            with self.at(number):
                part = page.select(inside, self.chain, self.file.gap)
            if part is None:
                return None
            planned.append(part)
        buffers = (yield ranges) if (ranges := _ranges(planned)) else ()
        pieces = batch.Pieces()
        done = 0
        for (number, _), part in zip(parts, planned, strict=True):
            with self.at(number):
                pieces.add(number, part.form, part.parts(buffers[done : done + len(part.ranges)]))
            done += len(part.ranges)
        return UnreadColumn(pieces.found, self.chain.leaf, self.at)

    def at(self, page: int) -> at:
        """Where errors in a page are."""
        return at(file=self.file.path, column=self.name, page=page)

    def _pages_of(self, rows: RowRanges) -> Reading[tuple[list[tuple[int, RowRanges]], list[Page]]]:
        """The pages that hold the rows, opened, each with its number and its rows."""
        parts = split_by_page(self.row_starts, rows)
        numbers = [number for number, _ in parts]
        pages = yield from open_pages(self.file, self.index, numbers, self.at, self._head_ranges, self._open)
        return parts, pages

    def _head_ranges(self, page: int) -> list[ByteRange]:
        metadata = self.metadata.pages[page]
        return head_ranges(metadata.layout, metadata.buffers)

    def _open(self, page: int, head: Sequence[pa.Buffer]) -> Page:
        metadata = self.metadata.pages[page]
        return open_page(metadata.layout, metadata.buffers, metadata.num_rows, head)


def _ranges(planned: Sequence[PageRead | NativeRead | BlobRead | PageMatch | bool]) -> list[ByteRange]:
    return [where for part in planned if not isinstance(part, bool) for where in part.ranges]


def value_bytes(type: pa.DataType, stored: float) -> float:
    """Bytes of Arrow data that a value of `type` takes, when it takes `stored` bytes on disk on average."""
    num_items = 1
    item = type
    while pa.types.is_fixed_size_list(item):
        num_items *= item.list_size
        item = item.value_type
    try:
        # of NULLs as well, which take nothing on disk
        return float(num_items * item.bit_width / 8)
    except ValueError:
        return 16 + MAX_EXPANSION * stored
