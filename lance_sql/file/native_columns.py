"""Columns whose pages the kernels read by themselves, in one call for all columns of a batch.

What Python knows of a column is told to the kernels once, page by page as they are needed. A batch is then only rows,
and the bytes of the files that hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from threading import Lock
from typing import NamedTuple, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels, row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.file.column_pages import pages_with
from lance_sql.file.reader import FileReader
from lance_sql.layouts.matching import Flags, ValueTest
from lance_sql.layouts.native import Form, NativePage
from lance_sql.layouts.nest import Chain
from lance_sql.row_ranges import RowRanges
from lance_sql.store import ByteRange
from lance_sql.store.ranges import GAP_BYTES

MAX_TESTS = 32
"""Tests of a filter whose answers for the pages of a column are kept."""

LONG_FILE_ROWS = 32 * 1024
"""Of a file with so many rows, pages are kept for the kernels however few bytes it has."""


class PagePart(NamedTuple):
    """Bytes of a page, for the kernels.

    start: where they begin in the file
    extents: where they are where they lie apart: start and end of each part, int64[k, 2]; then start is 0
    """

    page: int
    data: pa.Buffer
    start: int
    extents: bytes | None = None


PageParts: TypeAlias = list[PagePart]
"""Bytes of pages, which ascend."""

Items: TypeAlias = Sequence[tuple[int, "pa.Array | int"]]
"""What values are indices of, from which row on: arrays, or the bits of the offsets of texts that become indices. Empty
where they are no indices; see `_kernels.FragmentRows`."""

_PAGE_BYTES = 2048
_ROWS_PER_CHUNK, _CHUNK_BYTES = 1024, 64


class KnownPage(Protocol):
    """What is asked of a page; see `Page`."""

    def native(self, chain: Chain) -> tuple[NativePage, ByteRange] | None: ...

    def nested(self, chain: Chain) -> tuple[NativePage, ByteRange] | None: ...

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None: ...


class InPages(NamedTuple):
    """Adds to errors in which page of a column they are. Keeps neither alive.

    file: its path
    table: with its version
    """

    file: str
    column: str
    table: str | None = None

    def __call__(self, page: int) -> at:
        return at(table=self.table, file=self.file, column=self.column, page=page)


class NativeColumn:
    """A column of a file in a form, and those of its pages that are open. Thread-safe.

    file: that it is in; None for a column that is made of what is known, whose pages have no bytes
    key: by which it is kept
    chain: what its values become; the kernels make arrays of the leaf, or of the chain if is_nested
    num_bytes: what its pages are going to take, if that is not what those of files do
    """

    def __init__(
        self,
        file: FileReader | None,
        row_starts: npt.NDArray[np.int64],
        chain: Chain,
        where: InPages,
        *,
        key: Hashable,
        is_nested: bool = False,
        num_bytes: int | None = None,
    ) -> None:
        self.file = file
        self.key = key
        self.leaf = chain.leaf
        self._chain = chain
        self._is_nested = is_nested
        self.where = where
        self.reader = _kernels.ColumnReader(np.ascontiguousarray(row_starts))
        self._row_starts = row_starts
        self._pages: list[KnownPage | None] = [None] * (len(row_starts) - 1)
        self._num_closed = len(row_starts) - 1
        self._forms: list[Form | None] = [None] * (len(row_starts) - 1)
        self._lends = False
        self._tests: dict[ValueTest, _ColumnTest] = {}
        self._lock = Lock()
        if num_bytes is None:
            num_bytes = _PAGE_BYTES * len(row_starts) + int(row_starts[-1]) // _ROWS_PER_CHUNK * _CHUNK_BYTES
        self.num_bytes = num_bytes

    def is_open(self, page: int) -> bool:
        """Whether the page was opened before."""
        return self._pages[page] is not None

    @property
    def is_all_open(self) -> bool:
        """Whether every page is open."""
        return self._num_closed == 0

    def rows_of(self, rows: RowRanges) -> NativeRows:
        """Some rows, of pages that are open."""
        return NativeRows(self, rows, range(*self.reader.pages_of(int(rows[0, 0]), int(rows[-1, 1]))))

    def open(self, number: int, page: KnownPage) -> None:
        """Makes a page known; nothing happens where it is, for another thread may be reading it."""
        found = page.nested(self._chain) if self._is_nested else page.native(self._chain)
        with self._lock:
            if self._pages[number] is not None:
                return
            if found is not None:
                native, data = found
                self.reader.open(number, native.reader, data.start, data.end)
                self._forms[number] = self._shared(native.form)
                self._lends = self._lends or native.lends
            # the last steps, which other threads look for
            self._pages[number] = page
            self._num_closed -= 1

    def _shared(self, form: Form | None) -> Form | None:
        """The form of an earlier page with the same dictionary, so that rows of both become one array."""
        if form is not None and form.items is not None:
            for other in self._forms:
                if other is not None and other.items is not None and other.items.equals(form.items):
                    return other
        return form

    def form(self, pages: Sequence[int]) -> Form | None:
        """The form of the pages; None where they have several, or one that is not read by the kernels."""
        first = self._forms[pages[0]]
        return first if all(self._forms[page] == first for page in pages) else None

    def items(self, pages: Sequence[int]) -> Items | None:
        """What values are or become indices of; None where the pages have several types, or are not read by the
        kernels."""
        changes: list[tuple[int, pa.Array | int]] = []
        types: set[pa.DataType | None] = set()
        for page in pages:
            form = self._forms[page]
            if form is None:
                return None
            items = _offset_bits(form.type) if form.makes_items else form.items
            types.add(form.type if items is None else None)
            if items is not None and (not changes or items is not changes[-1][1]):
                changes.append((self.first_row(page), items))
        return changes if len(types) == 1 else None

    @cached_property
    def all_items(self) -> Items | None:
        """Those of all pages, which are open."""
        return self.items(range(len(self._pages)))

    def lent(self, parts: PageParts) -> list[tuple[int, pa.Array]]:
        """Those of the parts whose bytes may be handed over where they lie, each as an array."""
        if not self._lends:
            return []
        return [
            (part.page, pa.Array.from_buffers(pa.uint8(), part.data.size, [None, part.data]))
            for part in parts
            if part.extents is None
        ]

    @property
    def num_rows(self) -> int:
        """Of the file."""
        return int(self._row_starts[-1])

    def first_row(self, page: int) -> int:
        """The row that the page begins with."""
        return int(self._row_starts[page])

    def test(self, test: ValueTest, pages: Sequence[int]) -> _kernels.ColumnTest | None:
        """The test for the pages; None where one of them has to be decoded for it."""
        found = self._tests.get(test)
        if found is None:
            if len(self._tests) >= MAX_TESTS:
                self._tests.clear()
            found = self._tests[test] = _ColumnTest(_kernels.ColumnTest(len(self._pages)), {})
        for number in pages:
            if number not in found.is_known:
                with self._lock:
                    if number not in found.is_known:
                        found.is_known[number] = self._answer(number, test, found.test)
        return found.test if all(found.is_known[number] for number in pages) else None

    def _answer(self, number: int, test: ValueTest, answers: _kernels.ColumnTest) -> bool:
        """Whether the kernels can answer the test for a page, which they are told then."""
        page = self._pages[number]
        if page is None or self._forms[number] is None:
            return False
        with self.where(number):
            answer = page.test(test, self.leaf)
        if answer is not None:
            answers.set(number, answer)
        return answer is not None


@dataclass(frozen=True, slots=True)
class _ColumnTest:
    """A test, and for each page that was asked whether it has an answer."""

    test: _kernels.ColumnTest
    is_known: dict[int, bool]


@dataclass(frozen=True, slots=True)
class NativeRows:
    """Some rows of a column, and the pages that hold them."""

    column: NativeColumn
    rows: RowRanges
    pages: Sequence[int]

    def refuse(self, message: str) -> NoReturn:
        """Says what is wrong, and in which page: the first one of which it cannot be told where its rows are."""
        page = next((page for page in self.pages if self._is_damaged(page)), self.pages[0])
        with self.column.where(page):
            raise CorruptFile(message)

    @property
    def is_damaged(self) -> bool:
        """Whether it cannot be told of some page where its rows are."""
        return any(map(self._is_damaged, self.pages))

    def _is_damaged(self, page: int) -> bool:
        rows = row_ranges.clip(self.rows, self.column.first_row(page), self.column.first_row(page + 1))
        try:
            _kernels.spans([(self.column.reader, np.ascontiguousarray(rows))])
        except _kernels.InvalidDataError:
            return True
        return False


def _offset_bits(type: pa.DataType) -> int:
    return 64 if pa.types.is_large_string(type) or pa.types.is_large_binary(type) else 32


def are_read_where_they_lie(file: FileReader) -> bool:
    """Whether pages are kept for the kernels, which ask for all bytes that they need at once."""
    # of a short file that was read when it was opened, keeping pages costs more than it saves
    is_short = file.is_in_memory and file.num_rows < LONG_FILE_ROWS
    return (file.gap >= file.num_bytes or file.is_far) and not is_short


def open_rows(
    file: FileReader,
    key: object,
    row_starts: npt.NDArray[np.int64],
    chain: Chain,
    where: InPages,
    rows: RowRanges,
    pages: Callable[[Sequence[int]], Sequence[KnownPage]],
    *,
    is_nested: bool,
) -> NativeRows:
    """Some rows of a column, whose pages are open then.

    key: tells the column from others of the file
    pages: opens the pages of some numbers
    is_nested: as `NativeColumn`
    raises: CorruptFile, UnsupportedFeature
    """
    kept = (file, key, chain.leaf, chain.outer, is_nested)
    column = file.page_cache.get(kept)
    if column is None:
        column = NativeColumn(file, row_starts, chain, where, key=kept, is_nested=is_nested)
        file.page_cache.keep(kept, column)
    assert isinstance(column, NativeColumn)
    numbers: Sequence[int] = range(*column.reader.pages_of(int(rows[0, 0]), int(rows[-1, 1])))
    if not all(map(column.is_open, numbers)):
        numbers = pages_with(row_starts, rows)
        missing = [number for number in numbers if not column.is_open(number)]
        for number, page in zip(missing, pages(missing), strict=True):
            with where(number):
                column.open(number, page)
    return NativeRows(column, rows, numbers)


def read(
    columns: Sequence[tuple[NativeRows, Form]],
    tests: Sequence[tuple[NativeRows, _kernels.ColumnTest]] = (),
    flags: Flags | None = None,
) -> tuple[int, list[pa.Array]]:
    """One array for each column; see `batch.read`."""
    everything = [rows for rows, _ in tests] + [rows for rows, _ in columns]
    data = _fetch_scattered(everything)
    num_tests = len(tests)
    num_left, arrays, failure = _kernels.read_rows(
        [(rows.column.reader, rows.rows, parts, test) for (rows, test), parts in zip(tests, data, strict=False)],
        [(rows.column.reader, rows.rows, parts) for (rows, _), parts in zip(columns, data[num_tests:], strict=True)],
        flags,
    )
    if failure is not None:
        in_test, place, page, message = failure
        column = everything[place if in_test else num_tests + place].column
        with column.where(page):
            raise CorruptFile(message)
    return num_left, [
        form.finish(pa.Array._import_from_c(array.address, form.type), rows.column.leaf)
        for array, (rows, form) in zip(arrays, columns, strict=False)
    ]


def _fetch_scattered(columns: Sequence[NativeRows]) -> list[PageParts | _kernels.FileParts]:
    """What `fetch` gives; of pages of which few bytes are needed, these alone."""
    found: list[PageParts | _kernels.FileParts | None] = [None] * len(columns)
    by_file: dict[FileReader, list[int]] = {}
    for place, each in enumerate(columns):
        # neighbouring rows need all that lies between them
        if len(each.rows) > 1 and each.column.file is not None and not each.column.file.is_far:
            by_file.setdefault(each.column.file, []).append(place)
    for file, places in by_file.items():
        wanted = [columns[place] for place in places]
        read, failure = file.read_scattered([(each.column.reader, each.rows) for each in wanted])
        if failure is not None:
            place, message = failure
            wanted[place].refuse(message)
        for place, parts in zip(places, read or (), strict=False):
            found[place] = parts
    others = [place for place, parts in enumerate(found) if parts is None]
    for place, whole in zip(others, fetch([columns[place] for place in others]), strict=True):
        found[place] = whole
    return [parts for parts in found if parts is not None]


def fetch(columns: Sequence[NativeRows]) -> list[PageParts]:
    """The bytes that hold the rows of each column: page, bytes, and where in its file they begin.

    raises: CorruptFile
    """
    by_file: dict[FileReader, list[int]] = {}
    for place, each in enumerate(columns):
        if each.column.file is not None:
            by_file.setdefault(each.column.file, []).append(place)
    found: list[PageParts] = [[]] * len(columns)
    for file, places in by_file.items():
        wanted = [columns[place] for place in places]
        spans = _scattered_spans(wanted) if file.is_far else _spans(wanted)
        data = iter(file.fetch([ByteRange(start, end) for parts in spans for _, start, end in parts]))
        for place, parts in zip(places, spans, strict=True):
            found[place] = _joined([PagePart(page, next(data), start) for page, start, _ in parts])
    return found


def _joined(parts: PageParts) -> PageParts:
    """The same with the bytes of each page as one part."""
    if len({part.page for part in parts}) == len(parts):
        return parts
    found: PageParts = []
    for page, group in groupby(parts, lambda part: part.page):
        several = list(group)
        if len(several) == 1:
            found += several
            continue
        extents = np.array([(part.start, part.start + part.data.size) for part in several], np.int64)
        found.append(PagePart(page, pa.py_buffer(b"".join(part.data for part in several)), 0, extents.tobytes()))
    return found


def _scattered_spans(columns: Sequence[NativeRows]) -> Sequence[Sequence[tuple[int, int, int]]]:
    """The same as `_spans` with several parts of a page where much lies between its rows."""
    if all(len(each.rows) == 1 for each in columns):
        return _spans(columns)
    found: list[list[tuple[int, int, int]]] = []
    for each in columns:
        try:
            spans = each.column.reader.scattered_spans(np.ascontiguousarray(each.rows))
        except _kernels.InvalidDataError as error:
            each.refuse(str(error))
        if len(spans) > 1:
            begins = (spans[1:, 0] != spans[:-1, 0]) | (spans[1:, 1] - spans[:-1, 2] > GAP_BYTES)
            firsts = np.concatenate(([0], np.flatnonzero(begins) + 1))
            ends = np.maximum.reduceat(spans[:, 2], firsts)
            spans = np.column_stack((spans[firsts, 0], spans[firsts, 1], ends))
        found.append([(page, start, end) for page, start, end in spans.tolist()])
    return found


def _spans(columns: Sequence[NativeRows]) -> Sequence[Sequence[tuple[int, int, int]]]:
    """Which bytes of the file hold the rows of each column: page, start and end of each part."""
    try:
        return _kernels.spans([(each.column.reader, each.rows) for each in columns])
    except _kernels.InvalidDataError as error:
        damaged = next((each for each in columns if each.is_damaged), columns[0])
        damaged.refuse(str(error))
