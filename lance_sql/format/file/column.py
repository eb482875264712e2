"""Columns of data files, in the form that every file version has: the protocol `Column`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lance_sql.format.encodings.fsst import MAX_EXPANSION
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.layouts.reading import Reading, Shared
from lance_sql.store import ByteRange
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

if TYPE_CHECKING:
    from lance_sql.format.file.open_column import OpenRows
    from lance_sql.format.file.reader import FileReader


class Column(Protocol):
    """A leaf of a table's field in one data file, with its nesting up to the top-level field."""

    @property
    def file(self) -> FileReader: ...

    @property
    def row_starts(self) -> I64:
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
        """Approximate Arrow bytes of one row."""
        ...

    def page_bytes(self, page: int) -> int:
        """Returns the approximate bytes of a page in the file."""
        ...

    def ahead(self, rows: RowRanges, short: int | None, *, opened: bool) -> list[ByteRange]:
        """Returns bytes of the rows to prefetch before the pages are opened; see `ahead`.

        opened: for pages that are open, instead of closed ones
        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def has_dictionaries(self, most_items: int) -> bool | None:
        """Whether a page has a dictionary with at most this many items, or strings that are short enough to become
        indices of one. None if a page has other values."""
        ...

    def num_dictionary_items(self) -> int | None:
        """Returns the items of the largest dictionary of a page, 1 for a page of one value. None if a page has values
        without one.

        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def statistics(self) -> PageStatistics | None:
        """Returns the known statistics of each page; reads those stored in the file.

        raises: CorruptFile
        """
        ...

    def are_null(self, page: int, depth: int) -> bool | None:
        """Whether all values of a page are NULL, or none is, by its layout; None if the layout does not determine it.

        depth: 1 for values of the table's column, 2 for members of a struct in it, and so on
        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def open(self, rows: RowRanges, *, is_nested: bool = False, opening: Opening | None = None) -> OpenRows | None:
        """Returns the rows for the kernels, and opens their pages. None if reading them needs Python. The kernels may
        still not support single pages.

        is_nested: as arrays of the whole chain of lists and structs around the values, without tests; otherwise
            only the values, at most inside structs: NULL if one of these is
        opening: opens the columns that are read with this one
        raises: CorruptFile or UnsupportedFeature with the file, column and page
        """
        ...

    @property
    def is_converted(self) -> bool:
        """Whether the values of pages become others after the kernels have read them, so that they have no stream."""
        ...

    @property
    def why_python(self) -> str | None:
        """The reason why Python decodes every page, by the type; None if this depends on the pages."""
        ...

    def described(self, page: int) -> str:
        """Returns the words for the layout of a page and the encoding of its values.

        raises: CorruptFile, UnsupportedFeature
        """
        ...

    def decode(self, rows: RowRanges, shared: Shared) -> Reading[pa.Array]:
        """Reads `rows` (relative to the file's first row; at least one) in Python, in the form of the field's type.

        raises: as `open`
        """
        ...


class Opening(Protocol):
    """Opens columns that are read together."""

    def of_file(self, file: FileReader) -> None:
        """Opens and caches the columns of a file that the kernels can open, once.

        raises: CorruptFile for a file that is shorter than its metadata claims
        """
        ...


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
