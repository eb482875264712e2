"""Prefetch of column bytes before their pages are opened, in one round of requests for all columns.

For a short page, or one with wanted rows in most places, all bytes are requested. For other pages, the head is
requested, and about as many value bytes as the first wanted rows take. Missing bytes are requested once their place is
known. If all pages are open, that place is known at once, and nothing is prefetched. For local files that are not
mapped, which have no round trip to save, only the heads are prefetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from lance_sql.errors import LanceError
from lance_sql.format.file.held_bytes import HeldBytes
from lance_sql.store import ByteRange, concurrently
from lance_sql.store.ranges import GAP_BYTES, ROUND_TRIP_BYTES
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

if TYPE_CHECKING:
    from lance_sql.format.file.column import Column
    from lance_sql.format.file.file_bytes import FileBytes

_MOST: Final = 2
"""All bytes of a page are requested if at least one row in this many is wanted."""

_ROWS_PER_RANGE: Final = 2048
"""All bytes are also requested if there is a range of wanted rows for this many rows, about the rows of a chunk."""

_SHORT_BYTES: Final = 2 * ROUND_TRIP_BYTES
"""Pages of a file that are read together are short if each has at most this size."""

_SPARE: Final = 4
"""One part in this many is requested in addition to the average size of the values."""


def of_page(
    buffers: Sequence[ByteRange],
    head: Sequence[ByteRange],
    data: ByteRange | None,
    num_rows: int,
    rows: RowRanges,
    short: int | None,
) -> list[ByteRange]:
    """Returns the bytes of a page to prefetch.

    buffers: all of the page
    head: the bytes that opening needs
    data: its values in the order of the rows, if they are in one buffer
    num_rows: of the page
    rows: wanted rows, relative to the page
    short: pages up to this size are requested as a whole; None: only the head
    """
    if short is None:
        return list(head)
    size = sum(end - start for start, end in buffers)
    if size <= short or _are_dense(rows, num_rows):
        return list(buffers)
    first, last = row_ranges.bounds(rows)
    if data is None or first > 0:
        return list(head)
    length = data.end - data.start
    wanted = length * last // num_rows
    return [*head, ByteRange(data.start, data.start + min(length, wanted + wanted // _SPARE + GAP_BYTES))]


def of_open_page(data: ByteRange | None, num_rows: int, rows: RowRanges) -> list[ByteRange]:
    """Returns the bytes of an open page to prefetch, along with closed pages: about those from the first to the last
    row.

    data, num_rows, rows: as of `of_page`
    """
    first, last = row_ranges.bounds(rows)
    if data is None or not _are_dense(rows, last - first):
        return []
    length = data.end - data.start
    before, behind = length * first // num_rows, length * (num_rows - last) // num_rows
    before -= min(before, before // _SPARE + GAP_BYTES)
    behind -= min(behind, behind // _SPARE + GAP_BYTES)
    return [ByteRange(data.start + before, data.end - behind)]


def _are_dense(rows: RowRanges, num_rows: int) -> bool:
    """Whether reading only these rows saves hardly any part of this many rows."""
    return row_ranges.count(rows) * _MOST >= num_rows or len(rows) * _ROWS_PER_RANGE >= num_rows


@contextmanager
def holding(columns: Sequence[Column], rows: RowRanges) -> Iterator[None]:
    """Holds the prefetched bytes of the columns in memory inside the block. Does nothing for mapped files.

    raises: CorruptFile for a file shorter than its metadata claims
    """
    by_file: dict[FileBytes, list[Column]] = {}
    for column in columns:
        if not column.file.bytes.is_mapped:
            by_file.setdefault(column.file.bytes, []).append(column)
    calls = [partial(_hold, file, _ranges(several, rows)) for file, several in by_file.items()]
    held = concurrently(calls, max((file.concurrency for file in by_file), default=1))
    try:
        yield
    finally:
        for file, each in held:
            file.let_go(each)


def _hold(file: FileBytes, ranges: Sequence[ByteRange]) -> tuple[FileBytes, HeldBytes]:
    return file, file.hold(ranges)


def _ranges(columns: Sequence[Column], rows: RowRanges) -> list[ByteRange]:
    is_far = columns[0].file.bytes.is_far
    short = min(_SHORT_BYTES // len(columns), ROUND_TRIP_BYTES) if is_far else None
    ranges: list[ByteRange] = []
    for opened in (False, True) if is_far else (False,):
        for column in columns:
            # reading the column raises the precise error
            with suppress(LanceError):
                ranges += column.ahead(rows, short, opened=opened)
        if not ranges:
            break
    return ranges
