"""Bitwise equality of values of two arrays: NULL is NULL, NaN is NaN of the same bits, and -0.0 is not 0.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.values import kinds, selection
from lance_sql.values.arrays import I64, BoolMask

Comparison: TypeAlias = Callable[[pa.Array, pa.Array], BoolMask]
"""Comparison of two arrays of one type and length, row by row."""


def same(a: pa.Array, b: pa.Array, floats: Comparison | None = None) -> BoolMask:
    """Compares two arrays of one type and length, row by row.

    floats: another comparison of floats, in columns and inside nested ones
    """
    if isinstance(a, pa.ExtensionArray):
        return same(a.storage, b.storage, floats)
    if pa.types.is_dictionary(a.type):
        return same(a.dictionary_decode(), b.dictionary_decode(), floats)
    valid, other = _valid(a), _valid(b)
    both = valid & other
    equal: BoolMask = valid == other
    if both.any() and not pa.types.is_null(a.type):
        equal &= _same_values(a, b, both, floats) | ~both
    return equal


def _same_values(a: pa.Array, b: pa.Array, both: BoolMask, floats: Comparison | None) -> BoolMask:
    """Compares values in rows where neither is NULL. The result for other rows is arbitrary."""
    type = a.type
    if floats is not None and pa.types.is_floating(type):
        return floats(a, b)
    if pa.types.is_struct(type):
        equal: BoolMask = np.ones(len(a), np.bool_)
        for index in range(type.num_fields):
            equal &= same(a.field(index), b.field(index), floats)
        return equal
    if pa.types.is_fixed_size_list(type):
        items = same(_items(a), _items(b), floats).reshape(len(a), type.list_size)
        return np.asarray(items.all(axis=1), np.bool_)
    if kinds.is_list(type) or pa.types.is_map(type):
        return _same_lists(a, b, both, floats)
    if pa.types.is_fixed_size_binary(type) or (
        pa.types.is_primitive(type) and not pa.types.is_boolean(type) and type.bit_width % 8 == 0
    ):
        width = type.bit_width // 8
        return _same_bytes(a, b, width)
    import pyarrow.compute as pc

    return np.asarray(pc.equal(a, b).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _same_bytes(a: pa.Array, b: pa.Array, width: int) -> BoolMask:
    """Compares the bytes of values of a fixed width, row by row."""
    if width == 0:
        return np.ones(len(a), np.bool_)
    x, y = (np.frombuffer(each.buffers()[1], np.uint8)[each.offset * width :][: len(each) * width] for each in (a, b))
    if width in (1, 2, 4, 8):
        return np.asarray(x.view(f"u{width}") == y.view(f"u{width}"), np.bool_)
    return np.asarray((x.reshape(-1, width) == y.reshape(-1, width)).all(axis=1), np.bool_)


def _items(array: pa.FixedSizeListArray) -> pa.Array:
    """Returns all items, including those of NULL lists."""
    size = array.type.list_size
    return array.values.slice(array.offset * size, len(array) * size)


def _same_lists(a: pa.Array, b: pa.Array, both: BoolMask, floats: Comparison | None) -> BoolMask:
    starts, ends = _bounds(a)
    other_starts, other_ends = _bounds(b)
    lengths = ends - starts
    equal: BoolMask = lengths == other_ends - other_starts
    compared = np.flatnonzero(equal & both & (lengths > 0))
    if len(compared) == 0:
        return equal
    lengths = lengths[compared]
    firsts = np.cumsum(lengths) - lengths
    within = np.arange(lengths.sum()) - np.repeat(firsts, lengths)
    mine = _take(_values(a), np.repeat(starts[compared], lengths) + within)
    theirs = _take(_values(b), np.repeat(other_starts[compared], lengths) + within)
    equal[compared] = np.logical_and.reduceat(same(mine, theirs, floats), firsts)
    return equal


def _bounds(array: pa.Array) -> tuple[I64, I64]:
    offsets = array.offsets.to_numpy().astype(np.int64)
    return offsets[:-1], offsets[1:]


def _values(array: pa.Array) -> pa.Array:
    if pa.types.is_map(array.type):
        entries = [array.type.field(0).type.field(i) for i in range(2)]
        return pa.StructArray.from_arrays([array.keys, array.items], fields=entries)
    return array.values


def _take(array: pa.Array, positions: I64) -> pa.Array:
    return selection.unsliced(array).take(pa.array(positions))


def _valid(array: pa.Array) -> BoolMask:
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
