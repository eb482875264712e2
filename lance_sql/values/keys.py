"""Keys: values that identify rows, and their equality.

Every column of plain values may be a key: numbers, text, bytes, booleans, dates and times, UUIDs. NaN is NaN, -0.0 is
0.0, times are instants in any zone, and a category is its text. The caller chooses whether NULL is equal to NULL, or to
nothing. Nested columns (lists, structs, maps), intervals and JSON cannot be keys of users; whole rows are numbered with
them.

Keys of one column have one type on all sides, except for zones, dictionaries and the width of offsets: see
`format.casts.common_type`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.values import kinds
from lance_sql.values.arrays import I64


def check(name: str, type: pa.DataType, *, is_json: bool = False) -> None:
    """Makes sure that a column may be a key.

    is_json: whether its texts are JSON documents
    raises: InvalidArgument
    """
    if is_json:
        raise InvalidArgument(
            f"Column {name!r} of JSON cannot be a key, because equal documents have several texts: pass columns of"
            " plain values"
        )
    if not can_be_key(type):
        raise InvalidArgument(
            f"Column {name!r} of type {type} cannot be a key: pass columns of plain values, not of lists, structs, maps"
            " or intervals"
        )


def can_be_key(type: pa.DataType) -> bool:
    """Whether a column of a type may be a key."""
    type = kinds.decoded(type)
    return not (pa.types.is_nested(type) or pa.types.is_interval(type))


def numbered(sides: Sequence[Sequence[pa.Array]], *, nulls_are_equal: bool) -> list[I64]:
    """Numbers the rows of each side: rows with the same key have the same number. Numbers are below twice the number of
    rows. If NULL is a value, every number from 0 to the greatest belongs to a key.

    sides: the key columns of each
    nulls_are_equal: NULL is a value like others; otherwise a key with a NULL in it equals no other
    """
    lengths = [len(side[0]) for side in sides]
    total = sum(lengths)
    numbers = np.zeros(total, np.int64)
    is_null = np.zeros(total, np.bool_)
    for position, column in enumerate(zip(*sides, strict=True)):
        together = pa.concat_arrays([plain_values(array) for array in column])
        if together.null_count:
            is_null |= together.is_null().to_numpy(zero_copy_only=False)
        indices, count = _indices(together)
        if position:
            # numbers and count are below the number of rows: no product overflows below 2^31 rows
            indices, _ = _indices(pa.array(numbers * (count + 1) + indices))
        numbers = indices
    if not nulls_are_equal:
        numbers[is_null] = total + np.arange(int(is_null.sum()))
    return list(np.split(numbers, np.cumsum(lengths)[:-1]))


def number(keys: pa.Table, *, nulls_are_equal: bool = True) -> I64:
    """Numbers the rows of one table by all its columns."""
    (numbers,) = numbered([columns_of(keys)], nulls_are_equal=nulls_are_equal)
    return numbers


def columns_of(rows: pa.Table | pa.RecordBatch, names: Sequence[str] | None = None) -> list[pa.Array]:
    """Returns columns of rows, each in one piece."""
    chosen = rows.columns if names is None else [rows.column(name) for name in names]
    return [
        plain_values(column)
        if isinstance(column, pa.Array)
        else pa.concat_arrays([plain_values(each) for each in column.chunks or [pa.nulls(0, column.type)]])
        for column in chosen
    ]


def pairs(left: I64, right: I64) -> tuple[I64, I64]:
    """Returns the positions of rows of two sides with equal numbers, in the order of the right side."""
    counts = np.bincount(left, minlength=max(int(right.max(initial=-1)) + 1, 1))
    if counts.max() < 2:
        at_left = np.full(len(counts), -1, np.int64)
        at_left[left] = np.arange(len(left))
        positions = at_left[right]
        at_right = np.flatnonzero(positions >= 0)
        return positions[at_right], at_right
    order = np.argsort(left, kind="stable")
    starts, lengths = (np.cumsum(counts) - counts)[right], counts[right]
    at_right = np.repeat(np.arange(len(right)), lengths)
    within = np.arange(len(at_right)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return order[starts[at_right] + within], at_right


def pairs_once(left: I64, right: I64) -> tuple[I64, I64]:
    """Returns pairs of rows of two sides with equal numbers, in the order of the right side: each row is in one pair at
    most, the first of a number with the first, the second with the second."""
    size = max(int(left.max(initial=-1)), int(right.max(initial=-1))) + 1
    orders = [np.argsort(side, kind="stable") for side in (left, right)]
    counts = [np.bincount(side, minlength=size) for side in (left, right)]
    common = np.minimum(*counts)
    within = np.arange(common.sum()) - np.repeat(np.cumsum(common) - common, common)
    at_left, at_right = (
        order[np.repeat(np.cumsum(count) - count, common) + within] for order, count in zip(orders, counts, strict=True)
    )
    by_right = np.argsort(at_right)
    return at_left[by_right], at_right[by_right]


def repeated(numbers: I64) -> I64:
    """Returns the first row of each number that several rows have, ascending."""
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    return np.sort(first[counts > 1])


def plain_values(array: pa.Array) -> pa.Array:
    """Converts values so that Arrow compares and sorts them like keys: times as numbers, one zero and one NaN."""
    import pyarrow.compute as pc

    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    type = array.type
    if pa.types.is_dictionary(type):
        # Arrow takes no values of views
        return pa.DictionaryArray.from_arrays(array.indices, plain_values(array.dictionary)).dictionary_decode()
    if pa.types.is_run_end_encoded(type):
        return plain_values(pc.run_end_decode(array))
    if pa.types.is_floating(type):
        wide = array.cast(pa.float64())
        nan = pa.scalar(float("nan"), pa.float64())
        return pc.if_else(pc.is_nan(wide), nan, pc.add(wide, 0.0))
    if kinds.is_clock(type):
        return array.view(pa.int32() if type.bit_width == 32 else pa.int64())
    wide = kinds.wide(type)
    return array if wide == type else array.cast(wide)


def as_lists(nested: pa.Array) -> tuple[I64, pa.Array]:
    """Returns the length of each list, 0 for NULL, and the items of all lists together.

    nested: lists of any kind, or maps, whose items are structs of key and value
    """
    if pa.types.is_map(nested.type):
        entry = pa.struct([("key", nested.type.key_type), ("value", nested.type.item_type)])
        nested = nested.cast(pa.list_(entry))
    lengths = nested.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    return lengths, nested.flatten()


def _as_bytes(nested: pa.Array) -> pa.Array:
    """Returns bytes for each value, equal for equal values: the numbers of its items or members."""
    if pa.types.is_struct(nested.type):
        lengths = np.ones(len(nested), np.int64)
        (numbers,) = numbered([nested.flatten()], nulls_are_equal=True) if nested.type.num_fields else (lengths,)
    else:
        lengths, items = as_lists(nested)
        (numbers,) = numbered([[items]], nulls_are_equal=True)
    offsets = np.concatenate(([0], np.cumsum(lengths))) * numbers.itemsize
    parts = [None, pa.py_buffer(offsets), pa.py_buffer(numbers)]
    encoded = pa.Array.from_buffers(pa.large_binary(), len(nested), parts)
    if not nested.null_count:
        return encoded
    import pyarrow.compute as pc

    return pc.if_else(nested.is_valid(), encoded, None)


def _indices(values: pa.Array) -> tuple[I64, int]:
    """Returns the number of each value, NULL last, and the number of values."""
    if pa.types.is_nested(values.type):
        values = _as_bytes(values)
    elif pa.types.is_interval(values.type):
        values = values.view(pa.binary(values.type.bit_width // 8))
    encoded = values.dictionary_encode()
    # for the null type Arrow makes an item that no index refers to
    count = 0 if pa.types.is_null(values.type) else len(encoded.dictionary)
    return encoded.indices.cast(pa.int64()).fill_null(count).to_numpy().copy(), count
