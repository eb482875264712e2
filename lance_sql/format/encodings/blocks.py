"""Decoded values before conversion to Arrow: buffers in Arrow's layout, without the validity of the outermost level.

Codecs return blocks; `to_array` converts a block to an Arrow type. Widths are those of the encoding, so a type that
does not fit the block is detected only here.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.values import kinds
from lance_sql.values.arrays import U8

Buffer: TypeAlias = "pa.Buffer | memoryview | bytes"


@dataclass(frozen=True, slots=True)
class FixedWidth:
    """`num_values` values of `bits_per_value` bits; below a byte they are packed, least significant first."""

    num_values: int
    bits_per_value: int
    data: pa.Buffer


@dataclass(frozen=True, slots=True)
class VariableWidth:
    """`num_values` byte strings: value i is `data[offsets[i]:offsets[i + 1]]`, offsets of `offset_bits` bits."""

    num_values: int
    offset_bits: int
    offsets: pa.Buffer
    data: pa.Buffer


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of `dimension` items each; `validity` is the bitmap of the items, None when all are valid."""

    num_values: int
    dimension: int
    items: "Block"
    validity: pa.Buffer | None


@dataclass(frozen=True, slots=True)
class Struct:
    """One block for each field, all of the same length."""

    num_values: int
    fields: tuple["Block", ...]


@dataclass(frozen=True, slots=True)
class DictionaryValues:
    """Indices into `items`, each of them checked.

    validity: of the items, if some are NULL; no index of a value refers to these
    """

    num_values: int
    indices: FixedWidth
    items: "Block"
    validity: pa.Buffer | None = None


@dataclass(frozen=True, slots=True)
class Nulls:
    """Values that are all NULL."""

    num_values: int


Block: TypeAlias = FixedWidth | VariableWidth | Lists | Struct | DictionaryValues | Nulls


def to_array(block: Block, type: pa.DataType, validity: pa.Buffer | None = None, null_count: int = 0) -> pa.Array:
    """Converts the block to an Arrow array of `type`; validity is a bitmap of `block.num_values` bits, 1 = valid.

    raises: CorruptFile if the widths of the block do not fit the type
    """
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, to_array(block, type.storage_type, validity, null_count))
    if isinstance(block, Nulls) or pa.types.is_null(type):
        return pa.nulls(block.num_values, type)
    if isinstance(block, DictionaryValues):
        if pa.types.is_dictionary(type):
            return _dictionary_array(block, type, validity, null_count)
        block = materialize(block)
    elif makes_items(type) and isinstance(block, VariableWidth):
        return to_array(block, type.value_type, validity, null_count).dictionary_encode()
    elif pa.types.is_dictionary(type):
        raise UnsupportedFeature(f"values without a dictionary for the dictionary type {type}")
    match block:
        case FixedWidth():
            return _fixed_width_array(block, type, validity, null_count)
        case VariableWidth():
            return _variable_width_array(block, type, validity, null_count)
        case Lists():
            if not pa.types.is_fixed_size_list(type) or type.list_size != block.dimension:
                raise CorruptFile(f"lists of {block.dimension} items cannot be {type}")
            items = to_array(block.items, type.value_type, block.validity, -1 if block.validity is not None else 0)
            return pa.Array.from_buffers(type, block.num_values, [validity], null_count, children=[items])
        case Struct():
            if not pa.types.is_struct(type) or type.num_fields != len(block.fields):
                raise CorruptFile(f"a packed struct of {len(block.fields)} fields cannot be {type}")
            children = [to_array(field, type.field(i).type) for i, field in enumerate(block.fields)]
            return pa.Array.from_buffers(type, block.num_values, [validity], null_count, children=children)
    raise AssertionError(block)


def makes_items(type: pa.DataType) -> bool:
    """Whether strings without a dictionary can become arrays of the type: indices of the distinct ones among them."""
    if not pa.types.is_dictionary(type) or type.ordered or type.index_type != pa.int32():
        return False
    return kinds.has_offsets(type.value_type)


