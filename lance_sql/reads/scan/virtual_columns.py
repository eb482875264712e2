"""Columns of a fragment that none of its files has, in the form of the kernels.

    row ids and addresses               runs of consecutive numbers
    versions of rows                    runs of equal numbers
    fields added to the table later     NULL in every row

Each is a page of all rows, which is tested and read like those of files, but has no bytes to be fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.file.open_column import OpenColumn, OpenRows
from lance_sql.format.layouts.form import Form, OpenPage, nulls_page
from lance_sql.format.layouts.matching import ValueTest, range_test
from lance_sql.format.layouts.nest import Chain
from lance_sql.reads.scan import system_columns
from lance_sql.store import ByteRange
from lance_sql.table import row_ids
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values.row_ranges import RowRanges

_ROWS_PER_RUN: Final = 4
"""Numbers in shorter runs are computed batch by batch, because the runs would take more memory than a few batches."""

_PAGE_BYTES: Final = 2048
_RUN_BYTES: Final = 16
"""Counted memory of a page, and of each of its runs."""


def system_column(fragment: OpenFragment, name: str, rows: RowRanges) -> OpenRows | None:
    """Returns some rows of a system column; None if Python computes it.

    raises: CorruptFile
    """
    key = _numbers, fragment.key, name
    return _rows(fragment, name, rows, system_columns.TYPE, key, lambda: _numbers(fragment, name))


def missing_column(fragment: OpenFragment, name: str, type: pa.DataType, rows: RowRanges) -> OpenRows | None:
    """Returns some rows of a column of NULLs; None for types whose arrays the kernels cannot build."""
    return _rows(fragment, name, rows, type, (_nulls, fragment.key, name, type), lambda: _nulls(fragment, type))


@dataclass(frozen=True, slots=True)
class _LeftToPython:
    """Cached mark of a column that the kernels cannot build, so that they try once."""

    num_bytes: int = _PAGE_BYTES


@dataclass(frozen=True, slots=True)
class _Page:
    """All rows of a fragment. It is opened for the type that it was made for.

    num_bytes: its memory
    """

    page: OpenPage
    has_values: bool
    num_bytes: int = _PAGE_BYTES

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[OpenPage, ByteRange]:
        return self.page, ByteRange(0, 0)

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        if test.wants_null is not None:
            return test.wants_null != self.has_values
        if not self.has_values:
            return False
        return range_test(test.keys) if test.keys is not None and test.keys.num_bits == leaf.bit_width else None


def _numbers(fragment: OpenFragment, name: str) -> _Page | None:
    step = 1
    if name == system_columns.ROW_ID:
        starts, values = fragment.row_id_sequence.runs()
    elif name == system_columns.ROW_ADDRESS:
        starts, values = row_ids.addresses(fragment.id, fragment.num_rows).runs()
    else:
        step = 0
        is_created = name == system_columns.CREATED_AT
        sequence = fragment.created_at_sequence if is_created else fragment.last_updated_at_sequence
        starts, values = sequence.runs()
    if len(starts) > 1 and len(starts) * _ROWS_PER_RUN > fragment.num_rows:
        return None
    reader = _kernels.PageReader.number_runs(
        fragment.num_rows, starts=np.ascontiguousarray(starts), values=np.ascontiguousarray(values), step=step
    )
    return _Page(
        OpenPage(reader, Form(system_columns.TYPE)), has_values=True, num_bytes=_PAGE_BYTES + _RUN_BYTES * len(starts)
    )


def _nulls(fragment: OpenFragment, type: pa.DataType) -> _Page | None:
    page = nulls_page(type, fragment.num_rows)
    return _Page(page, has_values=False) if page is not None else None


def _rows(
    fragment: OpenFragment,
    name: str,
    rows: RowRanges,
    type: pa.DataType,
    key: Hashable,
    make: Callable[[], _Page | None],
) -> OpenRows | None:
    """Returns some rows of a column, which is built for all rows first; None if it is left to Python.

    key: cache key
    """
    cache = fragment.files.page_cache
    column = cache.get(key)
    if column is None:
        page = make()
        if page is None:
            cache.keep(key, _LeftToPython())
            return None
        where = InPages(f"fragment {fragment.id}", name)
        starts = np.array([0, fragment.num_rows])
        column = OpenColumn(None, starts, Chain(type), where, key=key, num_bytes=page.num_bytes)
        column.open(0, page)
        cache.keep(key, column)
    return column.rows_of(rows) if isinstance(column, OpenColumn) else None
