"""Values with their NULLs, and the operations of nodes of a tree without levels."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.blocks import (
    Block,
    DictionaryValues,
    FixedWidth,
    Lists,
    Nulls,
    Struct,
    VariableWidth,
    bitmap_and,
)
from lance_sql.format.encodings.fsst import MAX_EXPANSION, SYMBOL_TABLE_BYTES
from lance_sql.format.old_files import stored

MAX_NULL_BYTES = 1 << 28
"""Maximum memory of NULLs, which take no bytes in a file, for rows read at once; more counts as damage."""


_FIRST_EXPANSION = 3
"""Assumed bytes of a code of a symbol table; more space is allocated if it does not suffice."""

_SLACK_BYTES = 64 * 1024
"""The kernel stops before a piece that might not fit; this reserves space for a whole piece at the end."""


@dataclass(frozen=True, slots=True)
class Values:
    """Some rows: a block, and the bitmap of those that are valid (None: all)."""

    block: Block
    validity: pa.Buffer | None = None


def with_validity(values: Values, bits: Values) -> Values:
    """Returns the values with a validity bitmap."""
    if isinstance(values.block, Nulls):
        return values
    if not isinstance(bits.block, FixedWidth) or bits.block.bits_per_value != 1 or bits.validity is not None:
        raise CorruptFile("a validity that is not a bitmap")
    validity = bits.block.data
    if values.validity is not None:
        validity = bitmap_and(validity, values.validity, bits.block.num_values)
    return Values(values.block, validity)


def expand_symbols(values: Values, symbol_table: bytes) -> Values:
    """Decodes strings from codes of a symbol table.

    raises: CorruptFile for a symbol table of another size, and for codes that stand for more bytes than they can
    """
    block = values.block
    if not isinstance(block, VariableWidth):
        raise CorruptFile(f"FSST codes as {type(block).__name__}")
    if len(symbol_table) != SYMBOL_TABLE_BYTES:
        raise CorruptFile(f"a symbol table of {len(symbol_table)} bytes, expected {SYMBOL_TABLE_BYTES}")
    count = block.num_values
    offsets = pa.allocate_buffer((count + 1) * 8)
    most = block.data.size * MAX_EXPANSION + 2 * MAX_EXPANSION
    capacity = min(most, block.data.size * _FIRST_EXPANSION + _SLACK_BYTES)
    data = pa.allocate_buffer(capacity, resizable=True)
    done = size = 0
    while True:
        done, size = _kernels.fsst_values(
            block.offsets, block.offset_bits, count, block.data, symbol_table, done, offsets, 64, data
        )
        if done == count:
            return Values(VariableWidth(count, 64, offsets, data.slice(0, size)), values.validity)
        if capacity >= most:
            raise CorruptFile("FSST codes stand for more bytes than they can")
        capacity = min(most, max(capacity * 2, size * count // max(done, 1)) + _SLACK_BYTES)
        data.resize(capacity)


def strings_of_one_width(values: Values, num_bytes: int) -> Values:
    """Converts values of `num_bytes` bytes to strings."""
    block = values.block
    if not isinstance(block, FixedWidth) or block.bits_per_value != 8 * num_bytes:
        raise CorruptFile(f"strings of {num_bytes} bytes that are stored in another width")
    offsets = np.arange(block.num_values + 1, dtype=np.int64) * num_bytes
    return Values(VariableWidth(block.num_values, 64, pa.py_buffer(offsets), block.data), values.validity)


def look_up(keys: Values, items: Values, *, has_null_key: bool) -> Values:
    """Looks up dictionary items by index.

    has_null_key: index 0 is NULL, and k is item k - 1
    raises: CorruptFile for an index without an item
    """
    if isinstance(keys.block, Nulls):
        return keys
    if not isinstance(keys.block, FixedWidth):
        raise CorruptFile(f"dictionary indices as {type(keys.block).__name__}")
    indices, count = stored.integers(keys.block), keys.block.num_values
    valid = stored.bits(keys.validity, count) if keys.validity is not None else np.ones(count, np.bool_)
    if has_null_key:
        valid &= indices != 0
        indices = indices - np.uint64(1)
    num_items = items.block.num_values
    if (indices[valid] >= num_items).any():
        raise CorruptFile(f"index {int(indices[valid].max())} of a dictionary of {num_items} items")
    if isinstance(items.block, Nulls) or not valid.any():
        return Values(Nulls(count))
    indices = np.where(valid, indices, 0)
    if items.validity is not None:
        valid &= stored.bits(items.validity, num_items)[indices]
    block = FixedWidth(count, 32, pa.py_buffer(indices.astype(np.uint32)))
    return Values(
        DictionaryValues(count, block, items.block, items.validity), None if valid.all() else stored.bitmap(valid)
    )


def check_nulls(block: Block, type: pa.DataType) -> None:
    """Raises CorruptFile if values that are stored only as NULLs take an unreasonable amount of memory."""
    while isinstance(block, Lists) and pa.types.is_fixed_size_list(type):
        block, type = block.items, type.value_type
    if not isinstance(block, Nulls):
        return
    width = 1
    while pa.types.is_fixed_size_list(type):
        width *= type.list_size
        type = type.value_type
    try:
        width *= max(type.bit_width // 8, 1)
    except ValueError:
        width *= 8
    if block.num_values * width > MAX_NULL_BYTES:
        raise CorruptFile(f"{block.num_values} NULLs of {type}")


def split_rows(rows: FixedWidth, field_bits: tuple[int, ...]) -> Struct:
    """Splits rows into their adjacent fields, each a number of whole bytes."""
    table = np.frombuffer(rows.data, np.uint8).reshape(rows.num_values, rows.bits_per_value // 8)
    edges = np.cumsum([0, *(width // 8 for width in field_bits)]).tolist()
    fields: list[Block] = []
    for width, (start, end) in zip(field_bits, pairwise(edges), strict=True):
        fields.append(FixedWidth(rows.num_values, width, pa.py_buffer(np.ascontiguousarray(table[:, start:end]))))
    return Struct(rows.num_values, tuple(fields))
