"""Columns of files 2.1 and 2.2: one for each leaf, nesting in levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.file import shredding
from lance_sql.file.conforming import stored_values
from lance_sql.file.leaves import leaves
from lance_sql.file.paging import LeafPages
from lance_sql.file.shredding import Shape, Shredded
from lance_sql.layouts.encode import encode_page
from lance_sql.layouts.shredded import EncodedPage, ShreddedPage
from lance_sql.layouts.tree import Layer
from lance_sql.schema import Field


@dataclass(frozen=True, slots=True)
class PageJob:
    """One page that waits for being encoded.

    num_rows: of the table
    num_bytes: of the input
    """

    column: int
    num_rows: int
    num_bytes: int
    encode: Callable[[], EncodedPage]


class LeafWriter:
    """The leaves of one top-level field.

    first_column: of its first leaf
    """

    def __init__(self, field: Field, first_column: int, page_bytes: int, *, minor: int) -> None:
        self._field = field
        self._first_column = first_column
        self._minor = minor
        self._shapes = shredding.shapes(field)
        self._leaves = [leaf.field for leaf in leaves(field)]
        self._pages = [LeafPages(shape, page_bytes) for shape in self._shapes]

    @property
    def field_ids(self) -> list[int]:
        """The fields that have columns, in the order of these."""
        return [leaf.id for leaf in self._leaves]

    @property
    def num_bytes(self) -> int:
        return sum(pages.num_bytes for pages in self._pages)

    def add(self, array: pa.Array, first_row: int) -> Iterator[PageJob]:
        """The pages that these values complete."""
        for number, shredded in enumerate(shredding.shred(self._field, array, first_row)):
            leaf, shape = self._leaves[number], self._shapes[number]
            row = partial(_row_of, shredded, shape, first_row)
            stored = replace(shredded, values=stored_values(leaf, shredded.values, row))
            for page in self._pages[number].add(stored):
                yield self._job(number, page)

    def finish(self) -> Iterator[PageJob]:
        """The last pages."""
        for number, pages in enumerate(self._pages):
            for page in pages.flush():
                yield self._job(number, page)

    def _job(self, number: int, page: Shredded) -> PageJob:
        leaf, shape = self._leaves[number], self._shapes[number]
        num_rows = page.num_entries if page.starts is None else int(np.count_nonzero(page.starts == 0))
        encode = partial(_encode, leaf, shape, page, self._minor)
        return PageJob(self._first_column + number, num_rows // shape.items_per_row, page.num_bytes, encode)


def _encode(leaf: Field, shape: Shape, shredded: Shredded, minor: int) -> EncodedPage:
    page = shredding.page_of(shredded, shape)
    if leaf.logical_type == "struct" and not leaf.children:
        page = _empty_structs(leaf, page)
    return encode_page(page, leaf, minor=minor)


def _empty_structs(leaf: Field, page: ShreddedPage) -> ShreddedPage:
    """Structs without members look like NULLs in files, so that none of them can be NULL."""
    if page.definition is not None or page.repetition is not None:
        raise UnsupportedFeature(f"Column {leaf.name!r}: NULL, or in a list, a struct without members is not storable")
    definition = np.ones(page.num_rows, np.uint16)
    return ShreddedPage(pa.nulls(page.num_rows), (Layer.NULLABLE_ITEM,), None, definition, page.num_rows)


def _row_of(leaf: Shredded, shape: Shape, first_row: int, item: int) -> int:
    """The row of an item of the leaf."""
    entry = item
    if leaf.marks is not None and shape.hidden_to:
        entry = int(np.flatnonzero((leaf.marks == 0) | (leaf.marks > shape.hidden_to))[item])
    if leaf.starts is None:
        return first_row + entry // shape.items_per_row
    return first_row + int(np.count_nonzero(leaf.starts[: entry + 1] == 0)) - 1


def file_fields(fields: Sequence[Field]) -> tuple[Field, ...]:
    """The fields as the file itself describes them."""
    return tuple(fields)
