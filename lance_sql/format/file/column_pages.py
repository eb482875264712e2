"""The pages of a column: selection of those with some rows, and opening of closed ones."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.format.encodings.fsst import MAX_EXPANSION
from lance_sql.format.file.page_cache import KNOWN, CachedPage
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.reading import Reading
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

MOST_SHARED_BYTES = 64 * 1024
"""Pages with longer heads are cached for one handle only: the learned state of a long dictionary exceeds its size."""

AnyPage = TypeVar("AnyPage", bound=CachedPage)


def split_by_page(starts: I64, rows: RowRanges) -> list[tuple[int, RowRanges]]:
    """Splits rows by page: the number of each page with some of them, and its rows relative to the page.

    starts: first row of each page, then the number of rows
    """
    if len(starts) == 2:
        return [(0, rows)]
    first = int(starts.searchsorted(rows[0, 0], side="right")) - 1
    end = int(starts.searchsorted(rows[-1, 1], side="left"))
    if end - first == 1:
        return [(first, rows - starts[first] if first else rows)]
    return [
        (number, row_ranges.clip(rows, int(starts[number]), int(starts[number + 1])) - starts[number])
        for number in pages_with(starts, rows)
    ]


def pages_with(starts: I64, rows: RowRanges) -> list[int]:
    """Returns the numbers of the pages with some of the rows.

    starts: as for `split_by_page`
    """
    if len(starts) == 2:
        return [0]
    # the first range that ends after the beginning of each page, and its start
    range_indices = rows[:, 1].searchsorted(starts[:-1], side="right")
    begins = rows[:, 0].take(range_indices, mode="clip")
    has_rows = (range_indices < len(rows)) & (begins < starts[1:]) & (starts[:-1] < starts[1:])
    numbers: list[int] = has_rows.nonzero()[0].tolist()
    return numbers


def open_pages(
    file: FileReader,
    column: object,
    numbers: Sequence[int],
    where: Callable[[int], at],
    needs: Callable[[int], list[ByteRange]],
    make: Callable[[int, Sequence[pa.Buffer]], AnyPage],
    *,
    depends_on_file: bool = False,
) -> Reading[list[AnyPage]]:
    """Opens pages of a column. Heads that are not cached are fetched together.

    column: identifies the column in the file
    where: adds the page to errors
    needs, make: the ranges of a page's head, and the page from their buffers
    depends_on_file: pages depend on nothing but the file, so that every table with the file may share them
    """
    is_known = depends_on_file and file.bytes.identity is not None
    pages = [
        (KNOWN.get((file.bytes.identity, column, number)) if is_known else None)
        or file.page_cache.get((file.bytes, column, number))
        for number in numbers
    ]
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
            is_shared = is_known and not file.bytes.is_in_memory and sum(map(len, head)) <= MOST_SHARED_BYTES
            if is_shared or file.bytes.is_far:
                # a page that outlives the table must hold neither the mapping of the file nor more than its own bytes
                # of a joint request
                head = [pa.py_buffer(buffer.to_pybytes()) for buffer in head]
            with where(number):
                page = make(number, head)
            done += count
            pages[index] = page
            if is_shared:
                KNOWN.keep((file.bytes.identity, column, number), page)
            elif not file.bytes.is_in_memory:
                file.page_cache.keep((file.bytes, column, number), page)
    return pages  # type: ignore[return-value]  # the cache gives back what `make` has put there


def is_open(file: FileReader, column: object, number: int) -> bool:
    """Whether a page can be opened without reading bytes."""
    return file.page_cache.get((file.bytes, column, number)) is not None


def value_bytes(type: pa.DataType, stored: float) -> float:
    """Returns the Arrow bytes of a value of `type` with an average of `stored` bytes on disk."""
    num_items = 1
    item = type
    while pa.types.is_fixed_size_list(item):
        num_items *= item.list_size
        item = item.value_type
    try:
        # includes NULLs, which take no space on disk
        return float(num_items * item.bit_width / 8)
    except ValueError:
        return 16 + MAX_EXPANSION * stored
