"""Cutting a plan into batches, and reading one of them.

A batch is small enough to bound memory and large enough that its overhead does not count. Its rows end where a page
of the projected columns ends, if one does near enough, so that most arrays come from one page without a copy.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_choice, row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.row_ranges import RowRanges
from lance_sql.scan import system_columns
from lance_sql.scan.fragments import FragmentRows
from lance_sql.scan.masks import true_ranges
from lance_sql.scan.plan import FragmentScan, ScanPlan
from lance_sql.scan.predicates import evaluate
from lance_sql.schema import Field

BATCH_ROWS = 128 * 1024
"""Rows of a batch, unless its rows are very narrow or very wide."""

BATCH_BYTES = 2 * 1024 * 1024
MAX_BATCH_ROWS = 512 * 1024
"""Batches of narrow rows grow to about this much Arrow data and at most so many rows."""

BYTES_OF_A_TABLE = 8 * 1024 * 1024
ROWS_OF_A_TABLE = 1024 * 1024
"""The same where all batches are kept, so that larger ones take no more memory."""

FIRST_BATCH_ROWS = 16 * 1024
"""A query that wants a few rows gets them from a small batch."""

MAX_BATCH_BYTES = 32 * 1024 * 1024
"""Batches of wide rows are shortened to about this much Arrow data."""

LARGEST_BATCH_BYTES = 1024 * 1024 * 1024
"""What a caller's own batch size may lead to; Arrow's 32-bit offsets end at twice that."""

ROWS_PER_RANGE = 8
"""Survivors that lie in shorter runs than this, on average over the batch, are found cheaper by decoding everything."""

PAGE_ROWS = 32 * 1024
"""Batches respect the borders of pages of at least so many rows."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of one fragment."""

    fragment: FragmentRows
    rows: RowRanges


def split(
    plan: ScanPlan, fragments: tuple[FragmentScan, ...], batch_rows: int | None, *, keeps_all: bool = False
) -> Iterator[Batch]:
    """The batches of `fragments`, in scan order; at most `batch_rows` rows each.

    keeps_all: the consumer keeps every batch
    """
    small_first = batch_rows is None and not keeps_all
    for each in fragments:
        fragment = plan.open(each)
        most = rows_per_batch(fragment, plan.fields, batch_rows, keeps_all=keeps_all)
        borders = _page_borders(fragment, plan.fields)
        for rows in _cut(each.rows, most, borders, min(most, FIRST_BATCH_ROWS) if small_first else most):
            yield Batch(fragment, rows)
        small_first = False


def read(plan: ScanPlan, batch: Batch) -> pa.RecordBatch | None:
    """The rows of the batch that pass the residual filter; None when there are none."""
    fragment, rows = batch.fragment, batch.rows
    if plan.residual is None:
        return _assemble(plan, fragment, rows, {})
    fields, system = plan.filter_fields, plan.filter_system_columns
    arrays = fragment.read(fields, rows) if fields else []
    arrays += [system_columns.read(name, fragment, rows) for name in system]
    names = [field.name for field in fields] + system
    mask = evaluate(plan.residual, record_batch(arrays, names, row_ranges.count(rows)))
    passed = true_ranges(mask)
    num_passed, num_rows = row_ranges.count(passed), row_ranges.count(rows)
    if num_passed == 0:
        return None
    known = dict(zip(fields, arrays, strict=False))
    if num_passed == num_rows:
        return _assemble(plan, fragment, rows, known)
    if len(passed) * ROWS_PER_RANGE > num_rows:
        return row_choice.filter(_assemble(plan, fragment, rows, known), mask)
    wanted = {column.field for column in plan.columns}
    known = {field: row_choice.filter_array(array, mask) for field, array in known.items() if field in wanted}
    return _assemble(plan, fragment, row_ranges.compose(rows, passed), known)


def _assemble(plan: ScanPlan, fragment: FragmentRows, rows: RowRanges, known: dict[Field, pa.Array]) -> pa.RecordBatch:
    """The projected columns for `rows`; `known` holds the fields that have been read."""
    missing = [column.field for column in plan.columns if column.field is not None and column.field not in known]
    missing = list(dict.fromkeys(missing))
    if missing:
        known = known | dict(zip(missing, fragment.read(missing, rows), strict=True))
    arrays = [
        column.extract(known[column.field])
        if column.field is not None
        else system_columns.read(column.name, fragment, rows)
        for column in plan.columns
    ]
    for column, array in zip(plan.columns, arrays, strict=True):
        if not column.arrow.nullable and array.null_count:
            with at(column=column.name):
                raise CorruptFile("NULL in a column that has none by the table's schema")
    return record_batch(arrays, [column.arrow for column in plan.columns], row_ranges.count(rows))


def record_batch(arrays: list[pa.Array], fields: list[pa.Field] | list[str], num_rows: int) -> pa.RecordBatch:
    """A batch of `num_rows` rows, even without columns."""
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), num_rows, [None]))
    if isinstance(fields[0], str):
        return pa.RecordBatch.from_arrays(arrays, fields)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _cut(rows: RowRanges, most: int, borders: npt.NDArray[np.int64], first: int) -> Iterator[RowRanges]:
    total = row_ranges.count(rows)
    if total <= first:
        yield rows
        return
    # borders as numbers of selected rows before them
    lengths = rows[:, 1] - rows[:, 0]
    before = np.cumsum(lengths) - lengths
    at = np.searchsorted(rows[:, 0], borders, side="right") - 1
    inside = at >= 0
    at = np.maximum(at, 0)
    positions = np.where(inside, before[at] + np.minimum(borders - rows[at, 0], lengths[at]), 0)
    start = 0
    while start < total:
        end = min(start + first, total)
        near = positions[(positions > start + first // 4) & (positions <= end)]
        if len(near) and end < total:
            end = int(near[-1])
        yield row_ranges.compose(rows, row_ranges.single(start, end))
        start, first = end, most


def _page_borders(fragment: FragmentRows, fields: list[Field]) -> npt.NDArray[np.int64]:
    borders: set[int] = set()
    for field in fields:
        for column in fragment.columns_of(field):
            starts = column.row_starts
            if column.is_flat and starts[-1] > PAGE_ROWS * (len(starts) - 1):
                borders.update(starts[1:-1].tolist())
    return np.array(sorted(borders), np.int64)


def rows_per_batch(
    fragment: FragmentRows, fields: list[Field], wanted: int | None = None, *, keeps_all: bool = False
) -> int:
    """How many rows a batch of these fields has at the most: as many as wanted, unless rows are huge."""
    row_bytes = sum(column.row_bytes for field in fields for column in fragment.columns_of(field))
    row_bytes = max(row_bytes, 0.125)
    if wanted is not None:
        return max(1, min(wanted, int(LARGEST_BATCH_BYTES / row_bytes)))
    num_bytes, num_rows = (BYTES_OF_A_TABLE, ROWS_OF_A_TABLE) if keeps_all else (BATCH_BYTES, MAX_BATCH_ROWS)
    most = min(num_rows, max(BATCH_ROWS, int(num_bytes / row_bytes)))
    return max(1, min(most, int(MAX_BATCH_BYTES / row_bytes)))


def cut(rows: RowRanges, most: int) -> Iterator[RowRanges]:
    """The rows in pieces of at most `most` rows."""
    total = row_ranges.count(rows)
    for start in range(0, total, most):
        yield row_ranges.compose(rows, row_ranges.single(start, min(start + most, total)))
