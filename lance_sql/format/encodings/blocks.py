"""Values between Arrow arrays and encodings: buffers in Arrow's layout, without the validity of the outermost level.

Encoders take blocks. `to_array` converts the items of dictionaries to an Arrow type. Widths are those of the encoding,
so a type that does not fit the block is detected only here.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.values import kinds
from lance_sql.values.arrays import U8


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


Items: TypeAlias = FixedWidth | VariableWidth
"""The items of a dictionary of files 2.1 and later."""

Block: TypeAlias = FixedWidth | VariableWidth | Lists | Struct | DictionaryValues | Nulls


def to_array(block: Items, type: pa.DataType, validity: pa.Buffer | None = None, null_count: int = 0) -> pa.Array:
    """Converts the block to an Arrow array of `type`; validity is a bitmap of `block.num_values` bits, 1 = valid.

    raises: CorruptFile if the widths of the block do not fit the type
    """
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, to_array(block, type.storage_type, validity, null_count))
    if isinstance(block, FixedWidth):
        return _fixed_width_array(block, type, validity, null_count)
    return _variable_width_array(block, type, validity, null_count)


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
        children = [to_array(inner, type.value_type)]
        return pa.Array.from_buffers(type, block.num_values, [validity], null_count, children=children)
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


def bitmap_or(a: pa.Buffer, b: pa.Buffer, num_bits: int) -> pa.Buffer:
    """Returns the bits that are set in `a` or in `b`, which have at least `num_bits` bits from bit 0."""
    return pa.py_buffer(_bitmap(a, num_bits) | _bitmap(b, num_bits))


def bitmap_and(a: pa.Buffer, b: pa.Buffer, num_bits: int) -> pa.Buffer:
    """Returns the bits that are set in `a` and in `b`, which have at least `num_bits` bits from bit 0."""
    return pa.py_buffer(_bitmap(a, num_bits) & _bitmap(b, num_bits))


def _bitmap(data: pa.Buffer, num_bits: int) -> U8:
    return np.frombuffer(data, np.uint8, (num_bits + 7) // 8)
