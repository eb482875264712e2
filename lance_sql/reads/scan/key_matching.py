"""Which rows of a table have the keys of which rows of a source.

Keys are compared as `values.keys` has it. NULL is equal to nothing, not even to another NULL, unless that is asked for.
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
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.coalesce import gathered

MAX_LISTED_KEYS: Final = 4096
"""Of up to so many keys each is looked for in what is known of pages, and in indices; of more, only their range."""

MAX_TESTED_KEYS: Final = 16
"""Up to so many keys are looked for in each row."""

MIN_PART_ROWS: Final = 1024 * 1024
"""At least so many rows of the table, or as many as the source has, are matched at a time."""


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of rows with equal keys, in the table's scan order.

    addresses, ids: of the table's rows
    source: the row of the source for each
    unmatched: rows of the source that are in no pair, ascending
    """

    addresses: U64
    ids: U64
    source: I64
    unmatched: I64

    def only(self, chosen: BoolMask) -> Matches:
        """Some of the pairs."""
        return Matches(self.addresses[chosen], self.ids[chosen], self.source[chosen], self.unmatched)


def match(
    snapshot: Snapshot, source: pa.Table, on: Sequence[str], *, one_each: bool = True, nulls_are_equal: bool = False
) -> Matches:
    """The rows of a version that the rows of `source` match.

    on: key columns, which both have
    one_each: a row may be matched by one row of the source only
    nulls_are_equal: NULL is a key like others
    raises: InvalidArgument when two rows of the source match one row, and for keys that `values.keys` refuses
    """
    for name in on:
        keys.check(name, source.schema.field(name).type)
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
            raise InvalidArgument(f"Two rows of the source match one row of {snapshot.name}: {row}")
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
    """The keys and addresses of rows of the table, among which all are that match.

    column: the first column of the keys
    with_nulls: NULL is one of them
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
    # Arrow finds no least duration
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
    # planning leaves out what has none of the keys; to look for many of them in each row takes longer than a join
    return watched(snapshot, scanning(snapshot, columns, within).task(listed.plan.fragments()).to_reader())


def _is_ordered(type: pa.DataType) -> bool:
    """Whether a filter compares values of a type as keys are compared: it has no constants of extension types, and
    NaN is not within bounds."""
    return not (isinstance(type, pa.BaseExtensionType) or pa.types.is_floating(type))
