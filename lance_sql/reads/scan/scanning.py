"""Reading the rows that a change affects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from lance_sql.reads.scan.filters import Filter, to_predicate
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.reads.scan.projection import OutputColumn, resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.runtime import progress
from lance_sql.table.fragment import Fragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64
from lance_sql.values.bitmaps import U64Set

_OFFSET = np.uint64(2**32 - 1)
"""Mask of the offset in the fragment in an address."""


def scan(snapshot: Snapshot, columns: Sequence[str], filter: Filter | None = None) -> Iterator[pa.RecordBatch]:
    """Yields the rows that match the filter, in scan order.

    raises: as `Dataset.scan`
    """
    return watched(snapshot, scanning(snapshot, columns, filter).to_reader())


def scanning(snapshot: Snapshot, columns: Sequence[str], filter: Filter | None = None) -> Scan:
    """Returns the scan of these rows.

    raises: as `Dataset.scan`
    """
    return Scan(snapshot, resolve(snapshot, columns), to_predicate(snapshot, filter), None, None)


def read_fragments(
    snapshot: Snapshot, columns: Sequence[str] | None, fragments: Sequence[Fragment]
) -> pa.RecordBatchReader:
    """Returns the live rows of some fragments, in their order.

    columns: all columns of the table without it
    """
    return read_columns(snapshot, resolve(snapshot, columns), fragments)


def read_columns(
    snapshot: Snapshot, columns: Sequence[OutputColumn], fragments: Sequence[Fragment]
) -> pa.RecordBatchReader:
    """Returns resolved columns of the live rows of some fragments, in their order."""
    whole = (FragmentScan(each, row_ranges.single(0, snapshot.open(each).num_rows)) for each in fragments)
    return Scan(snapshot, tuple(columns), None, None, None).task(whole).to_reader()


def addresses(snapshot: Snapshot, filter: Filter | None) -> U64Set:
    """Returns the addresses of the rows that match the filter.

    raises: as `scan`; CorruptFile if the manifest claims rows that are in no data file, which a filter without
        columns would count as rows
    """
    checked: set[int] = set()

    def parts() -> Iterator[U64Set]:
        for batch in scan(snapshot, [ROW_ADDRESS], filter):
            # at the first rows of a fragment, before rows that are in no file accumulate
            passing = U64Set.of(numbers(batch, ROW_ADDRESS))
            ids = passing.parts.keys() - checked
            for fragment in snapshot.manifest.fragments.by_id(ids).values() if ids else ():
                snapshot.open(fragment).check_num_rows()
            checked.update(ids)
            yield passing

    return U64Set.union(parts())


def watched(snapshot: Snapshot, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the same rows, and reports progress by their addresses."""
    return _watched(snapshot, batches) if progress.is_asked_for() else iter(batches)


def _watched(snapshot: Snapshot, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = [(fragment.id, snapshot.open(fragment).num_rows) for fragment in snapshot.manifest.fragments]
    work = progress.Work(sum(count for _, count in rows))
    ends = dict(zip((number for number, _ in rows), accumulate(count for _, count in rows), strict=True))
    starts = {number: ends[number] - count for number, count in rows}
    for batch in batches:
        yield batch
        if batch.num_rows and ROW_ADDRESS in batch.schema.names:
            last = batch.column(ROW_ADDRESS)[-1].as_py()
            work.reach(starts[last >> 32] + (last & int(_OFFSET)) + 1)
    work.reach(ends[rows[-1][0]] if rows else 0)


def row_ids_at(snapshot: Snapshot, addresses: U64) -> U64:
    """Returns the ids of rows, which are their addresses in tables without stable row ids.

    addresses: grouped by fragment
    """
    if not snapshot.manifest.has_stable_row_ids or not len(addresses):
        return addresses
    numbers = addresses >> np.uint64(32)
    starts = [0, *(np.flatnonzero(numbers[1:] != numbers[:-1]) + 1).tolist()]
    ids = [int(numbers[start]) for start in starts]
    fragments = snapshot.manifest.fragments.by_id(set(ids))
    parts = np.split(addresses, starts[1:])
    return np.concatenate(
        [
            snapshot.open(fragments[number]).row_id_sequence.take((part & _OFFSET).astype(np.int64))
            for number, part in zip(ids, parts, strict=True)
        ]
    )


def numbers(batch: pa.RecordBatch | pa.Table, name: str) -> U64:
    """Copies a system column of a batch: a view would keep the other columns in memory."""
    values: U64 = np.array(batch.column(name).to_numpy())
    return values
