"""Columns of files 2.1 and 2.2: one for each leaf, with nesting in levels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from lance_sql.format.casts.storage import stored_values
from lance_sql.format.file import blob_v2, shredding
from lance_sql.format.file.leaves import is_leaf, leaves
from lance_sql.format.file.pages_to_write import PageJob
from lance_sql.format.file.paging import LeafPages
from lance_sql.format.file.shredding import Shape, Shredded
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts import blob, encode_numbers
from lance_sql.format.layouts.encode import encode_page
from lance_sql.format.layouts.shredded import EncodedPage
from lance_sql.format.schema import Field
from lance_sql.format.schema.types import plain_type


class LeafWriter:
    """The leaves of one top-level field.

    first_column: of its first leaf
    put: writes bytes of blobs, and returns their position
    """

    def __init__(
        self, field: Field, first_column: int, page_bytes: int, put: Callable[[pa.Buffer], int], rules: PageRules
    ) -> None:
        self._field = field
        self._first_column = first_column
        self._put = put
        self._rules = rules
        self._shapes = shredding.shapes(field)
        self._leaves = (field,) if is_leaf(field) else tuple(leaf.field for leaf in leaves(field))
        self._plain = plain_type(field)
        self._are_numbers = self._plain is not None and encode_numbers.are_numbers(self._plain)
        self._pages = [LeafPages(shape, page_bytes) for shape in self._shapes]

    @property
    def fields(self) -> Sequence[Field]:
        """The fields with columns, in the order of these."""
        return self._leaves

    @property
    def num_bytes(self) -> int:
        return sum(pages.num_bytes for pages in self._pages)

    def add(self, array: pa.Array, first_row: int) -> Iterable[PageJob]:
        """Adds values, and returns the pages that they complete."""
        if self._plain is not None and array.type == self._plain and array.null_count == 0:
            return self._fill(0, Shredded(array, None, None, len(array)))
        return self._add(array, first_row)

    def _add(self, array: pa.Array, first_row: int) -> Iterator[PageJob]:
        for number, shredded in enumerate(shredding.shred(self._field, array, first_row)):
            leaf, shape = self._leaves[number], self._shapes[number]
            row = partial(_row_of, shredded, shape, first_row)
            values = stored_values(leaf, shredded.values, row)
            if leaf.is_blob_v1:
                values = blob.describe(values, self._put)
            elif leaf.is_blob_v2:
                values = blob_v2.describe(values, self._put)
            if values is not shredded.values:
                shredded = replace(shredded, values=values)
            yield from self._fill(number, shredded)

    def _fill(self, number: int, rows: Shredded) -> Iterator[PageJob]:
        for page in self._pages[number].add(rows):
            yield self._job(number, page)

    def finish(self) -> Iterator[PageJob]:
        """Yields the last pages."""
        for number, pages in enumerate(self._pages):
            for page in pages.flush():
                yield self._job(number, page)

    def _job(self, number: int, page: Shredded) -> PageJob:
        leaf, shape = self._leaves[number], self._shapes[number]
        num_rows = page.num_entries if page.starts is None else int(np.count_nonzero(page.starts == 0))
        encode = partial(_encode, leaf, shape, page, self._rules)
        num_rows //= shape.items_per_row
        is_short = page.num_entries < encode_numbers.MOST_VALUES
        numbers = page.values if self._are_numbers and is_short and page.marks is None else None
        return PageJob(self._first_column + number, leaf.name, num_rows, page.num_bytes, encode, numbers)


def _encode(leaf: Field, shape: Shape, shredded: Shredded, rules: PageRules) -> EncodedPage:
    page = shredding.page_of(shredded, shape)
    if leaf.is_blob_v1:
        return blob.encode_page(page, rules)
    return encode_page(page, blob_v2.as_filed(leaf) if leaf.is_blob_v2 else leaf, rules)


def _row_of(leaf: Shredded, shape: Shape, first_row: int, item: int) -> int:
    entry = item
    if leaf.marks is not None and shape.hidden_to:
        entry = int(np.flatnonzero(shredding.owns_item(leaf.marks, shape.hidden_to))[item])
    if leaf.starts is None:
        return first_row + entry // shape.items_per_row
    return first_row + int(np.count_nonzero(leaf.starts[: entry + 1] == 0)) - 1