def materialize(block: DictionaryValues) -> Block:
    """Returns the values themselves, gathered from the dictionary."""
    indices, items, count = block.indices, block.items, block.num_values
    match items:
        case FixedWidth() if items.bits_per_value % 8 == 0:
            width = items.bits_per_value // 8
            out = pa.allocate_buffer(count * width)
            _kernels.gather_fixed(indices.data, indices.bits_per_value, count, items.data, items.num_values, width, out)
            return FixedWidth(count, items.bits_per_value, out)
        case VariableWidth():
            offsets = pa.allocate_buffer((count + 1) * items.offset_bits // 8)
            total = _kernels.gather_variable_offsets(
                indices.data,
                indices.bits_per_value,
                count,
                items.offsets,
                items.offset_bits,
                items.num_values,
                offsets,
                items.offset_bits,
            )
            data = pa.allocate_buffer(total)
            _kernels.gather_variable_bytes(
                indices.data,
                indices.bits_per_value,
                count,
                items.offsets,
                items.offset_bits,
                items.num_values,
                items.data,
                data,
            )
            return VariableWidth(count, items.offset_bits, offsets, data)
    raise UnsupportedFeature(f"a dictionary of {type(items).__name__} values is not supported")


def _fixed_width_array(block: FixedWidth, type: pa.DataType, validity: pa.Buffer | None, null_count: int) -> pa.Array:
    bits, data = block.bits_per_value, block.data
    if pa.types.is_boolean(type) and bits == 8:
        bits, data = 1, pa.py_buffer(np.packbits(np.frombuffer(data, np.bool_, block.num_values), bitorder="little"))
    if pa.types.is_decimal64(type) and bits == 128:
        narrow = pa.allocate_buffer(block.num_values * 8)
        if not _kernels.narrow_decimal(data, block.num_values, narrow):
            raise CorruptFile(f"a value does not fit {type}")
        bits, data = 64, narrow
    if pa.types.is_fixed_size_list(type):
        # a writer stored it as one wide value, such as a list of items without nulls
        items = block.num_values * type.list_size
        inner = FixedWidth(items, bits // type.list_size if type.list_size else bits, data)
        return to_array(Lists(block.num_values, type.list_size, inner, None), type, validity, null_count)
    try:
        width = type.bit_width
    except ValueError:
        width = None
    if width != bits or pa.types.is_struct(type):
        raise CorruptFile(f"values of {block.bits_per_value} bits cannot be {type}")
    return pa.Array.from_buffers(type, block.num_values, [validity, data], null_count)


def _variable_width_array(
    block: VariableWidth, type: pa.DataType, validity: pa.Buffer | None, null_count: int
) -> pa.Array:
    if not kinds.has_offsets(type):
        raise CorruptFile(f"byte strings cannot be {type}")
    offset_bits, offsets = kinds.offset_bits(type), block.offsets
    if offset_bits != block.offset_bits:
        if offset_bits == 32 and block.data.size > np.iinfo(np.int32).max:
            raise CorruptFile(f"{block.data.size} bytes of values are more than {type} can hold")
        wanted = np.int32 if offset_bits == 32 else np.int64
        given = np.int32 if block.offset_bits == 32 else np.int64
        offsets = pa.py_buffer(np.frombuffer(offsets, given, block.num_values + 1).astype(wanted))
    return pa.Array.from_buffers(type, block.num_values, [validity, offsets, block.data], null_count)


def _dictionary_array(
    block: DictionaryValues, type: pa.DictionaryType, validity: pa.Buffer | None, nulls: int
) -> pa.Array:
    indices = block.indices
    items = to_array(block.items, type.value_type)
    index_type = type.index_type
    data = indices.data
    if block.validity is not None:
        valid = np.unpackbits(_bitmap(block.validity, len(items)), bitorder="little")[: len(items)].astype(np.bool_)
        items = items.filter(pa.array(valid))
        numbers = np.frombuffer(data, f"u{indices.bits_per_value // 8}", block.num_values)
        positions = np.maximum(np.cumsum(valid) - 1, 0)[numbers]
        data = pa.py_buffer(positions.astype(numbers.dtype))
    if index_type.bit_width != indices.bits_per_value:
        top = np.iinfo(index_type.to_pandas_dtype()).max
        if len(items) - 1 > top:
            raise CorruptFile(f"{len(items)} dictionary items are more than {index_type} can count")
        wide = np.frombuffer(data, f"u{indices.bits_per_value // 8}", block.num_values)
        data = pa.py_buffer(wide.astype(index_type.to_pandas_dtype()))
    array = pa.Array.from_buffers(index_type, block.num_values, [validity, data], nulls)
    return pa.DictionaryArray.from_arrays(array, items, ordered=type.ordered, safe=False)


def bitmap_or(a: pa.Buffer, b: pa.Buffer, num_bits: int) -> pa.Buffer:
    """Returns the bits that are set in `a` or in `b`, which have at least `num_bits` bits from bit 0."""
    return pa.py_buffer(_bitmap(a, num_bits) | _bitmap(b, num_bits))


def bitmap_and(a: pa.Buffer, b: pa.Buffer, num_bits: int) -> pa.Buffer:
    """Returns the bits that are set in `a` and in `b`, which have at least `num_bits` bits from bit 0."""
    return pa.py_buffer(_bitmap(a, num_bits) & _bitmap(b, num_bits))


def _bitmap(data: pa.Buffer, num_bits: int) -> U8:
    return np.frombuffer(data, np.uint8, (num_bits + 7) // 8)
