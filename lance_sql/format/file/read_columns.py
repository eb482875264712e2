"""Reading of rows of columns of data files: few rounds of requests, for any number of columns and pages.

A flat column takes two: the first fetches the heads of pages that are not open yet (chunk tables,
dictionaries), the second the values. All columns of a file request their ranges of a round together.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.format.file import ahead, column_cache, page_parts
from lance_sql.format.file.column_cache import Opening
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.kernel_columns import OpeningTogether
from lance_sql.format.file.located_rows import PageParts
from lance_sql.format.file.native_columns import NativeRows, with_finished_leaves
from lance_sql.format.file.reader import FileReader
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.layouts.form import Form
from lance_sql.format.layouts.page import concat
from lance_sql.format.layouts.reading import Reading, Shared, interleaved, run
from lance_sql.format.schema import jsonb
from lance_sql.store import ByteRange, requests
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges


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

    def native(self, rows: RowRanges, *, is_nested: bool = False, opening: Opening | None = None) -> NativeRows | None:
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

        raises: as `native`
        """
        ...


def read_columns(columns: Sequence[Column], rows: RowRanges) -> list[pa.Array]:
    """Reads one array for each column, in order, of `rows` (relative to the first row of the files; at least one).

    raises: as `Column.native`
    """
    rows = np.ascontiguousarray(rows)
    opening = OpeningTogether(columns, rows, is_nested=True)
    with ahead.holding(columns, rows):
        return _read([_pieces(column, rows, opening) for column in columns])


def why_python(column: Column, rows: RowRanges) -> str | None:
    """Returns the reason why `read_columns` decodes rows of a column in Python; None if the kernels decode all of them.
    Opens their pages.

    raises: as `Column.native`
    """
    rows = np.ascontiguousarray(rows)
    native = column.native(rows, is_nested=True, opening=OpeningTogether([column], rows, is_nested=True))
    if native is None:
        return column.why_python
    pages = [pages[0] for form, _, pages in native.column.pieces(rows, native.pages) if form is None]
    return column.described(pages[0]) if pages else None


def streamed(
    column: Column, rows: RowRanges, *, is_nested: bool = False, opening: Opening | None = None
) -> NativeRows | None:
    """Returns rows of a column that a stream reads on its own, fetching the bytes of many batches at once: see
    `Column.native`. None for files without streams."""
    if column.is_converted or not has_streams(column.file):
        return None
    return column.native(rows, is_nested=is_nested, opening=opening)


def has_streams(file: FileReader) -> bool:
    """Whether columns of a file can be streamed: not those of local files that are not mapped, for which one batch at a
    time is enough."""
    return column_cache.are_kept(file) and (file.bytes.is_mapped or file.bytes.is_far)


def observe(column: Column, rows: RowRanges, zones: _kernels.ZoneBounds) -> None:
    """Adds the values of `rows` to the bounds of zones, as far as the kernels can read them in the file.

    raises: as `Column.native`, for damage of the nesting
    """
    wanted = streamed(column, rows)
    # rows that are read over are added after their values were read
    if wanted is None or wanted.are_read_over:
        return
    # pages that the kernels do not support are skipped, and damage raises its error when it is read
    with suppress(CorruptFile, _kernels.InvalidDataError):
        (parts,) = page_parts.fetch([wanted])
        if column.file.bytes.is_unchanged:
            wanted.column.reader.observe(rows, parts, zones)


@dataclass(frozen=True, slots=True)
class _NativePiece:
    """Rows of a column that the kernels read into one array."""

    rows: NativeRows
    form: Form


@dataclass(frozen=True, slots=True)
class _PythonPiece:
    """Rows of a column that Python decodes."""

    column: Column
    rows: RowRanges


_Piece: TypeAlias = "_NativePiece | _PythonPiece"


def _pieces(column: Column, rows: RowRanges, opening: Opening) -> list[_Piece]:
    native = column.native(rows, is_nested=True, opening=opening)
    if native is None:
        return [_PythonPiece(column, rows)]
    native.column.require_readers(native.pages)
    return [
        _PythonPiece(column, part) if form is None else _NativePiece(replace(native, rows=part, pages=pages), form)
        for form, part, pages in native.column.pieces(rows, native.pages)
    ]


