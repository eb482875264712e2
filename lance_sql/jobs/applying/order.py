"""Order of rows: equal keys, ranks, and values of preceding rows.

All functions work on whole columns. NULL is an ordinary value that equals itself, so keys with NULL are ordinary keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.common_type import column_to_type, common_type
from lance_sql.values.arrays import I64, BoolMask
from lance_sql.values.equal_values import same
from lance_sql.values.keys import plain_values

SEQUENCE: Final = "__sequence_"
"""Prefix of the number of a column that orders events."""


def ranks(columns: pa.Table) -> I64:
    """Returns the ranks of rows by some columns, the first column first; equal rows have one rank. NULL ranks before
    all values; rows from before the first application have it."""
    combined = np.zeros(columns.num_rows, np.int64)
    for column in columns.columns:
        own = (
            pc.rank(plain_values(column.combine_chunks()), sort_keys="ascending", tiebreaker="dense")
            .to_numpy()
            .astype(np.int64)
        )
        own[column.is_null().to_numpy()] = 0
        _, combined = np.unique(combined * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    return combined.astype(np.int64)


def concat(tables: Sequence[pa.Table], sequence: Sequence[str] = ()) -> pa.Table:
    """Concatenates tables, in types that hold the values of all; columns that a table lacks are NULL.

    sequence: the original names of the columns that order the events
    raises: InvalidArgument for a column whose types have no common type
    """
    types: dict[str, pa.DataType] = {}
    for table in tables:
        for field in table.schema:
            known = types.get(field.name)
            if known is None or known == field.type:
                types[field.name] = field.type
                continue
            common = common_type(known, field.type)
            if common is None:
                shown = _name(field.name, sequence)
                raise InvalidArgument(
                    f"Column {shown!r} is {known} in some changes and {field.type} in others: cast it"
                )
            types[field.name] = common
    schema = pa.schema(list(types.items()))
    return pa.concat_tables([in_schema(table, schema, sequence) for table in tables])


def in_schema(table: pa.Table, schema: pa.Schema, sequence: Sequence[str] = ()) -> pa.Table:
    """Returns the rows with the columns of a schema. Casts only columns of another type, because Arrow cannot cast a
    NULL struct with members that are never NULL."""
    columns = []
    for field in schema:
        index = table.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        elif table.schema.field(index).type == field.type:
            columns.append(table.column(index))
        else:
            columns.append(column_to_type(table.column(index), field.type, _name(field.name, sequence)))
    return pa.Table.from_arrays(columns, schema=schema)


def _name(name: str, sequence: Sequence[str]) -> str:
    """Returns the name of a column for users."""
    number = name.removeprefix(SEQUENCE)
    return sequence[int(number)] if number != name and int(number) < len(sequence) else name


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
    """Returns for each row the position of the first row of its run."""
    positions = np.where(is_first, np.arange(len(is_first)), 0)
    return np.maximum.accumulate(positions) if len(positions) else positions


def filled(rows: pa.Table, names: Sequence[str], is_first: BoolMask) -> pa.Table:
    """Replaces NULLs in some columns by the value of the row before.

    is_first: rows that take no value from the one before
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
    """Returns for each row whether both tables have equal values in some columns. Both have equal lengths and types."""
    equal = np.ones(a.num_rows, np.bool_)
    for name in names:
        equal &= same(a.column(name).combine_chunks(), b.column(name).combine_chunks())
    return equal


def differing(rows: pa.Table, old: pa.Table, positions: I64) -> BoolMask:
    """Returns for each row whether it differs from the old one at its position; a row without one, at -1, does.

    old: the columns of `rows`, at least
    """
    differ = np.ones(rows.num_rows, np.bool_)
    at = np.flatnonzero(positions >= 0)
    if len(at):
        names = rows.schema.names
        earlier = old.select(names).take(pa.array(positions[at]))
        differ[at] = ~equal_rows(rows.take(pa.array(at)), earlier, names)
    return differ


def positions_of_keys(numbers: I64, num_keys: int) -> I64:
    """Returns for each row after the first `num_keys` the position of the one among these with the same number; -1 for
    none."""
    of_number = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int64)
    of_number[numbers[:num_keys]] = np.arange(num_keys)
    positions: I64 = of_number[numbers[num_keys:]]
    return positions
