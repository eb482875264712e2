"""Readable rows of one fragment: read batch by batch, and on failure column by column and page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import TABLE_ERRORS, CorruptFile, LanceError, UnsupportedFeature
from lance_sql.format.layouts.page import concat
from lance_sql.health.repairs.losses import Losses
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.scan import Scan
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.arrays import BoolMask
from lance_sql.values.row_ranges import RowRanges

# A page with this many failed batches is given up: it may claim any number of rows.
_MOST_FAILURES: Final = 64
# NULL of some types takes as many bytes as a value.
_MOST_NULL_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class ReadableRows:
    """Rows with at least one readable value.

    arrays: by column, NULL where a value is lost; columns without any value are missing
    num_lost: by column, the number of lost values in these rows
    """

    num_rows: int
    arrays: Mapping[str, pa.Array]
    num_lost: Mapping[str, int]


@dataclass
class FragmentReader:
    """Reader of the readable rows of a fragment.

    scan_of: returns a scan of columns
    columns: those whose files can be opened; `stored` of them are in a file
    null_cells: keep rows with any readable column, not only those with all
    lost: by column, rows that must not be read
    num_lost: the number of rows that were not kept
    """

    scan_of: Callable[[tuple[OutputColumn, ...]], Scan]
    opened: OpenFragment
    columns: Sequence[OutputColumn]
    stored: Sequence[OutputColumn]
    losses: Losses
    null_cells: bool
    lost: dict[str, RowRanges] = field(default_factory=dict)
    num_lost: int = 0
    _failures: Counter[tuple[str, int]] = field(default_factory=Counter)

    def batches(self, live: RowRanges, most: int) -> Iterator[ReadableRows]:
        """Yields the kept rows of `live`; reads at most `most` rows at once."""
        rest = self._without_lost(live)
        while len(rest):
            rows = row_ranges.head(rest, most)
            rest = row_ranges.difference(rest, rows)
            readable = self._of_rows(rows)
            self.num_lost += row_ranges.count(rows) - readable.num_rows
            if readable.num_rows:
                yield readable
            rest = self._without_lost(rest)

    def _without_lost(self, rows: RowRanges) -> RowRanges:
        """Returns the rows without those that are known to be lost."""
        names = [column.name for column in (self.stored if self.null_cells else self.columns)]
        lost = [self.lost.get(name, row_ranges.EMPTY) for name in names]
        unreadable = row_ranges.intersect(
            rows, reduce(row_ranges.intersect if self.null_cells else row_ranges.union, lost)
        )
        self.num_lost += row_ranges.count(unreadable)
        return row_ranges.difference(rows, unreadable) if len(unreadable) else rows

    def _of_rows(self, rows: RowRanges) -> ReadableRows:
        num_rows = row_ranges.count(rows)
        values: dict[str, pa.Array | None]
        is_lost = any(len(row_ranges.intersect(rows, each)) for each in self.lost.values())
        together = None if is_lost else self._read(tuple(self.columns), rows)
        if together is not None and not isinstance(together, LanceError):
            values = {column.name: array for column, array in zip(self.columns, together, strict=True)}
            return ReadableRows(num_rows, values, dict.fromkeys(values, 0))
        values, readable = {}, {}
        for column in self.columns:
            values[column.name], readable[column.name] = self._of_column(column, rows)
        counted = [readable[column.name] for column in (self.stored if self.null_cells else self.columns)]
        salvaged: BoolMask = np.logical_or.reduce(counted) if self.null_cells else np.logical_and.reduce(counted)
        arrays = {name: _chosen(array, readable[name], salvaged) for name, array in values.items() if array is not None}
        num_lost = {name: int((salvaged & ~flags).sum()) for name, flags in readable.items()}
        return ReadableRows(int(salvaged.sum()), arrays, num_lost)

    def _of_column(self, column: OutputColumn, rows: RowRanges) -> tuple[pa.Array | None, BoolMask]:
        """Returns the readable values of a column in some rows, and a mask of these rows."""
        parts: list[pa.Array] = []
        readable: list[BoolMask] = []
        lost = self.lost.get(column.name, row_ranges.EMPTY)
        for page, part in _by_page(self.opened, column, rows):
            read = None if len(row_ranges.intersect(part, lost)) else self._read((column,), part)
            if isinstance(read, LanceError):
                self._fails(column, page, part, read)
            elif read is not None:
                parts += read
            readable.append(np.full(row_ranges.count(part), isinstance(read, list)))
        return (concat(parts) if parts else None), np.concatenate(readable)

    def _fails(self, column: OutputColumn, page: tuple[int, int], rows: RowRanges, error: LanceError) -> None:
        """Records unreadable rows; gives up the rest of a page after many failures."""
        self._failures[column.name, page[0]] += 1
        if self._failures[column.name, page[0]] >= _MOST_FAILURES:
            rows = row_ranges.single(int(rows[0, 0]), page[1])
            self.lost[column.name] = row_ranges.union(self.lost.get(column.name, row_ranges.EMPTY), rows)
        self.losses.add(self.opened.id, column.name, rows, error)

    def _read(self, columns: tuple[OutputColumn, ...], rows: RowRanges) -> list[pa.Array] | LanceError:
        """Reads one array for each column, or returns the error."""
        task = self.scan_of(columns).task([FragmentScan(self.opened.fragment, rows)])
        try:
            table = task.to_reader(keeps_all=True).read_all()
        except TABLE_ERRORS as error:
            return error
        except MemoryError:
            return CorruptFile("not enough memory to read it")
        return [column.chunk(0) if column.num_chunks == 1 else concat(column.chunks) for column in table.columns]


def nulls(type: pa.DataType, count: int) -> pa.Array:
    """Returns an array of `count` NULLs.

    raises: UnsupportedFeature if they take too much memory
    """
    if isinstance(type, pa.ExtensionType):
        return pa.ExtensionArray.from_storage(type, nulls(type.storage_type, count))
    width = type.byte_width if pa.types.is_fixed_size_binary(type) else 0
    try:
        if count * width <= _MOST_NULL_BYTES:
            return pa.nulls(count, type)
    except MemoryError:
        pass
    raise UnsupportedFeature(f"{count} NULLs of type {type} take too much memory: leave that column out")


def _chosen(array: pa.Array, readable: BoolMask, salvaged: BoolMask) -> pa.Array:
    """Returns the values of the salvaged rows, NULL where there is none.

    array: the values of the rows that are `readable`
    """
    if bool(readable[salvaged].all()):
        return array.filter(pa.array(salvaged[readable]))
    positions = (np.cumsum(readable) - 1)[salvaged]
    return array.take(pa.array(np.maximum(positions, 0), mask=~readable[salvaged]))


def _by_page(
    opened: OpenFragment, column: OutputColumn, rows: RowRanges
) -> Iterator[tuple[tuple[int, int], RowRanges]]:
    """Yields rows split at the pages of a column, each with the range of its page."""
    assert column.field is not None
    starts = {0, opened.num_rows}
    for each in opened.columns_of(column.field):
        starts.update(each.row_starts.tolist())
    for start, end in pairwise(sorted(starts)):
        if start < rows[-1, 1] and rows[0, 0] < end:
            part = row_ranges.clip(rows, start, end)
            if len(part):
                yield (start, end), part
