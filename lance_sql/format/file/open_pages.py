"""Opening of the pages of columns, and the caches of open ones, which the batches of a scan share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.format.file.column import Opening
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.file.open_column import OpenColumn, OpenRows
from lance_sql.format.file.page_cache import CachedPage
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.page import KnownPage
from lance_sql.format.layouts.reading import Reading
from lance_sql.format.layouts.stored_page import StoredPage
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

AnyPage = TypeVar("AnyPage", bound=CachedPage)

LONG_FILE_ROWS = 1024
"""Rows of a file from which on the kernels read it, and its opened pages are cached, however few bytes they have: for
shorter files, opening and caching takes longer than it saves."""


def are_kept(file: FileReader) -> bool:
    """Whether columns of the file are cached for the kernels between batches."""
    # for a short file that opening has read, caching costs more than it saves
    return not file.bytes.is_in_memory or file.num_rows >= LONG_FILE_ROWS


def open_rows(
    file: FileReader,
    key: object,
    row_starts: Callable[[], I64],
    chain: Chain,
    where: InPages,
    rows: RowRanges,
    pages: Callable[[Sequence[int]], Sequence[StoredPage | KnownPage]],
    *,
    is_nested: bool,
    opening: Opening | None = None,
    texts: pa.DataType | None = None,
) -> OpenRows:
    """Opens the pages of some rows of a column, and returns the rows.

    key: identifies the column in the file
    pages: opens pages by number
    opening: opens the columns that are read with this one
    is_nested: as for `OpenColumn`
    texts: as for `OpenRows`
    raises: CorruptFile, UnsupportedFeature
    """
    cache_key = key_of(file, key, chain, is_nested=is_nested)
    is_kept = are_kept(file)
    column = cached(file, cache_key) if is_kept else None
    if opening is not None and is_kept and (column is None or not column.are_open(rows)):
        opening.of_file(file)
        column = cached(file, cache_key)
    if column is None:
        column = OpenColumn(file.bytes, row_starts(), chain, where, key=cache_key, is_nested=is_nested)
        if is_kept:
            file.page_cache.keep(cache_key, column)
    if column.is_all_open:
        return column.rows_of(rows, texts)
    numbers: Sequence[int] = range(*column.reader.pages_of(*row_ranges.bounds(rows)))
    if not all(map(column.is_open, numbers)):
        numbers = row_ranges.parts_with(row_starts(), rows)
        missing = [number for number in numbers if not column.is_open(number)]
        for number, page in zip(missing, pages(missing), strict=True):
            with where(number):
                column.open(number, page)
    return OpenRows(column, rows, numbers, texts)


def key_of(file: FileReader, key: object, chain: Chain, *, is_nested: bool) -> Hashable:
    """Returns the key of a column in the page cache; arguments as for `open_rows`."""
    return file.bytes, key, chain.leaf, chain.outer, is_nested


def cached(file: FileReader, key: Hashable) -> OpenColumn | None:
    """Returns the column in the page cache."""
    column = file.page_cache.get(key)
    assert column is None or isinstance(column, OpenColumn)
    return column


def open_pages(
    file: FileReader,
    column: object,
    numbers: Sequence[int],
    where: Callable[[int], at],
    needs: Callable[[int], list[ByteRange]],
    make: Callable[[int, Sequence[pa.Buffer]], AnyPage],
) -> Reading[list[AnyPage]]:
    """Opens pages of a column. Heads that are not cached are fetched together.

    column: identifies the column in the file
    where: adds the page to errors
    needs, make: the ranges of a page's head, and the page from their buffers
    """
    pages = [file.page_cache.get((file.bytes, column, number)) for number in numbers]
    missing = []
    ranges: list[ByteRange] = []
    for index, (number, page) in enumerate(zip(numbers, pages, strict=True)):
        if page is None:
            with where(number):
                wanted = needs(number)
            missing.append((index, number, len(wanted)))
            ranges += wanted
    if missing:
        buffers = (yield ranges) if ranges else ()
        done = 0
        for index, number, count in missing:
            head = buffers[done : done + count]
            if file.bytes.is_far:
                # more than its own bytes of a joint request must not stay in memory
                head = [pa.py_buffer(buffer.to_pybytes()) for buffer in head]
            with where(number):
                page = make(number, head)
            done += count
            pages[index] = page
            if not file.bytes.is_in_memory:
                file.page_cache.keep((file.bytes, column, number), page)
    return pages  # type: ignore[return-value]  # the cache gives back what `make` has put there


def is_open(file: FileReader, column: object, number: int) -> bool:
    """Whether a page can be opened without reading bytes."""
    return file.page_cache.get((file.bytes, column, number)) is not None
