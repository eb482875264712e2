"""Rows of a column whose pages are open, the bytes that the kernels read for them, and errors that name their page."""

from __future__ import annotations

from typing import NamedTuple, NoReturn, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, at
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges


class PagePart(NamedTuple):
    """Bytes of a page, for the kernels.

    start: their position in the file
    extents: start and end of each part, int64[k, 2], if they are not contiguous; then start is 0
    """

    page: int
    data: pa.Buffer
    start: int
    extents: bytes | None = None


PageParts: TypeAlias = list[PagePart]
"""Bytes of pages, in ascending order."""


class InPages(NamedTuple):
    """Adds a page of a column to errors. Keeps neither alive.

    file: its path
    table: with its version
    """

    file: str
    column: str
    table: str | None = None

    def __call__(self, page: int) -> at:
        return at(table=self.table, file=self.file, column=self.column, page=page)


class LocatedRows(Protocol):
    """Some rows of a column whose pages are open."""

    @property
    def reader(self) -> _kernels.ColumnReader: ...

    @property
    def rows(self) -> RowRanges: ...

    @property
    def where(self) -> InPages: ...


class ReaderRows(NamedTuple):
    """Some rows of a reader; see `LocatedRows`."""

    reader: _kernels.ColumnReader
    rows: RowRanges
    where: InPages


def refuse(located: LocatedRows, message: str) -> NoReturn:
    """Raises an error with the page: the first one whose rows cannot be located."""
    damaged = damaged_page(located)
    with located.where(located.reader.pages_of(*row_ranges.bounds(located.rows))[0] if damaged is None else damaged):
        raise CorruptFile(message)


def damaged_page(located: LocatedRows) -> int | None:
    """Returns the first page whose rows cannot be located."""
    starts = located.reader.row_starts()
    for page in range(*located.reader.pages_of(*row_ranges.bounds(located.rows))):
        inside = row_ranges.clip(located.rows, int(starts[page]), int(starts[page + 1]))
        try:
            _kernels.spans([(located.reader, np.ascontiguousarray(inside))])
        except _kernels.InvalidDataError:
            return page
    return None
