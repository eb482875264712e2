"""Fixed-size lists: the items of all lists contiguously, after a bitmap for each level with nulls."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings import flat
from lance_sql.format.encodings.blocks import FixedWidth, Lists
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Starts, log2_items
from lance_sql.format.encodings.tree import Encoding, FixedSizeList, Flat
from lance_sql.values.arrays import BoolMask


def shape(lists: Lists) -> tuple[list[Lists], FixedWidth, FixedSizeList]:
    """Returns the nested lists from the outside, the innermost items, and their encoding.

    raises: UnsupportedFeature for items of variable length
    """
    nested = [lists]
    while isinstance(nested[-1].items, Lists):
        nested.append(nested[-1].items)
    items = nested[-1].items
    if not isinstance(items, FixedWidth):
        raise UnsupportedFeature(f"fixed-size lists of {type(items).__name__} items are not supported")
    encoding: Encoding = Flat(items.bits_per_value)
    for level in reversed(nested):
        encoding = FixedSizeList(level.dimension, encoding, level.validity is not None)
    assert isinstance(encoding, FixedSizeList)
    return nested, items, encoding


def without_hidden_nulls(lists: Lists, nulls: BoolMask | None) -> Lists:
    """Removes bitmaps whose NULL items all belong to lists that are NULL themselves."""
    items = lists.items
    hidden = np.repeat(nulls, lists.dimension) if nulls is not None else None
    if lists.validity is not None:
        present = np.unpackbits(np.frombuffer(lists.validity, np.uint8), count=items.num_values, bitorder="little")
        missing = present == 0
        if hidden is not None and not (missing & ~hidden).any():
            lists = replace(lists, validity=None)
        hidden = missing if hidden is None else missing | hidden
    if isinstance(items, Lists):
        lists = replace(lists, items=without_hidden_nulls(items, hidden))
    return lists


def bits_per_list(lists: Lists) -> int:
    """Returns the bits of the items of one list, over all levels."""
    nested, items, _ = shape(lists)
    return math.prod(level.dimension for level in nested) * items.bits_per_value


def chunks(lists: Lists, most_bytes: int) -> ChunkCodec:
    """Encodes the lists unchanged, after a bitmap for each level with NULLs."""
    nested, items, encoding = shape(lists)
    bits = bits_per_list(lists)

    def encode(starts: Starts) -> ChunkedValues:
        width, buffers = 1, []
        for level in nested:
            width *= level.dimension
            if level.validity is not None:
                buffers.append(flat.parts(level.validity, width, starts))
        buffers.append(flat.parts(items.data, bits, starts))
        return ChunkedValues(encoding, tuple(buffers))

    return ChunkCodec(log2_items(bits, most_bytes, flat.CHUNK_ITEMS), items.data.size, encode)


def _has_bits(nested: list[Lists], items: FixedWidth) -> bool:
    return items.bits_per_value % 8 != 0 or any(level.validity is not None for level in nested)


def encode_values(lists: Lists) -> tuple[Encoding, int, pa.Buffer]:
    """Encodes the lists for a full-zip page: the encoding, the bits of a value, the contiguous values."""
    nested, items, encoding = shape(lists)
    num_values = lists.num_values
    if not _has_bits(nested, items):
        return encoding, bits_per_list(lists), items.data
    width, columns = 1, []
    for level in nested:
        width *= level.dimension
        if level.validity is not None:
            columns.append(_rows_of_bits(level.validity, num_values, width))
    columns.append(_rows_of_bits(items.data, num_values, width * items.bits_per_value))
    table = np.ascontiguousarray(np.concatenate(columns, axis=1))
    return encoding, 8 * table.shape[1], pa.py_buffer(table)


def _rows_of_bits(data: pa.Buffer, num_rows: int, num_bits: int) -> "np.ndarray[tuple[int, int], np.dtype[np.uint8]]":
    """Returns `num_bits` bits for each row, padded to whole bytes."""
    if num_bits % 8 == 0:
        return np.frombuffer(data, np.uint8, num_rows * num_bits // 8).reshape(num_rows, num_bits // 8)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), count=num_rows * num_bits, bitorder="little")
    return np.packbits(bits.reshape(num_rows, num_bits), axis=1, bitorder="little")
