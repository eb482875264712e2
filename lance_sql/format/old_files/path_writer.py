"""Columns of files 2.0: one for each struct, list and leaf on the path from the top, without levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.storage import stored_values
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.file.pages_to_write import PageJob
from lance_sql.format.file.paging import LeafPages
from lance_sql.format.file.shredding import Shape, Shredded, items_of_lists, plain
from lance_sql.format.layouts import blob
from lance_sql.format.old_files.encode_array_page import encode_lists, encode_struct_header, encode_values
from lance_sql.format.schema import Field

_FLAT = Shape((False,))


class PathWriter:
    """The columns of one top-level field.

    first_column: of the field itself; those of its children follow in the order of the schema
    put: writes bytes of blobs, and returns their position
    """

    def __init__(self, field: Field, first_column: int, page_bytes: int, put: Callable[[pa.Buffer], int]) -> None:
        self._field = field
        self._first_column = first_column
        self._put = put
        self._fields = list(_columns(field))
        self._pages = [LeafPages(_FLAT, page_bytes) for _ in self._fields]
        self._num_structs = [0] * len(self._fields)
        self._has_rows = False

    @property
    def fields(self) -> list[Field]:
        """The fields with columns, in the order of these."""
        return self._fields

    @property
    def num_bytes(self) -> int:
        return sum(pages.num_bytes for pages in self._pages)

    def add(self, array: pa.Array, first_row: int) -> Iterator[PageJob]:
        """Adds values, and yields the pages that they complete."""
        self._has_rows = True
        yield from self._add(iter(range(len(self._fields))), self._field, array, (), first_row.__add__)

    def finish(self) -> Iterator[PageJob]:
        """Yields the last pages."""
        for number, pages in enumerate(self._pages):
            for page in pages.flush():
                yield self._job(number, page)
        for number, field in enumerate(self._fields):
            # exactly one, even if all lists of structs are empty, because other readers expect it
            if _is_header(field) and self._has_rows:
                encode = partial(encode_struct_header, self._num_structs[number])
                yield PageJob(self._first_column + number, field.name, 0, 0, encode)

    def _add(
        self, numbers: Iterator[int], field: Field, array: pa.Array, path: tuple[str, ...], row: Callable[[int], int]
    ) -> Iterator[PageJob]:
        """
        numbers: of the remaining columns, starting with that of the field
        row: maps the position of a value to the row of the table
        """
        number = next(numbers)
        array = plain(array)
        path = (*path, field.name)
        if array.null_count and (not field.nullable or _is_header(field)):
            rule = (
                "may not be NULL"
                if not field.nullable
                else "is a struct, which may not be NULL in files of version 2.0"
            )
            nulls = array.is_null().to_numpy(zero_copy_only=False)
            raise InvalidArgument(f"Column {'.'.join(path)!r} {rule}, but is NULL in row {row(int(np.argmax(nulls)))}")
        if _is_header(field):
            self._num_structs[number] += len(array)
            for i, child in enumerate(field.children):
                yield from self._add(numbers, child, array.field(i), path, row)
        elif field.is_list:
            lengths, items = _lists(array)
            yield from self._fill(number, lengths)
            (child,) = field.children
            yield from self._add(numbers, child, items, path, partial(_row_of_item, lengths, row))
        else:
            values = stored_values(field, array, row)
            yield from self._fill(number, blob.describe(values, self._put) if field.is_blob_v1 else values)

    def _fill(self, number: int, values: pa.Array) -> Iterator[PageJob]:
        for page in self._pages[number].add(Shredded(values, None, None, len(values))):
            yield self._job(number, page)

    def _job(self, number: int, page: Shredded) -> PageJob:
        field = self._fields[number]
        if field.is_list:
            encode = partial(encode_lists, page.values)
        else:
            encode = partial(encode_values, page.values, field.metadata)
        return PageJob(self._first_column + number, field.name, 0, page.num_bytes, encode)


def _columns(field: Field) -> Iterator[Field]:
    """Yields the fields with a column, from the top."""
    yield field
    if not is_leaf(field):
        for child in field.children:
            yield from _columns(child)


def _is_header(field: Field) -> bool:
    """Whether the column of the field only counts structs."""
    return field.logical_type == "struct" and not field.is_packed


def _lists(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Returns the lengths of lists, NULL for a NULL list, and the items of the others."""
    offsets = array.offsets.to_numpy()
    lengths = np.diff(offsets).astype(np.int64)
    if not array.null_count:
        return pa.array(lengths), array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(lengths, mask=nulls), items_of_lists(array, offsets, lengths, nulls)


def _row_of_item(lengths: pa.Array, row: Callable[[int], int], item: int) -> int:
    ends = np.cumsum(lengths.fill_null(0).to_numpy())
    return row(int(np.searchsorted(ends, item, side="right")))
