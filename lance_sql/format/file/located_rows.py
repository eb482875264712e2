"""Rows of a column whose pages are open, the bytes that the kernels read for them, and errors that name their page."""

from __future__ import annotations

from typing import NamedTuple, NoReturn, TypeAlias

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


ReaderRows: TypeAlias = tuple[_kernels.ColumnReader, RowRanges]
"""Some rows of a column whose pages are open."""


def refuse(wanted: ReaderRows, where: InPages, message: str) -> NoReturn:
    """Raises an error with the page: the first one whose rows cannot be located."""
    reader, rows = wanted
    damaged = damaged_page(wanted)
    with where(reader.pages_of(*row_ranges.bounds(rows))[0] if damaged is None else damaged):
        raise CorruptFile(message)


def damaged_page(wanted: ReaderRows) -> int | None:
    """Returns the first page whose rows cannot be located."""
    reader, rows = wanted
    starts = reader.row_starts()
    for page in range(*reader.pages_of(*row_ranges.bounds(rows))):
        inside = row_ranges.clip(rows, int(starts[page]), int(starts[page + 1]))
        try:
            _kernels.spans([(reader, np.ascontiguousarray(inside))])
        except _kernels.InvalidDataError:
            return page
    return None
