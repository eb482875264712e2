"""Conversion of Arrow arrays to blocks: the inverse of `blocks.to_array`, without copies for byte-aligned arrays."""

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.encodings.blocks import (
    Block,
    DictionaryValues,
    FixedWidth,
    Lists,
    Nulls,
    Struct,
    VariableWidth,
)
from lance_sql.values import kinds

_EMPTY = pa.py_buffer(b"")


def from_array(array: pa.Array) -> Block:
    """Returns the values of `array` without its own validity; NULLs keep a slot with arbitrary content.

    raises: UnsupportedFeature for types that are not a leaf
    """
    type = array.type
    if pa.types.is_primitive(type):
        bits = type.bit_width
        return FixedWidth(len(array), bits, _bits(array.buffers()[1], array.offset * bits, len(array) * bits))
    if isinstance(type, pa.BaseExtensionType):
        return from_array(array.storage)
    if pa.types.is_null(type):
        return Nulls(len(array))
    if pa.types.is_dictionary(type):
        return _dictionary(array)
    if pa.types.is_fixed_size_list(type):
        return _lists(array)
    if pa.types.is_struct(type):
        return Struct(len(array), tuple(from_array(array.field(i)) for i in range(type.num_fields)))
    if kinds.has_offsets(type):
        return _strings(array, kinds.offset_bits(type))
    if pa.types.is_nested(type):
        raise UnsupportedFeature(f"a column of type {type} is not supported")
    try:
        bits = type.bit_width
    except ValueError:
        raise UnsupportedFeature(f"a column of type {type} is not supported") from None
    return FixedWidth(len(array), bits, _bits(array.buffers()[1], array.offset * bits, len(array) * bits))


def bitmap(array: pa.Array) -> pa.Buffer | None:
    """Returns the validity of `array` from bit 0, or None without NULLs."""
    if array.null_count == 0:
        return None
    return _bits(array.buffers()[0], array.offset, len(array))


def _bits(buffer: pa.Buffer | None, start: int, count: int) -> pa.Buffer:
    """Returns `count` bits from bit `start`; zeros without a buffer."""
    if buffer is None:
        return pa.py_buffer(bytes((count + 7) // 8))
    if start % 8 == 0:
        return buffer.slice(start // 8, (count + 7) // 8)
    data = np.frombuffer(buffer, np.uint8)[start // 8 : (start + count + 7) // 8]
    bits = np.unpackbits(data, bitorder="little")[start % 8 : start % 8 + count]
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def _strings(array: pa.Array, bits: int) -> VariableWidth:
    _, offsets, data = array.buffers()
    width = bits // 8
    if offsets is None or offsets.size == 0:
        offsets = pa.py_buffer(bytes((len(array) + 1) * width))
    else:
        offsets = offsets.slice(array.offset * width, (len(array) + 1) * width)
    return VariableWidth(len(array), bits, offsets, data if data is not None else _EMPTY)


def _lists(array: pa.Array) -> Lists:
    size = array.type.list_size
    items = array.values.slice(array.offset * size, len(array) * size)
    return Lists(len(array), size, from_array(items), bitmap(items))


def _dictionary(array: pa.DictionaryArray) -> DictionaryValues:
    if array.dictionary.null_count:
        raise InvalidArgument("a dictionary with a NULL among its values")
    indices = from_array(array.indices)
    assert isinstance(indices, FixedWidth)
    return DictionaryValues(len(array), indices, from_array(array.dictionary))
