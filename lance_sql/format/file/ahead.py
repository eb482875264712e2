"""Bytes of columns that are asked for before their pages are opened, in one round for all of them.

Of a page that is short, or of which rows in most places are wanted, all bytes are; of another one what opens it, and
where its first rows are wanted, about as many values as they take. What is missing then is asked for when it is known.
Where all pages are open, that is known at once, and nothing is asked for ahead. Of files that are near and not mapped,
which have no round trip to spare, what opens the pages is all.
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
    from lance_sql.format.file.file_bytes import FileBytes
    from lance_sql.format.file.read_columns import Column

_MOST: Final = 2
"""Where at least one row in so many is wanted, so are all bytes of the page."""

_ROWS_PER_RANGE: Final = 2048
"""And so they are where there is a range of wanted rows for so many rows: it has chunks of about as many."""

_SHORT_BYTES: Final = 2 * ROUND_TRIP_BYTES
"""Pages of a file that are read together are short where all of them have no more."""

_SPARE: Final = 4
"""One part in so many is asked for beyond what values take on average."""


def of_page(
    buffers: Sequence[ByteRange],
    head: Sequence[ByteRange],
    data: ByteRange | None,
    num_rows: int,
    rows: RowRanges,
    short: int | None,
) -> list[ByteRange]:
    """The bytes of a page that are asked for ahead.

    buffers: all of the page
    head: what opens it
    data: of its values in the order of the rows, where they are in one buffer
    num_rows: of the page
    rows: that are wanted, relative to the page
    short: of so many bytes, a page is asked for as a whole; None: only what opens it
    """
    if short is None:
        return list(head)
    size = sum(end - start for start, end in buffers)
    if size <= short or _are_dense(rows, num_rows):
        return list(buffers)
    first, last = int(rows[0, 0]), int(rows[-1, 1])
    if data is None or first > 0:
        return list(head)
    length = data.end - data.start
    wanted = length * last // num_rows
    return [*head, ByteRange(data.start, data.start + min(length, wanted + wanted // _SPARE + GAP_BYTES))]


def of_open_page(data: ByteRange | None, num_rows: int, rows: RowRanges) -> list[ByteRange]:
    """The same of a page that is open, beside others that are not: about the values between the first and the last row.

    data, num_rows, rows: as of `of_page`
    """
    first, last = int(rows[0, 0]), int(rows[-1, 1])
    if data is None or not _are_dense(rows, last - first):
        return []
    length = data.end - data.start
    before, behind = length * first // num_rows, length * (num_rows - last) // num_rows
    before -= min(before, before // _SPARE + GAP_BYTES)
    behind -= min(behind, behind // _SPARE + GAP_BYTES)
    return [ByteRange(data.start + before, data.end - behind)]


def _are_dense(rows: RowRanges, num_rows: int) -> bool:
    """Whether hardly a part of so many rows is spared where only these are read."""
    return row_ranges.count(rows) * _MOST >= num_rows or len(rows) * _ROWS_PER_RANGE >= num_rows


@contextmanager
def holding(columns: Sequence[Column], rows: RowRanges) -> Iterator[None]:
    """While it is entered, what is asked for ahead of the columns is in memory. Nothing of files that are mapped.

    raises: CorruptFile for a file that is shorter than it says
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
            # whoever reads the column says what is wrong with it, and where
            with suppress(LanceError):
                ranges += column.ahead(rows, short, opened=opened)
        if not ranges:
            break
    return ranges
