"""BTREE: all values of a column in order, each with its row, in pages; and the bounds of these pages.

    page_lookup.lance   min   max   null_count   page_idx
    page_data.lance     values   ids                           page p: rows [p * batch_size, (p + 1) * batch_size)

Early releases call the ids row_ids.

Source: indices, BTree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64

LOOKUP: Final = "page_lookup.lance"
DATA: Final = "page_data.lance"
DEFAULT_BATCH_SIZE: Final = 4096
MAX_LOOKUP_BYTES: Final = 256 << 20

_ROWS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Lookup:
    """The statistics of the pages of a BTREE.

    statistics: of each page, in the order of the values
    starts, ends: the rows of each page in the data file: int64[pages]
    ids_column: the column with the rows in the data file
    type: of the values
    """

    statistics: PageStatistics
    starts: I64
    ends: I64
    ids_column: str
    type: pa.DataType
    num_bytes: int


@dataclass(frozen=True, slots=True)
class BTree:
    """The pages of a BTREE, whose values are read on demand."""

    lookup: Lookup
    data: IndexFile

    @property
    def type(self) -> pa.DataType:
        """The type of the values."""
        return self.lookup.type

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""
        return self.lookup.num_bytes

    def read(self, pages: I64) -> Iterator[tuple[pa.Array, U64]]:
        """Yields the values of some pages, and the row of each, in parts of bounded size.

        pages: ascending
        raises: CorruptFile
        """
        lookup = self.lookup
        rows = row_ranges.coalesce(np.stack((lookup.starts[pages], lookup.ends[pages]), axis=1), 0)
        total = row_ranges.count(rows)
        for start in range(0, total, _ROWS_AT_ONCE):
            part = row_ranges.compose(rows, row_ranges.single(start, min(start + _ROWS_AT_ONCE, total)))
            values, ids = self.data.read(["values", lookup.ids_column], row_ranges.coalesce(part, 0))
            with at(file=self.data.path, column=lookup.ids_column):
                if ids.null_count or ids.type != pa.uint64():
                    raise CorruptFile(f"rows of type {ids.type}, {ids.null_count} of them NULL")
                yield values, ids.to_numpy()


def read(lookup: IndexFile, data: IndexFile) -> BTree:
    """Opens the BTREE in two files.

    raises: CorruptFile for a lookup that does not match the data; UnsupportedFeature for one that is too large, and
        for a partitioned BTREE
    """
    return BTree(lookup.once(Lookup, lambda: _lookup(lookup, data), data), data)


def _lookup(lookup: IndexFile, data: IndexFile) -> Lookup:
    with at(file=lookup.path):
        if (lookup.note("range_partitioned") or "false") != "false":
            raise UnsupportedFeature("a BTREE in partitions is not supported")
        if lookup.num_rows * (lookup.row_bytes(["min", "max"]) + 8) > MAX_LOOKUP_BYTES:
            raise UnsupportedFeature(f"a BTREE of {lookup.num_rows} pages is not supported")
    batch_size = lookup.number("batch_size", DEFAULT_BATCH_SIZE)
    mins, maxs, null_counts, numbers = lookup.read(["min", "max", "null_count", "page_idx"])
    with at(file=lookup.path):
        if not batch_size:
            raise CorruptFile("a BTREE of pages of 0 rows")
        if not mins.type == maxs.type == data.type_of("values"):
            raise CorruptFile(f"bounds of {mins.type} and {maxs.type} for values of {data.type_of('values')}")
        page_numbers = numbers.cast(pa.int64()).to_numpy(zero_copy_only=False)
        count = -(-data.num_rows // batch_size)
        if numbers.null_count or not np.array_equal(np.sort(page_numbers), np.arange(count)):
            raise CorruptFile(f"{len(page_numbers)} pages are listed of a BTREE of {count}")
        if null_counts.null_count:
            raise CorruptFile("a page without a count of NULLs")
        # an empty text would read as NULL as well
        keeps_all = pa.types.is_primitive(mins.type) and not null_counts.to_numpy().any()
        if (lookup.loses_nulls or data.loses_nulls) and not keeps_all:
            raise UnsupportedFeature(
                f"a BTREE of {mins.type} in files of version 0.1, which store no NULLs, is not supported"
            )
        starts = page_numbers * batch_size
        ends = np.minimum(starts + batch_size, data.num_rows)
        order = np.argsort(page_numbers)
        nans = pa.nulls(count, pa.int64())
        if pa.types.is_floating(mins.type):
            mins, maxs, nans = _without_nan(mins, maxs)
        statistics = PageStatistics(
            pa.array(ends - starts), null_counts.cast(pa.int64()), mins, maxs, nan_counts=nans
        ).take(order)
    size = mins.nbytes + maxs.nbytes + 32 * count
    ids_column = "ids" if data.has("ids") else "row_ids"
    return Lookup(statistics, starts[order], ends[order], ids_column, mins.type, size)


def _without_nan(mins: pa.Array, maxs: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Returns the bounds without NaN, and the number of NaN: 0, or NULL if it is unknown.

    Values are in total order: a page has a NaN only if it begins or ends with one, or begins with NULLs.
    """
    lower, upper = (bounds.cast(pa.float64()).to_numpy(zero_copy_only=False) for bounds in (mins, maxs))
    page_numbers = np.arange(len(mins))
    unsure = np.isnan(lower) | np.isnan(upper)
    return (
        mins.take(pa.array(page_numbers, mask=np.isnan(lower))),
        maxs.take(pa.array(page_numbers, mask=np.isnan(upper))),
        pa.array(np.zeros(len(mins), np.int64), mask=unsure),
    )
