"""Matching of rows of a table with rows of a source by key.

Keys are compared by the rules of `values.keys`. NULL is equal to nothing, not even to another NULL, unless requested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.key_filter import MAX_KEYS, KeyFilter, can_be_filtered
from lance_sql.reads.scan.scanning import row_ids_at, scan, scanning, watched
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import keys
from lance_sql.values.arrays import I64, U64
from lance_sql.values.coalesce import gathered

MAX_LISTED_KEYS: Final = 4096
"""Limit of keys that are looked up one by one in page statistics and indices; for more, only their range is used."""

MAX_TESTED_KEYS: Final = 16
"""Limit of keys that are tested in each row."""

MIN_PART_ROWS: Final = 1024 * 1024
"""Minimum number of rows of the table that are matched at a time, unless the source has more."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of rows with equal keys, in the table's scan order.

    addresses, ids: of the table's rows
    source: the matching row of the source for each
    unmatched: rows of the source without a match, ascending
    """

    addresses: U64
    ids: U64
    source: I64
    unmatched: I64


def match(
    snapshot: Snapshot, source: pa.Table, on: Sequence[str], *, one_each: bool = True, nulls_are_equal: bool = False
) -> Matches:
    """Matches the rows of a version with the rows of `source`.

    on: key columns, which both have
    one_each: a row may be matched by one row of the source only
    nulls_are_equal: compare NULL like other keys
    raises: InvalidArgument if two rows of the source match one row, and for keys that `values.keys` refuses
    """
    for name in on:
        keys.check(name, source.schema.field(name).type, is_json=snapshot.manifest.schema.is_json(name))
    first = source.column(on[0])
    with_nulls = nulls_are_equal and first.null_count > 0
    addresses, source_rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    candidates = _candidates(snapshot, first, on, with_nulls=with_nulls)
    if can_be_filtered(first.type) and len(first) <= MAX_KEYS and not with_nulls:
        candidates = KeyFilter(first).over(candidates, on[0])
    wanted = keys.columns_of(source, on)
    for part in gathered(candidates, min_rows=max(MIN_PART_ROWS, source.num_rows)):
        sides = [wanted, keys.columns_of(part, on)]
        matching, rows = keys.pairs(*keys.numbered(sides, nulls_are_equal=nulls_are_equal))
        twice = np.flatnonzero(rows[1:] == rows[:-1])
        if one_each and len(twice):
            row = source.slice(int(matching[twice[0]]), 1).select(list(on)).to_pylist()[0]
            raise InvalidArgument(f"Two rows of the source match one row of {snapshot.name}: {row}. Keep one of them")
        addresses.append(part.column(ROW_ADDRESS).take(pa.array(rows)).to_numpy())
        source_rows.append(matching)
    matched = np.concatenate(source_rows)
    is_unmatched = np.ones(source.num_rows, np.bool_)
    is_unmatched[matched] = False
    matched_addresses = np.concatenate(addresses)
    return Matches(matched_addresses, row_ids_at(snapshot, matched_addresses), matched, np.flatnonzero(is_unmatched))


def _candidates(
    snapshot: Snapshot, column: pa.ChunkedArray, on: Sequence[str], *, with_nulls: bool
) -> Iterator[pa.RecordBatch]:
    """Yields the keys and addresses of rows of the table, including all that match.

    column: the first column of the keys
    with_nulls: NULL matches
    """
    columns = [*on, ROW_ADDRESS]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    type = column.type
    if column.null_count == len(column):
        return scan(snapshot, columns, pc.field(on[0]).is_null()) if with_nulls else iter(())
    if not _is_ordered(type):
        return scan(snapshot, columns, None)
    field = pc.field(on[0])
    # Arrow cannot compute min/max of durations
    bounds = pc.min_max(column.cast(pa.int64()) if pa.types.is_duration(type) else column)
    within = (field >= bounds["min"].cast(type)) & (field <= bounds["max"].cast(type))
    if with_nulls:
        within = within | field.is_null()
    if len(column) > MAX_LISTED_KEYS:
        return scan(snapshot, columns, within)
    among = field.isin(column.unique().drop_null())
    listed = scanning(snapshot, columns, among | field.is_null() if with_nulls else among)
    if len(column) <= MAX_TESTED_KEYS or pa.types.is_boolean(type):
        return watched(snapshot, listed.to_reader())
    # planning prunes fragments and pages without any of the keys; testing each row for many keys takes longer than
    # a join
    return watched(snapshot, scanning(snapshot, columns, within).task(listed.plan.fragments()).to_reader())


def _is_ordered(type: pa.DataType) -> bool:
    """Whether a filter compares values of a type like keys. Filters have no constants of extension types, and NaN
    is outside all bounds."""
    return not (isinstance(type, pa.BaseExtensionType) or pa.types.is_floating(type))
