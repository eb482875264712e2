"""Which rows of a table have the keys of which rows of a source.

Keys are compared as SQL compares them: a NULL is equal to nothing, not even to another NULL, unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.reads.scan.key_filter import MAX_KEYS, KeyFilter, can_be_filtered
from lance_sql.reads.scan.scanning import row_ids_at, scan, scanning, watched
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.coalesce import gathered

MAX_LISTED_KEYS: Final = 4096
"""Of up to so many keys each is looked for in what is known of pages, and in indices; of more, only their range."""

MAX_TESTED_KEYS: Final = 16
"""Up to so many keys are looked for in each row."""

MIN_PART_ROWS: Final = 1024 * 1024
"""At least so many rows of the table, or as many as the source has, are matched at a time."""

_SOURCE_ROW = "__source_row"
_TARGET_ROW = "__target_row"
_IS_NULL = "__is_null_"


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
    raises: InvalidArgument when two rows of the source match one row; UnsupportedFeature for keys of other types than
        numbers without fractions, text, bytes, booleans, dates and times
    """
    for name in on:
        _check_type(source.schema.field(name))
    source_keys = _plain(source.select(list(on)))
    joined = list(on)
    nullable = [name for name in on if source_keys.column(name).null_count] if nulls_are_equal else []
    if nullable:
        joined += [f"{_IS_NULL}{name}" for name in nullable]
    keys = _with_nulls_as_values(source_keys, nullable)
    wanted = keys.append_column(_SOURCE_ROW, pa.array(np.arange(source.num_rows)))
    addresses, source_rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    candidates = _candidates(snapshot, source_keys, on, with_nulls=on[0] in nullable)
    first = source_keys.column(on[0])
    if can_be_filtered(first.type) and len(first) <= MAX_KEYS and on[0] not in nullable:
        candidates = KeyFilter(first).over(candidates, on[0])
    for part in gathered(candidates, min_rows=max(MIN_PART_ROWS, source.num_rows)):
        plain = _plain(part.select(list(on)))
        target = _with_nulls_as_values(plain.cast(keys.select(list(on)).schema), nullable)
        target = target.append_column(_TARGET_ROW, pa.array(np.arange(part.num_rows)))
        pairs = target.join(wanted, keys=joined, join_type="inner", use_threads=False)
        rows, matching = pairs.column(_TARGET_ROW).to_numpy(), pairs.column(_SOURCE_ROW).to_numpy()
        if not (rows[1:] > rows[:-1]).all():
            order = np.argsort(rows, kind="stable")
            rows, matching = rows[order], matching[order]
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


def _candidates(snapshot: Snapshot, keys: pa.Table, on: Sequence[str], *, with_nulls: bool) -> Iterator[pa.RecordBatch]:
    """The keys and addresses of rows of the table, among which all are that match.

    with_nulls: NULL of the first column is one of its keys
    """
    column = keys.column(on[0])
    type = column.type
    field = pc.field(on[0])
    columns = [*on, ROW_ADDRESS]
    # Arrow finds no least duration
    bounds = pc.min_max(column.cast(pa.int64()) if pa.types.is_duration(type) else column)
    if not bounds["min"].is_valid:
        return scan(snapshot, columns, field.is_null()) if with_nulls else iter(())
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


def _with_nulls_as_values(keys: pa.Table, nullable: Sequence[str]) -> pa.Table:
    """The keys with a value of their own in the place of NULL, and for each of these columns one that says so."""
    for name in nullable:
        column, index = keys.column(name), keys.schema.get_field_index(name)
        keys = keys.append_column(f"{_IS_NULL}{name}", column.is_null())
        # which value does not matter, only that it is always the same
        keys = keys.set_column(index, name, column.fill_null(_any_value(column.type)))
    return keys


def _any_value(type: pa.DataType) -> pa.Scalar:
    if pa.types.is_fixed_size_binary(type):
        return pa.scalar(bytes(type.byte_width), type)
    if pa.types.is_binary(type) or pa.types.is_large_binary(type):
        return pa.scalar(b"", type)
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        return pa.scalar("", type)
    if pa.types.is_boolean(type):
        return pa.scalar(False, type)
    if pa.types.is_decimal(type):
        return pa.scalar(Decimal(0), type)
    # of a date or a time of 32 bits Arrow makes no cast from 64
    return pa.scalar(0, pa.int32() if type.bit_width == 32 else pa.int64()).cast(type)


def _plain(keys: pa.Table) -> pa.Table:
    """The keys in types that Arrow joins on, without dictionaries."""
    for i, field in enumerate(keys.schema):
        column, type = keys.column(i), field.type
        if pa.types.is_dictionary(type):
            column, type = column.cast(type.value_type), type.value_type
        keys = keys.set_column(i, field.name, column)
    return keys


def can_be_matched(type: pa.DataType) -> bool:
    """Whether rows are matched by keys of a type."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    allowed = (
        pa.types.is_integer,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_boolean,
        pa.types.is_temporal,
        pa.types.is_decimal,
    )
    return not pa.types.is_interval(type) and any(test(type) for test in allowed)


def _check_type(field: pa.Field) -> None:
    if not can_be_matched(field.type):
        raise UnsupportedFeature(
            f"Column {field.name!r} of type {field.type} cannot be a key: rows are not matched by it"
        )
