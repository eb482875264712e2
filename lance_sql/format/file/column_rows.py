"""Reading of rows of columns of data files: few rounds of requests, for any number of columns and pages.

A flat column takes two: the first fetches the heads of pages that are not open yet (chunk tables,
dictionaries), the second the values. All columns of a file request their ranges of a round together.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.format.file import ahead, open_pages, page_parts
from lance_sql.format.file.column import Column, Opening
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.located_rows import PageParts
from lance_sql.format.file.mapped_columns import OpeningTogether
from lance_sql.format.file.open_column import OpenRows, with_finished_leaves
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.form import Form
from lance_sql.format.layouts.page import concat
from lance_sql.format.layouts.reading import Reading, Shared, interleaved, run
from lance_sql.format.schema import jsonb
from lance_sql.store import requests
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges


def read_columns(columns: Sequence[Column], rows: RowRanges) -> list[pa.Array]:
    """Reads one array for each column, in order, of `rows` (relative to the first row of the files; at least one).

    raises: as `Column.open`
    """
    rows = np.ascontiguousarray(rows)
    opening = OpeningTogether(columns, rows, is_nested=True)
    with ahead.holding(columns, rows):
        return _read([_pieces(column, rows, opening) for column in columns])


def why_python(column: Column, rows: RowRanges) -> str | None:
    """Returns the reason why `read_columns` decodes rows of a column in Python; None if the kernels decode all of them.
    Opens their pages.

    raises: as `Column.open`
    """
    rows = np.ascontiguousarray(rows)
    opened = column.open(rows, is_nested=True, opening=OpeningTogether([column], rows, is_nested=True))
    if opened is None:
        return column.why_python
    pages = [pages[0] for form, _, pages in opened.column.pieces(rows, opened.pages) if form is None]
    return column.described(pages[0]) if pages else None


def streamed(
    column: Column, rows: RowRanges, *, is_nested: bool = False, opening: Opening | None = None
) -> OpenRows | None:
    """Returns rows of a column that a stream reads on its own, fetching the bytes of many batches at once: see
    `Column.open`. None for files without streams."""
    if column.is_converted or not has_streams(column.file):
        return None
    return column.open(rows, is_nested=is_nested, opening=opening)


def has_streams(file: FileReader) -> bool:
    """Whether columns of a file can be streamed: not those of local files that are not mapped, for which one batch at a
    time is enough."""
    return open_pages.are_kept(file) and (file.bytes.is_mapped or file.bytes.is_far)


def observe(column: Column, rows: RowRanges, zones: _kernels.ZoneBounds) -> None:
    """Adds the values of `rows` to the bounds of zones, as far as the kernels can read them in the file.

    raises: as `Column.open`, for damage of the nesting
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
class _KernelPiece:
    """Rows of a column that the kernels read into one array."""

    rows: OpenRows
    form: Form


@dataclass(frozen=True, slots=True)
class _PythonPiece:
    """Rows of a column that Python decodes."""

    column: Column
    rows: RowRanges


_Piece: TypeAlias = "_KernelPiece | _PythonPiece"


def _pieces(column: Column, rows: RowRanges, opening: Opening) -> list[_Piece]:
    opened = column.open(rows, is_nested=True, opening=opening)
    if opened is None:
        return [_PythonPiece(column, rows)]
    opened.column.require_readers(opened.pages)
    return [
        _PythonPiece(column, part) if form is None else _KernelPiece(replace(opened, rows=part, pages=pages), form)
        for form, part, pages in opened.column.pieces(rows, opened.pages)
    ]


def _read(columns: Sequence[Sequence[_Piece]]) -> list[pa.Array]:
    """Reads one array for each column, joined from its pieces.

    raises: CorruptFile with the file, column and page
    """
    pieces = [piece for each in columns for piece in each]
    in_kernels = [piece for piece in pieces if isinstance(piece, _KernelPiece)]
    others = [piece for piece in pieces if isinstance(piece, _PythonPiece)]
    parts, decoded = _fetch([piece.rows for piece in in_kernels], others)
    made = list[_kernels.NativeArray]()
    if in_kernels:
        _, made, failure = _kernels.read_rows(
            [],
            [(piece.rows.column.reader, piece.rows.rows, data) for piece, data in zip(in_kernels, parts, strict=True)],
            None,
        )
        if failure is not None:
            _, index, page, message = failure
            with in_kernels[index].rows.column.where(page):
                raise CorruptFile(message)
    imported = iter([_imported(array, each) for array, each in zip(made, in_kernels, strict=True)])
    own = iter(decoded)
    return [
        concat([next(imported) if isinstance(piece, _KernelPiece) else next(own) for piece in each]) for each in columns
    ]


def _imported(array: _kernels.NativeArray, piece: _KernelPiece) -> pa.Array:
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
    opened: Sequence[OpenRows], others: Sequence[_PythonPiece]
) -> tuple[list[PageParts | _kernels.FileParts], list[pa.Array]]:
    """Fetches the bytes of rows for the kernels, and decodes others in Python. Those of one file share requests."""
    by_file: dict[FileBytes, tuple[list[int], list[int]]] = {}
    for index, rows in enumerate(opened):
        assert rows.column.file is not None
        by_file.setdefault(rows.column.file, ([], []))[0].append(index)
    for index, piece in enumerate(others):
        by_file.setdefault(piece.column.file.bytes, ([], []))[1].append(index)
    calls = [
        partial(_fetch_file, file, [opened[index] for index in of_opened], [others[index] for index in of_others])
        for file, (of_opened, of_others) in by_file.items()
    ]
    concurrency = max((file.concurrency for file in by_file), default=1)
    parts: dict[int, PageParts | _kernels.FileParts] = {}
    arrays: dict[int, pa.Array] = {}
    results = requests.concurrently(calls, concurrency)
    for (of_opened, of_others), (own_parts, own_arrays) in zip(by_file.values(), results, strict=True):
        parts.update(zip(of_opened, own_parts, strict=True))
        arrays.update(zip(of_others, own_arrays, strict=True))
    return [parts[index] for index in range(len(opened))], [arrays[index] for index in range(len(others))]


def _fetch_file(
    file: FileBytes, opened: Sequence[OpenRows], others: Sequence[_PythonPiece]
) -> tuple[list[PageParts | _kernels.FileParts], list[pa.Array]]:
    apart = page_parts.read_apart(file, *page_parts.located(opened))
    left = [rows for rows, parts in zip(opened, apart, strict=True) if parts is None]
    shared = Shared()
    readings: list[Reading[Any]] = [piece.column.decode(piece.rows, shared) for piece in others]
    if left:
        readings.append(page_parts.fetching(file, *page_parts.located(left)))
    results = run(interleaved(readings), file.fetch)
    whole = iter(results[-1] if left else ())
    return [parts if parts is not None else next(whole) for parts in apart], results[: len(others)]
