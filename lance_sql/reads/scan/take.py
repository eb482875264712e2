"""Taking rows by their ids, or by their addresses."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import index
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan import lineage, read_shape
from lance_sql.reads.scan.batches import Piece, cut, rows_per_batch
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.read_batch import read, record_batch
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges, selection
from lance_sql.values.arrays import I64, U64

MAX_PART_ROWS: Final = 128 * 1024
MAX_PART_BYTES: Final = 32 * 1024 * 1024
"""Upper bounds for one part: rows and bytes."""


def row_id_array(values: Iterable[int] | pa.Array | pa.ChunkedArray) -> U64:
    """Returns row ids of the user.

    raises: InvalidArgument for values that are not integers from 0 to 2^64 - 1
    """
    try:
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            array = values.cast(pa.uint64())
        else:
            # index() rejects values that would be rounded
            array = pa.array([index(value) for value in values], pa.uint64())
    except (OverflowError, TypeError, pa.ArrowException) as error:
        raise InvalidArgument(f"Row ids are integers from 0 to 2^64 - 1: {error}") from error
    if array.null_count:
        raise InvalidArgument("Row ids are integers from 0 to 2^64 - 1; NULL is not one")
    ids: U64 = array.to_numpy()
    return ids


def take(snapshot: Snapshot, columns: Sequence[OutputColumn], wanted: U64) -> pa.Table:
    """Returns the live rows with the ids `wanted`, in that order; ids may be repeated.

    raises: InvalidArgument for an id without a live row
    """
    table, missing = _taken(snapshot, columns, wanted, _by_ids(snapshot, wanted))
    if len(missing):
        shown = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
        raise InvalidArgument(f"{snapshot.label} has no rows with the row ids {shown}")
    return table


def take_at(snapshot: Snapshot, columns: Sequence[OutputColumn], addresses: U64) -> pa.Table:
    """Returns the live rows at these addresses, in that order; addresses may be repeated.

    raises: InvalidArgument for an address without a live row
    """
    table, missing = _taken(snapshot, columns, addresses, _by_addresses(snapshot, addresses))
    if len(missing):
        raise InvalidArgument(f"{snapshot.label} has no row at the address {missing[0]}")
    return table


_Located = Iterator[tuple[OpenFragment, I64, I64]]


def _by_ids(snapshot: Snapshot, wanted: U64) -> _Located:
    """Yields fragments with some of the rows: the indices in `wanted`, and the offsets."""
    for fragment_index in lineage.with_row_ids(Candidates.all_of(snapshot), wanted).tolist():
        fragment = snapshot.open(snapshot.manifest.fragments[fragment_index])
        yield fragment, *fragment.row_id_sequence.positions(wanted)


def _by_addresses(snapshot: Snapshot, wanted: U64) -> _Located:
    ids = wanted >> np.uint64(32)
    offsets = (wanted & np.uint64(2**32 - 1)).astype(np.int64)
    fragments = snapshot.manifest.fragments
    for number in np.unique(ids).tolist():
        if number in fragments.index_of:
            index = np.flatnonzero(ids == number)
            yield snapshot.open(fragments[fragments.index_of[number]]), index, offsets[index]


def _taken(snapshot: Snapshot, columns: Sequence[OutputColumn], wanted: U64, located: _Located) -> tuple[pa.Table, U64]:
    """Returns the rows in the order of `wanted`, and the missing ones of `wanted`: then there is no table."""
    plan = ReadPlan(snapshot.open_fragments, tuple(columns), None, (), ())
    schema = pa.schema([column.arrow for column in columns])
    order = np.full(len(wanted), -1, np.int64)
    parts: list[pa.RecordBatch] = []
    num_rows = 0
    for fragment, every_index, every_offset in located:
        live = row_ranges.within(fragment.live_rows(), every_offset) if len(every_offset) else np.empty(0, np.bool_)
        index, offsets = every_index[live], every_offset[live]
        if len(offsets) == 0:
            continue
        distinct, ranks = np.unique(offsets, return_inverse=True)
        order[index] = num_rows + ranks
        num_rows += len(distinct)
        for rows in cut(row_ranges.from_sorted(distinct), rows_per_batch(read_shape.of(plan, fragment).row_bytes)):
            batch = read(plan, [Piece(fragment, rows)])
            assert batch is not None
            parts.append(batch)
    missing = wanted[order < 0]
    if not columns:
        return pa.Table.from_batches([record_batch([], [], len(wanted))]), missing
    table = pa.Table.from_batches(parts, schema)
    return (_in_order(table, order) if len(wanted) and len(missing) == 0 else table), missing


def parts(
    snapshot: Snapshot,
    columns: Sequence[OutputColumn],
    wanted: U64,
    *,
    more_bytes: float = 0.0,
    by_address: bool = False,
) -> Iterator[slice]:
    """Yields the slices of rows to take together, each within a memory limit.

    wanted: the ids of the rows, in the order of taking
    more_bytes: approximate additional memory per row
    by_address: `wanted` are addresses
    """
    plan = ReadPlan(snapshot.open_fragments, tuple(columns), None, (), ())
    row_bytes = 0.0
    if columns:
        located = (_by_addresses if by_address else _by_ids)(snapshot, wanted)
        fragments = (fragment for fragment, _, _ in located)
        row_bytes = max((read_shape.of(plan, fragment).row_bytes for fragment in fragments), default=0.0)
    most = max(1, min(MAX_PART_ROWS, int(MAX_PART_BYTES / max(row_bytes + more_bytes, 1))))
    return (slice(start, start + most) for start in range(0, len(wanted), most))


def _in_order(table: pa.Table, order: I64) -> pa.Table:
    """Returns the rows of the table at the positions `order`."""
    try:
        return selection.take(table, pa.array(order))
    except pa.ArrowInvalid:
        # dictionaries of several fragments may exceed one index type: a chunk for each change of them
        batches = table.to_batches()
        ends = np.cumsum([batch.num_rows for batch in batches])
        owners = np.searchsorted(ends, order, side="right")
        edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(order)]
        chunks = []
        for start, end in pairwise(edges):
            batch = batches[owners[start]]
            first = int(ends[owners[start]]) - batch.num_rows
            chunks.append(selection.take(batch, pa.array(order[start:end] - first)))
        return pa.Table.from_batches(chunks, table.schema)
