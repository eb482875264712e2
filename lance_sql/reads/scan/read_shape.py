"""Shape of a fragment for splitting it into batches, cached for all scans that read the same columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from lance_sql.format.file.column import Column
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values.arrays import I64

PAGE_ROWS: Final = 32 * 1024
"""Minimum average rows per page for batches to respect page borders."""

_NUM_BYTES: Final = 512
_BORDER_BYTES: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class ReadShape:
    """The columns of a fragment that a plan reads, in the delivered types.

    row_bytes: approximate Arrow data per row
    borders: first rows of their pages, int64, ascending
    is_flat: whether a row has one value of each; otherwise `row_bytes` may be far too low
    stored_bytes: approximate size of the columns in their files
    """

    row_bytes: float
    borders: I64
    is_flat: bool
    stored_bytes: int

    @property
    def num_bytes(self) -> int:
        return _NUM_BYTES + len(self.borders) * _BORDER_BYTES


def of(plan: ReadPlan, fragment: OpenFragment) -> ReadShape:
    """
    raises: CorruptFile, UnsupportedFeature
    """
    key = ReadShape, fragment.key, plan.key
    shape = fragment.files.page_cache.get(key)
    if shape is None:
        columns = list(plan.columns_of(fragment))
        row_bytes = sum(column.row_bytes for column in columns)
        is_flat = all(column.is_flat for column in columns)
        shape = ReadShape(row_bytes, _page_borders(columns), is_flat, sum(map(stored_bytes, columns)))
        fragment.files.page_cache.keep(key, shape)
    assert isinstance(shape, ReadShape)
    return shape


def stored_bytes(column: Column) -> int:
    """Returns the approximate size of all pages of a column."""
    return sum(column.page_bytes(page) for page in range(len(column.row_starts) - 1))


def _page_borders(columns: Iterable[Column]) -> I64:
    borders: set[int] = set()
    for column in columns:
        starts = column.row_starts
        if column.is_flat and starts[-1] > PAGE_ROWS * (len(starts) - 1):
            borders.update(starts[1:-1].tolist())
    return np.array(sorted(borders), np.int64)
