"""Order among rows: which have one key, which comes first, and what the one before has.

All of it is over whole columns. NULL is a value like others here, equal to itself: a key with a NULL in it is one key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.arrays import I64, BoolMask
from lance_sql.equal_values import same


def key_numbers(keys: pa.Table) -> I64:
    """One number for each distinct key."""
    numbers = np.zeros(keys.num_rows, np.int64)
    for column in keys.columns:
        encoded = _plain(column).dictionary_encode(null_encoding="encode")
        indices = encoded.indices.to_numpy().astype(np.int64)
        _, numbers = np.unique(numbers * max(len(encoded.dictionary), 1) + indices, return_inverse=True)
    return numbers.astype(np.int64)


def ranks(columns: pa.Table) -> I64:
    """The order of rows by some columns, the first one before the others; rows that are equal have one rank. NULL,
    which rows have that were there before changes were applied, is before everything."""
    combined = np.zeros(columns.num_rows, np.int64)
    for column in columns.columns:
        own = pc.rank(_plain(column), sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
        own[column.is_null().to_numpy()] = 0
        _, combined = np.unique(combined * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    return combined.astype(np.int64)


def firsts(numbers: I64) -> BoolMask:
    """Whether each row is the first of its run of equal numbers."""
    is_first = np.ones(len(numbers), np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return is_first


def lasts(numbers: I64) -> BoolMask:
    """Whether each row is the last of its run of equal numbers."""
    is_last = np.ones(len(numbers), np.bool_)
    is_last[:-1] = numbers[1:] != numbers[:-1]
    return is_last


def start_of_run(is_first: BoolMask) -> I64:
    """For each row the position of the first row of its run."""
    positions = np.where(is_first, np.arange(len(is_first)), 0)
    return np.maximum.accumulate(positions) if len(positions) else positions


def filled(rows: pa.Table, names: Sequence[str], is_first: BoolMask) -> pa.Table:
    """The rows with the value of the row before in the place of NULL, in some columns.

    is_first: rows that take nothing from the one before
    """
    start = start_of_run(is_first)
    for name in names:
        column = rows.column(name).combine_chunks()
        if not column.null_count:
            continue
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        source = np.where(valid, np.arange(len(valid)), -1)
        source = np.maximum.accumulate(source)
        chosen = pa.array(source, mask=source < start)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.field(name), column.take(chosen))
    return rows


def equal_rows(a: pa.Table, b: pa.Table, names: Sequence[str]) -> BoolMask:
    """For each row whether both tables, of one length and equal types, have the same values in some columns."""
    equal = np.ones(a.num_rows, np.bool_)
    for name in names:
        equal &= same(a.column(name).combine_chunks(), b.column(name).combine_chunks())
    return equal


def _plain(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