def _read(columns: Sequence[Sequence[_Piece]]) -> list[pa.Array]:
    """Reads one array for each column, joined from its pieces.

    raises: CorruptFile with the file, column and page
    """
    pieces = [piece for each in columns for piece in each]
    native = [piece for piece in pieces if isinstance(piece, _NativePiece)]
    others = [piece for piece in pieces if isinstance(piece, _PythonPiece)]
    parts, decoded = _fetch([piece.rows for piece in native], others)
    made = list[_kernels.NativeArray]()
    if native:
        _, made, failure = _kernels.read_rows(
            [],
            [(piece.rows.column.reader, piece.rows.rows, data) for piece, data in zip(native, parts, strict=True)],
            None,
        )
        if failure is not None:
            _, index, page, message = failure
            with native[index].rows.column.where(page):
                raise CorruptFile(message)
    imported = iter([_imported(array, each) for array, each in zip(made, native, strict=True)])
    own = iter(decoded)
    return [
        concat([next(imported) if isinstance(piece, _NativePiece) else next(own) for piece in each]) for each in columns
    ]


def _imported(array: _kernels.NativeArray, piece: _NativePiece) -> pa.Array:
    """Imports the array of a piece; JSON documents become texts.

    raises: CorruptFile and UnsupportedFeature with the file, column and page
    """
    rows = piece.rows
    fault = _kernels.to_json_texts(array) if rows.texts is not None else None
    if fault is not None:
        row = int(row_ranges.expand(rows.rows)[fault[1]])
        with rows.column.where(rows.reader.pages_of(row, row + 1)[0]):
            raise jsonb.error_of(fault)
    imported = rows.column.imported(array, piece.form, rows.texts)
    finished = rows.finished
    if finished is None or finished.finish is None:
        return imported
    with rows.column.where(rows.pages[0]):
        return with_finished_leaves(imported, finished, finished.finish)


def _fetch(
    native: Sequence[NativeRows], others: Sequence[_PythonPiece]
) -> tuple[list[PageParts | _kernels.FileParts], list[pa.Array]]:
    """Fetches the bytes of rows for the kernels, and decodes others in Python. Those of one file share requests."""
    by_file: dict[FileBytes, tuple[list[int], list[int]]] = {}
    for index, rows in enumerate(native):
        assert rows.column.file is not None
        by_file.setdefault(rows.column.file, ([], []))[0].append(index)
    for index, piece in enumerate(others):
        by_file.setdefault(piece.column.file.bytes, ([], []))[1].append(index)
    calls = [
        partial(_fetch_file, file, [native[index] for index in of_native], [others[index] for index in of_others])
        for file, (of_native, of_others) in by_file.items()
    ]
    concurrency = max((file.concurrency for file in by_file), default=1)
    parts: dict[int, PageParts | _kernels.FileParts] = {}
    arrays: dict[int, pa.Array] = {}
    results = requests.concurrently(calls, concurrency)
    for (of_native, of_others), (own_parts, own_arrays) in zip(by_file.values(), results, strict=True):
        parts.update(zip(of_native, own_parts, strict=True))
        arrays.update(zip(of_others, own_arrays, strict=True))
    return [parts[index] for index in range(len(native))], [arrays[index] for index in range(len(others))]


def _fetch_file(
    file: FileBytes, native: Sequence[NativeRows], others: Sequence[_PythonPiece]
) -> tuple[list[PageParts | _kernels.FileParts], list[pa.Array]]:
    apart = page_parts.read_apart(file, *page_parts.located(native))
    left = [rows for rows, parts in zip(native, apart, strict=True) if parts is None]
    shared = Shared()
    readings: list[Reading[Any]] = [piece.column.decode(piece.rows, shared) for piece in others]
    if left:
        readings.append(page_parts.fetching(file, *page_parts.located(left)))
    results = run(interleaved(readings), file.fetch)
    whole = iter(results[-1] if left else ())
    return [parts if parts is not None else next(whole) for parts in apart], results[: len(others)]
