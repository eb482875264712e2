"""Fetching the bytes of rows for the kernels: the parts of their pages, in one round of requests for each file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.located_rows import InPages, PagePart, PageParts, ReaderRows, damaged_page, refuse
from lance_sql.format.file.open_column import OpenRows
from lance_sql.format.layouts.reading import Reading, run
from lance_sql.store import ByteRange
from lance_sql.store.ranges import GAP_BYTES

Where: TypeAlias = Callable[[int], InPages]
"""Returns the place of a column in errors, by its number."""


def fetch(columns: Sequence[OpenRows]) -> list[PageParts]:
    """Fetches the bytes of the rows of each column.

    raises: CorruptFile
    """
    by_file: dict[FileBytes, list[int]] = {}
    for index, each in enumerate(columns):
        if each.column.file is not None:
            by_file.setdefault(each.column.file, []).append(index)
    parts_of_columns: list[PageParts] = [[]] * len(columns)
    for file, indices in by_file.items():
        chosen = [columns[index] for index in indices]
        parts = run(fetching(file, *located(chosen)), file.fetch)
        for index, each_part in zip(indices, parts, strict=True):
            parts_of_columns[index] = each_part
    return parts_of_columns


def located(columns: Sequence[OpenRows]) -> tuple[list[ReaderRows], Where]:
    """Returns the rows of columns, and their places in errors."""
    return [(each.column.reader, each.rows) for each in columns], lambda number: columns[number].where


def fetching(file: FileBytes, columns: Sequence[ReaderRows], where: Where) -> Reading[list[PageParts]]:
    """Fetches the bytes for columns of one file, in one round of requests."""
    is_mapped = file.is_mapped
    spans = _spans(columns, where) if is_mapped else _scattered_spans(columns, where, min(file.gap, GAP_BYTES))
    data = iter((yield [ByteRange(start, end) for parts in spans for _, start, end in parts]))
    fetched = [
        [PagePart(page, each, start) for (page, start, _), each in zip(parts, data, strict=False)] for parts in spans
    ]
    # the bytes of a page are one range of a mapped file
    return fetched if is_mapped else [_joined(parts) for parts in fetched]


def read_apart(file: FileBytes, columns: Sequence[ReaderRows], where: Where) -> list[_kernels.FileParts | None]:
    """Reads rows that are far apart in a local file, without the gaps between them. Returns None for other columns.

    raises: CorruptFile
    """
    parts_of_columns: list[_kernels.FileParts | None] = [None] * len(columns)
    if file.is_far:
        return parts_of_columns
    # neighboring rows need all bytes between them
    indices = [index for index, (_, rows) in enumerate(columns) if rows.shape[0] > 1]
    if not indices:
        return parts_of_columns
    read, failure = file.read_scattered([columns[index] for index in indices])
    if failure is not None:
        number, message = failure
        refuse(columns[indices[number]], where(indices[number]), message)
    for index, parts in zip(indices, read or (), strict=False):
        parts_of_columns[index] = parts
    return parts_of_columns


def _joined(parts: PageParts) -> PageParts:
    if len({part.page for part in parts}) == len(parts):
        return parts
    joined: PageParts = []
    for page, group in groupby(parts, lambda part: part.page):
        several = list(group)
        if len(several) == 1:
            joined += several
            continue
        extents = np.array([(part.start, part.start + part.data.size) for part in several], np.int64)
        joined.append(PagePart(page, pa.py_buffer(b"".join(part.data for part in several)), 0, extents.tobytes()))
    return joined


def _scattered_spans(columns: Sequence[ReaderRows], where: Where, gap: int) -> Sequence[Sequence[tuple[int, int, int]]]:
    """Returns the spans of `_spans`, with several parts of a page if its rows have large gaps."""
    if all(len(rows) == 1 for _, rows in columns):
        return _spans(columns, where)
    spans_of_columns: list[list[tuple[int, int, int]]] = []
    for number, (reader, rows) in enumerate(columns):
        try:
            spans = reader.scattered_spans(np.ascontiguousarray(rows))
        except _kernels.InvalidDataError as error:
            refuse((reader, rows), where(number), str(error))
        if len(spans) > 1:
            begins = (spans[1:, 0] != spans[:-1, 0]) | (spans[1:, 1] - spans[:-1, 2] > gap)
            firsts = np.concatenate(([0], np.flatnonzero(begins) + 1))
            ends = np.maximum.reduceat(spans[:, 2], firsts)
            spans = np.column_stack((spans[firsts, 0], spans[firsts, 1], ends))
        spans_of_columns.append([(page, start, end) for page, start, end in spans.tolist()])
    return spans_of_columns


def _spans(columns: Sequence[ReaderRows], where: Where) -> Sequence[Sequence[tuple[int, int, int]]]:
    """Returns the bytes of the rows of each column in the file: page, start and end for each page that has bytes."""
    try:
        return _kernels.spans([*columns])
    except _kernels.InvalidDataError as error:
        number = next((number for number, each in enumerate(columns) if damaged_page(each) is not None), 0)
        refuse(columns[number], where(number), str(error))
