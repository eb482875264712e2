"""Columns of files in the form for the kernels.

Python passes its metadata of a column to the kernels once, page by page on demand. After that, a batch passes only
rows, and the bytes of the files with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import LanceError
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.located_rows import InPages, PageParts
from lance_sql.format.layouts.form import Form, form_of
from lance_sql.format.layouts.matching import TestedValues, ValueTest
from lance_sql.format.layouts.nest import Chain, with_leaves
from lance_sql.format.layouts.page import KnownPage, cluster
from lance_sql.format.layouts.stored_page import StoredPage, indices_form
from lance_sql.values import kinds, row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

Items: TypeAlias = Sequence[tuple[int, "pa.Array | int"]]
"""Dictionary items of values by first row: arrays, or the offset bits of texts that become indices. Empty
for values that are not indices; see `_kernels.FragmentRows`."""

_PAGE_BYTES = 2048
_ROWS_PER_CHUNK, _CHUNK_BYTES = 1024, 64


class OpenColumn:
    """A column of a file in a form, and its open pages. Thread-safe.

    file: file of the column; None for a column of constants, whose pages have no bytes
    key: cache key
    chain: type of its values; the kernels make arrays of the leaf, or of the chain if is_nested
    num_bytes: size of its pages, if it is not the usual one of files
    reader: with pages that the kernels have opened, see `adopt`; None for a new one

    Wide tables have thousands of these: what only some need is made when it is needed.
    """

    __slots__ = (
        "_all_items",
        "_chain",
        "_forms",
        "_is_nested",
        "_is_open",
        "_lock",
        "_num_closed",
        "_pages",
        "_refusals",
        "_row_starts",
        "_whole",
        "file",
        "key",
        "leaf",
        "num_bytes",
        "reader",
        "where",
    )

    def __init__(
        self,
        file: FileBytes | None,
        row_starts: I64,
        chain: Chain,
        where: InPages,
        *,
        key: Hashable,
        is_nested: bool = False,
        num_bytes: int | None = None,
        reader: _kernels.ColumnReader | None = None,
    ) -> None:
        self.file = file
        self.key = key
        self.leaf = chain.leaf
        self._chain = chain
        self._is_nested = is_nested
        self.where = where
        self.reader = reader or _kernels.ColumnReader(np.ascontiguousarray(row_starts))
        self._row_starts = row_starts
        num_pages = len(row_starts) - 1
        self._is_open = bytearray(num_pages)
        self._num_closed = num_pages
        self._forms: list[Form | None] = [None] * num_pages
        self._pages: dict[int, KnownPage] | None = None
        self._refusals: dict[int, LanceError] = {}
        self._whole: dict[int, int] | None = None
        self._all_items: Items | None = None
        self._lock = Lock()
        if num_bytes is None:
            num_bytes = _PAGE_BYTES * len(row_starts) + int(row_starts[-1]) // _ROWS_PER_CHUNK * _CHUNK_BYTES
        self.num_bytes = num_bytes

    def is_open(self, page: int) -> bool:
        """Whether the page was opened before."""
        return bool(self._is_open[page])

    def are_open(self, rows: RowRanges) -> bool:
        """Whether every page from the first to the last row is open."""
        if self._num_closed == 0:
            return True
        return all(map(self.is_open, range(*self.reader.pages_of(*row_ranges.bounds(rows)))))

    @property
    def is_all_open(self) -> bool:
        """Whether every page is open."""
        return self._num_closed == 0

    def rows_of(self, rows: RowRanges, texts: pa.DataType | None = None) -> OpenRows:
        """Returns some rows of open pages.

        texts: as for `OpenRows`
        """
        return OpenRows(self, rows, range(*self.reader.pages_of(*row_ranges.bounds(rows))), texts)

    def open(self, number: int, page: StoredPage | KnownPage) -> None:
        """Opens a page. Does nothing if it is open, because another thread may be reading it."""
        found = page.reader(self._chain, is_nested=self._is_nested)
        with self._lock:
            if self._is_open[number]:
                return
            if found is not None:
                opened, data = found
                self.reader.open(number, opened.reader, data.start, data.end)
                self._forms[number] = self._shared(opened.form)
                if opened.refusal is not None:
                    self._refusals[number] = opened.refusal
                if data.end > data.start and not opened.reader.takes_extents:
                    if self._whole is None:
                        self._whole = {}
                    self._whole[number] = data.end - data.start
                if not isinstance(page, StoredPage):
                    if self._pages is None:
                        self._pages = {}
                    self._pages[number] = page
            # last, because other threads check it
            self._is_open[number] = True
            self._num_closed -= 1

    def adopt(self) -> None:
        """Notes the pages that the kernels have opened in the reader, with others of the file.

        raises: CorruptFile for items that cannot be those of the type
        """
        with self._lock:
            for number, found in self.reader.opened():
                if not self._is_open[number]:
                    is_indexed = found == _kernels.PageForm.INDICES
                    self._forms[number] = self._indices(number) if is_indexed else form_of(self.leaf, found)
                    self._is_open[number] = True
                    self._num_closed -= 1

    def _indices(self, number: int) -> Form | None:
        tested = self.reader.tested_values(number)
        assert tested is not None
        with self.where(number):
            return self._shared(indices_form(self.leaf, tested[-1]))

    def _shared(self, form: Form | None) -> Form | None:
        """Returns the form of an earlier page with the same dictionary, so that rows of both become one array."""
        if form is not None and form.items is not None:
            for other in self._forms:
                if other is not None and other.items is not None and other.items.equals(form.items):
                    return other
        return form

    def require_readers(self, pages: Sequence[int]) -> None:
        """Raises the error of the first of the pages whose values nothing can read, with its place."""
        for page in pages:
            refusal = self._refusals.get(page)
            if refusal is not None:
                with self.where(page):
                    raise type(refusal)(refusal.message)

    def form(self, pages: Sequence[int]) -> Form | None:
        """Returns the form of the pages; None if they have several, or one that the kernels do not support."""
        first = self._forms[pages[0]]
        return first if all(self._forms[page] == first for page in pages) else None

    def pieces(self, rows: RowRanges, pages: Sequence[int]) -> Iterator[tuple[Form | None, RowRanges, Sequence[int]]]:
        """Splits rows into pieces of one form each, which become one array. The form is None for pieces that
        Python decodes: blobs, and in files up to 2.0 pages that the kernels do not support, or of which they need far
        more than the rows; see `read_over`.

        pages: with the rows
        """
        form = self._forms[pages[0]]
        over = self.read_over(pages, rows)
        if not over and all(self._forms[page] == form for page in pages):
            yield form, rows, pages
            return
        wanted = [page for page in pages if len(self._inside(page, rows))]
        for (number, form), group in groupby(wanted, lambda page: (page if page in over else None, self._forms[page])):
            several = list(group)
            if number is not None:
                parts = self._near(number, rows)
                # a reader that needs the whole page is no help
                is_left = len(parts) == 1 and self._pages is not None and number in self._pages
                yield from ((None if is_left else form, part, several) for part in parts)
                continue
            first, end = self.first_row(several[0]), self.first_row(several[-1] + 1)
            yield form, np.ascontiguousarray(row_ranges.clip(rows, first, end)), several

    def read_over(self, pages: Sequence[int], rows: RowRanges) -> set[int]:
        """Returns the pages of which the kernels need far more than the rows: the gaps between them, or the whole page.
        None of a mapped file, for which that costs nothing.

        pages: with the rows
        """
        if self.file is None or self._whole is None or self.file.is_mapped:
            return set()
        gap = self.file.gap
        whole = self._whole
        return {page for page in pages if page in whole and self._bytes_over(page, rows) > gap}

    def _bytes_over(self, page: int, rows: RowRanges) -> int:
        """Returns the bytes beyond the share of the rows in a page, if they exceed the share itself, otherwise 0."""
        inside = self._inside(page, rows)
        if len(inside) == 0:
            return 0
        try:
            (spans,) = _kernels.spans([(self.reader, inside)])
        except _kernels.InvalidDataError:
            # reading it raises the error
            return 0
        num_rows = self.first_row(page + 1) - self.first_row(page)
        assert self._whole is not None
        share = self._whole[page] * row_ranges.count(inside) // num_rows
        over = sum(end - start for _, start, end in spans) - share
        return over if over > share else 0

    def _near(self, page: int, rows: RowRanges) -> list[RowRanges]:
        """Splits rows of a page into parts whose bytes are close together."""
        inside = self._inside(page, rows)
        ranges = [inside[index : index + 1] for index in range(len(inside))]
        spans = np.array([parts[0][1:] for parts in _kernels.spans([(self.reader, each) for each in ranges])])
        assert self.file is not None
        return [inside[first:end] for first, end in cluster(spans, self.file.gap).tolist()]

    def _inside(self, page: int, rows: RowRanges) -> RowRanges:
        return np.ascontiguousarray(row_ranges.clip(rows, self.first_row(page), self.first_row(page + 1)))

    def imported(self, array: _kernels.NativeArray, form: Form, texts: pa.DataType | None = None) -> pa.Array:
        """Imports an array that the kernels have made of rows in a form.

        texts: the type of the array if documents have become texts
        """
        if texts is not None:
            return pa.Array._import_from_c(array.address, texts)
        if not self._is_nested:
            return form.finish(pa.Array._import_from_c(array.address, form.type), self.leaf)
        if form.items is None and not form.makes_items:
            return pa.Array._import_from_c(array.address, self._chain.type)
        array = pa.Array._import_from_c(array.address, with_leaves(self._chain, form.type).type)
        return with_finished_leaves(array, self._chain, lambda leaves: form.finish(leaves, self.leaf))

    def items(self, pages: Sequence[int]) -> Items | None:
        """Returns the dictionary items of values; None if the pages have several types, or are not supported by the
        kernels."""
        changes: list[tuple[int, pa.Array | int]] = []
        types: set[tuple[pa.DataType | None, bool]] = set()
        for page in pages:
            form = self._forms[page]
            if form is None:
                return None
            items = kinds.offset_bits(form.type) if form.makes_items else form.items
            types.add((form.type if items is None else None, form.is_composite))
            if items is not None and (not changes or items is not changes[-1][1]):
                changes.append((self.first_row(page), items))
        return changes if len(types) == 1 else None

    @property
    def all_items(self) -> Items | None:
        """The items of all pages, which must be open."""
        if self._all_items is None:
            self._all_items = self.items(range(len(self._is_open)))
        return self._all_items

    def lent(self, parts: PageParts) -> list[tuple[int, pa.Array]]:
        """Returns the parts whose bytes may be passed on without a copy, each as an array."""
        if not self.reader.lends:
            return []
        return [
            (part.page, pa.Array.from_buffers(pa.uint8(), part.data.size, [None, part.data]))
            for part in parts
            if part.extents is None
        ]

    @property
    def num_pages(self) -> int:
        """Number of pages, open or not."""
        return len(self._is_open)

    @property
    def num_rows(self) -> int:
        return int(self._row_starts[-1])

    def first_row(self, page: int) -> int:
        return int(self._row_starts[page])

    def test(self, test: ValueTest, pages: Sequence[int]) -> _kernels.ColumnTest | None:
        """Returns the test for the pages, or None if one of them must be decoded for it."""
        answers = _kernels.ColumnTest(len(self._is_open))
        for number in pages:
            page = self._pages.get(number) if self._pages is not None else None
            tested = page or TestedValues.in_kernels(self.reader, number)
            # a reader also has the NULLs of a page that it does not support
            if tested is None or (self._forms[number] is None and test.wants_null is None):
                return None
            with self.where(number):
                answer = tested.test(test, self.leaf)
            if answer is None:
                return None
            answers.set(number, answer)
        return answers


@dataclass(frozen=True, slots=True)
class OpenRows:
    """Some rows of a column, and their pages.

    texts: the type of the column with the texts of its JSON documents; None for a column that is read as it is stored
    finished: the chain whose function converts the values; None for values that stay as they are
    """

    column: OpenColumn
    rows: RowRanges
    pages: Sequence[int]
    texts: pa.DataType | None = None
    finished: Chain | None = None

    @property
    def reader(self) -> _kernels.ColumnReader:
        return self.column.reader

    @property
    def where(self) -> InPages:
        return self.column.where

    @property
    def are_read_over(self) -> bool:
        """Whether the kernels need far more than these rows of a page; see `OpenColumn.read_over`."""
        return bool(self.column.read_over(self.pages, self.rows))


def with_finished_leaves(array: pa.Array, chain: Chain, finish: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Returns an array of the chain's type, with leaves inside structs and lists that `finish` has converted."""
    return _with_leaves(array, chain.outer[::-1], finish)


def _with_leaves(array: pa.Array, outer: Sequence[pa.DataType], finish: Callable[[pa.Array], pa.Array]) -> pa.Array:
    if not outer:
        return finish(array)
    type, *inside = outer
    child = array.field(0) if pa.types.is_struct(type) else array.values
    buffers = array.buffers()[: 2 if kinds.is_list(type) else 1]
    children = [_with_leaves(child, inside, finish)]
    return pa.Array.from_buffers(type, len(array), buffers, array.null_count, children=children)
