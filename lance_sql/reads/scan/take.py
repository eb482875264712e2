"""Taking rows by their ids, or by their addresses."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import index
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.schema import Schema
from lance_sql.reads.scan import lineage, read_ahead, read_shape
from lance_sql.reads.scan.batches import (
    FEW_ROWS,
    FIRST_BATCH_ROWS,
    LARGEST_BATCH_BYTES,
    are_small,
    grouped,
    longest,
    rows_per_batch,
    stored_bytes,
)
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.pieces import Batch, Piece, cut
from lance_sql.reads.scan.plan import MAX_PREFETCHED, ReadPlan
from lance_sql.reads.scan.projection import Columns, OutputColumn
from lance_sql.reads.scan.read_batch import read, record_batch
from lance_sql.runtime import observing
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
    table, missing = _taken(snapshot, columns, wanted, _by_ids)
    if len(missing):
        shown = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
        raise InvalidArgument(f"{snapshot.label} has no rows with the row ids {shown}")
    return table


def take_at(snapshot: Snapshot, columns: Sequence[OutputColumn], addresses: U64) -> pa.Table:
    """Returns the live rows at these addresses, in that order; addresses may be repeated.

    raises: InvalidArgument for an address without a live row
    """
    table, missing = _taken(snapshot, columns, addresses, _by_addresses)
    if len(missing):
        raise InvalidArgument(f"{snapshot.label} has no row at the address {missing[0]}")
    return table


def arrays_at(snapshot: Snapshot, columns: Sequence[OutputColumn], addresses: U64) -> list[pa.Array]:
    """Returns the columns of `take_at`, each as one array."""
    taken = take_at(snapshot, columns, addresses).columns if columns else ()
    return [each.chunk(0) if each.num_chunks == 1 else pa.concat_arrays(each.chunks) for each in taken]


_Located = Iterator[tuple[OpenFragment, I64, I64]]


def _by_ids(plan: ReadPlan, snapshot: Snapshot, wanted: U64) -> _Located:
    """Yields fragments with some of the rows: the indices in `wanted`, and the offsets."""
    for fragment in _opened(plan, snapshot, lineage.with_row_ids(Candidates.all_of(snapshot), wanted)):
        yield fragment, *fragment.row_id_sequence.positions(wanted)


def _by_addresses(plan: ReadPlan, snapshot: Snapshot, wanted: U64) -> _Located:
    ids = wanted >> np.uint64(32)
    offsets = (wanted & np.uint64(2**32 - 1)).astype(np.int64)
    index_of = snapshot.manifest.fragments.index_of
    existing = np.array([index_of[number] for number in np.unique(ids).tolist() if number in index_of], np.int64)
    for fragment in _opened(plan, snapshot, existing):
        index = (ids == fragment.fragment.id).nonzero()[0]
        yield fragment, index, offsets[index]


def _opened(plan: ReadPlan, snapshot: Snapshot, fragment_indices: I64) -> Iterator[OpenFragment]:
    """Yields the open fragments; files of remote ones are opened together."""
    fields = frozenset(Schema(plan.fields).by_id) if plan.fragments.concurrency > 1 else frozenset()
    fragments = snapshot.manifest.fragments
    for start in range(0, len(fragment_indices), MAX_PREFETCHED):
        some = [fragments[index] for index in fragment_indices[start : start + MAX_PREFETCHED].tolist()]
        plan.fragments.prefetch(some, fields)
        yield from map(plan.open, some)


def _taken(
    snapshot: Snapshot, columns: Sequence[OutputColumn], wanted: U64, locate: Callable[..., _Located]
) -> tuple[pa.Table, U64]:
    """Returns the rows in the order of `wanted`, and the missing ones of `wanted`: then there is no table."""
    watch = observing.begin("take")
    if watch is None:
        return _read(snapshot, columns, wanted, locate)
    with watch:
        watch.note(table=snapshot.store.uri, version=snapshot.version, columns=[column.name for column in columns])
        watch.note(rows=len(wanted))
        return _read(snapshot, columns, wanted, locate)


def _read(
    snapshot: Snapshot, columns: Sequence[OutputColumn], wanted: U64, locate: Callable[..., _Located]
) -> tuple[pa.Table, U64]:
    plan = ReadPlan(snapshot.open_fragments, Columns.of(columns), None, (), ())
    order = np.full(len(wanted), -1, np.int64)
    waits = plan.fragments.concurrency > 1

    def pieces() -> Iterator[Piece]:
        num_rows = most_bytes = 0
        for fragment, every_index, every_offset in locate(plan, snapshot, wanted):
            live = row_ranges.within(fragment.live_rows(), every_offset) if len(every_offset) else np.empty(0, np.bool_)
            index, offsets = every_index[live], every_offset[live]
            if len(offsets) == 0:
                continue
            distinct, ranks = np.unique(offsets, return_inverse=True)
            order[index] = num_rows + ranks
            num_rows += len(distinct)
            rows = row_ranges.from_sorted(distinct)
            if are_small(plan, fragment.fragment, len(distinct)):
                # a few rows of several local fragments are read together
                most_bytes += longest(stored_bytes(fragment.fragment), len(distinct))
                is_few = not waits and len(distinct) <= FEW_ROWS and most_bytes <= LARGEST_BATCH_BYTES
                most_bytes = most_bytes if is_few else 0
                yield Piece(fragment, rows, is_few=is_few)
                continue
            for part in cut(rows, rows_per_batch(read_shape.of(plan, fragment).row_bytes)):
                yield Piece(fragment, part)

    batches = grouped(pieces()) if plan.can_join else ([piece] for piece in pieces())
    taken = [batch for batch in _read_batches(plan, batches, len(wanted)) if batch is not None]
    missing = wanted[order < 0]
    if not columns:
        return pa.Table.from_batches([record_batch([], [], len(wanted))]), missing
    table = pa.Table.from_batches(taken, pa.schema([column.arrow for column in columns]))
    return (_in_order(table, order) if len(wanted) and len(missing) == 0 else table), missing


def _read_batches(plan: ReadPlan, batches: Iterable[Batch], num_rows: int) -> Iterator[pa.RecordBatch | None]:
    """Reads batches in order, those of local tables in this thread."""
    if plan.fragments.concurrency <= 1 and num_rows <= FIRST_BATCH_ROWS:
        with read_ahead.consumers:
            yield from [read(plan, batch) for batch in batches]
        return
    waits = plan.fragments.concurrency > 1
    yield from read_ahead.ordered(
        batches, partial(read, plan), keeps_all=True, waits=waits, is_light=lambda _: not waits
    )


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
    plan = ReadPlan(snapshot.open_fragments, Columns.of(columns), None, (), ())
    row_bytes = 0.0
    if columns:
        located = (_by_addresses if by_address else _by_ids)(plan, snapshot, wanted)
        row_bytes = max((_row_bytes(plan, fragment, len(wanted)) for fragment, _, _ in located), default=0.0)
    most = max(1, min(MAX_PART_ROWS, int(MAX_PART_BYTES / max(row_bytes + more_bytes, 1))))
    return (slice(start, start + most) for start in range(0, len(wanted), most))


def _row_bytes(plan: ReadPlan, fragment: OpenFragment, num_rows: int) -> float:
    """Returns the approximate Arrow bytes of a row; of few rows an upper bound, which opens no column."""
    stored = stored_bytes(fragment.fragment)
    # no value is longer than its file
    is_bound = not plan.has_blobs and 0 < stored * num_rows <= MAX_PART_BYTES
    return stored if is_bound else read_shape.of(plan, fragment).row_bytes


def _in_order(table: pa.Table, order: I64) -> pa.Table:
    """Returns the rows of the table at the positions `order`."""
    if len(order) == table.num_rows and np.array_equal(order, np.arange(len(order))):
        return table
    try:
        return selection.take(table, pa.array(order))
    except pa.ArrowInvalid:
        # dictionaries of several fragments may exceed one index type: a chunk for each change of them
        batches = table.to_batches()
        ends = np.cumsum([batch.num_rows for batch in batches])
        owners = ends.searchsorted(order, side="right")
        edges = [0, *(np.diff(owners).nonzero()[0] + 1).tolist(), len(order)]
        chunks = []
        for start, end in pairwise(edges):
            batch = batches[owners[start]]
            first = int(ends[owners[start]]) - batch.num_rows
            chunks.append(selection.take(batch, pa.array(order[start:end] - first)))
        return pa.Table.from_batches(chunks, table.schema)
