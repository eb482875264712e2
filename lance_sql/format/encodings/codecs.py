"""Dispatch of encodings to codecs: one table for each context, at the end of this file.

The specification closes these sets. Encodings without a codec raise an error that names them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import (
    bitpacking,
    byte_stream_split,
    fixed_size_list,
    flat,
    fsst,
    general,
    packed_struct,
    rle,
    variable,
)
from lance_sql.format.encodings.blocks import Block, FixedWidth, Nulls, Struct, VariableWidth
from lance_sql.format.encodings.chunk_rows import ChunkRows
from lance_sql.format.encodings.tree import (
    Bitpacked,
    ByteStreamSplit,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    PackedStruct,
    Rle,
    Variable,
    VariablePackedStruct,
)

T = TypeVar("T")


def decode_mini_block(encoding: Encoding, rows: ChunkRows) -> Block:
    """Decodes the items of `rows`, whose chunks contain the value buffers of `encoding`."""
    return _codec(MINI_BLOCK, encoding, "a mini-block page")(encoding, rows)


def decode_block(encoding: Encoding, data: pa.Buffer, num_values: int) -> Block:
    """Decodes `num_values` values from one buffer."""
    return _codec(BLOCK, encoding, "a block")(encoding, data, num_values)


def decode_stored(encoding: Encoding, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Decodes the first `num_values` values of a buffer of a tree, or of a part of it that begins a unit.

    See `stored.unit`; bit-packed groups are always complete.
    """
    return _codec(STORED, encoding, "a buffer of its own")(encoding, data, num_values)


def decode_fixed_values(encoding: Encoding, data: pa.Buffer, num_values: int) -> Block:
    """Decodes `num_values` adjacent values of one width of a full-zip page."""
    return _codec(FIXED_VALUES, encoding, "a full-zip page of fixed width")(encoding, data, num_values)


def decode_variable_values(encoding: Encoding, values: VariableWidth) -> Block:
    """Decodes the byte strings of a full-zip page."""
    return _codec(VARIABLE_VALUES, encoding, "a full-zip page of variable width")(encoding, values)


def _codec(table: Mapping[type[Encoding], T], encoding: Encoding, where: str) -> T:
    codec = table.get(type(encoding))
    if codec is None:
        raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in {where}")
    return codec


def _general_mini_block(encoding: General, rows: ChunkRows) -> Block:
    if isinstance(encoding.values, General):
        raise UnsupportedFeature("encoding General inside of General is not supported in a mini-block page")
    return decode_mini_block(encoding.values, general.inflate(encoding.compression, rows))


def _general_block(encoding: General, data: pa.Buffer, num_values: int) -> Block:
    return decode_block(encoding.values, general.decompress(encoding.compression, data), num_values)


def _out_of_line_groups(encoding: OutOfLineBitpacking, data: pa.Buffer, num_values: int) -> FixedWidth:
    # the last group is complete as well
    num_groups = -(-num_values // bitpacking.GROUP)
    return bitpacking.out_of_line_block(encoding, data, num_groups * bitpacking.GROUP)


def _flat_values(encoding: Flat, data: pa.Buffer, num_values: int) -> FixedWidth:
    if encoding.bits_per_value == 1:
        # single bits take a whole byte here
        encoding = Flat(8)
    values = flat.block(encoding, data, num_values)
    if values.data.size != data.size:
        raise CorruptFile(f"{num_values} values of {encoding.bits_per_value} bits in {data.size} bytes")
    return values


def _fixed_nulls(encoding: Constant, data: pa.Buffer, num_values: int) -> Nulls:
    if encoding.value is not None:
        raise UnsupportedFeature("encoding Constant is not supported in a full-zip page of fixed width")
    return Nulls(num_values)


def _variable_nulls(encoding: Constant, values: VariableWidth) -> Nulls:
    if encoding.value is not None:
        raise UnsupportedFeature("encoding Constant is not supported in a full-zip page of variable width")
    return Nulls(values.num_values)


def _plain_strings(encoding: Variable, values: VariableWidth) -> VariableWidth:
    return values


def _general_values(encoding: General, values: VariableWidth) -> Block:
    return decode_variable_values(encoding.values, general.per_value(encoding.compression, values))


def _variable_packed_struct(encoding: VariablePackedStruct, values: VariableWidth) -> Struct:
    cursor = packed_struct.FieldPosition(values)
    fields: list[Block] = []
    for field in encoding.fields:
        if field.bits_per_value is not None:
            data = cursor.fixed(field.bits_per_value // 8)
            fields.append(decode_fixed_values(field.values, data, cursor.num_values))
        elif field.bits_per_length is not None:
            fields.append(decode_variable_values(field.values, cursor.variable(field.bits_per_length)))
        else:
            raise AssertionError(field)
    cursor.finish()
    return Struct(cursor.num_values, tuple(fields))


MINI_BLOCK: Final[Mapping[type[Encoding], Callable[[Any, ChunkRows], Block]]] = {
    Flat: flat.mini_block,
    InlineBitpacking: bitpacking.mini_block,
    Variable: variable.mini_block,
    Fsst: fsst.mini_block,
    Rle: rle.mini_block,
    ByteStreamSplit: byte_stream_split.mini_block,
    FixedSizeList: fixed_size_list.mini_block,
    PackedStruct: packed_struct.mini_block,
    General: _general_mini_block,
}
BLOCK: Final[Mapping[type[Encoding], Callable[[Any, pa.Buffer, int], Block]]] = {
    Flat: flat.block,
    Variable: variable.block,
    InlineBitpacking: bitpacking.inline_block,
    OutOfLineBitpacking: bitpacking.out_of_line_block,
    Rle: rle.block,
    General: _general_block,
}
STORED: Final[Mapping[type[Encoding], Callable[[Any, pa.Buffer, int], FixedWidth]]] = {
    Flat: flat.block,
    Bitpacked: bitpacking.side_by_side,
    OutOfLineBitpacking: _out_of_line_groups,
}
FIXED_VALUES: Final[Mapping[type[Encoding], Callable[[Any, pa.Buffer, int], Block]]] = {
    Flat: _flat_values,
    FixedSizeList: fixed_size_list.per_value,
    Constant: _fixed_nulls,
}
VARIABLE_VALUES: Final[Mapping[type[Encoding], Callable[[Any, VariableWidth], Block]]] = {
    Variable: _plain_strings,
    Fsst: fsst.per_value,
    General: _general_values,
    VariablePackedStruct: _variable_packed_struct,
    Constant: _variable_nulls,
}
