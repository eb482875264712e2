"""Rows by their ids."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_choice, row_ranges
from lance_sql.errors import InvalidArgument
from lance_sql.scan.batches import Batch, cut, read, record_batch, rows_per_batch
from lance_sql.scan.fragments import FragmentRows
from lance_sql.scan.open_files import OpenFiles
from lance_sql.scan.plan import ScanPlan
from lance_sql.scan.projection import OutputColumn


def take(files: OpenFiles, columns: Sequence[OutputColumn], wanted: npt.NDArray[np.uint64]) -> pa.Table:
    """The live rows with the ids `wanted`, in that order; an id may be wanted twice.

    raises: InvalidArgument for an id that no live row has
    """
    plan = ScanPlan(files, tuple(columns), (), (), None, None)
    schema = pa.schema([column.arrow for column in columns])
    order = np.full(len(wanted), -1, np.int64)
    parts: list[pa.RecordBatch] = []
    num_rows = 0
    for manifest_fragment in files.snapshot.manifest.fragments:
        fragment = FragmentRows(files, manifest_fragment)
        index, offsets = fragment.row_id_sequence().positions(wanted)
        live = row_ranges.within(fragment.live_rows(), offsets) if len(offsets) else np.empty(0, np.bool_)
        index, offsets = index[live], offsets[live]
        if len(offsets) == 0:
            continue
        distinct, place = np.unique(offsets, return_inverse=True)
        order[index] = num_rows + place
        num_rows += len(distinct)
        for rows in cut(row_ranges.from_sorted(distinct), rows_per_batch(fragment, plan.fields)):
            batch = read(plan, Batch(fragment, rows))
            assert batch is not None
            parts.append(batch)
    missing = wanted[order < 0]
    if len(missing):
        shown = ", ".join(map(str, missing[:5].tolist())) + (", ..." if len(missing) > 5 else "")
        raise InvalidArgument(f"{files.snapshot.label} has no rows with the row ids {shown}")
    if not columns:
        return pa.Table.from_batches([record_batch([], [], len(wanted))])
    table = pa.Table.from_batches(parts, schema)
    return _in_order(table, order) if len(wanted) else table


def _in_order(table: pa.Table, order: npt.NDArray[np.int64]) -> pa.Table:
    """The rows of the table at the positions `order`."""
    try:
        return row_choice.take(table, pa.array(order))
    except pa.ArrowInvalid:
        # dictionaries of several fragments may be more than one index type can count: a chunk for each change of them
        batches = table.to_batches()
        ends = np.cumsum([batch.num_rows for batch in batches])
        owners = np.searchsorted(ends, order, side="right")
        edges = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(order)]
        chunks = []
        for start, end in pairwise(edges):
            batch = batches[owners[start]]
            first = int(ends[owners[start]]) - batch.num_rows
            chunks.append(row_choice.take(batch, pa.array(order[start:end] - first)))
        return pa.Table.from_batches(chunks, table.schema)
