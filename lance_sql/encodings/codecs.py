"""Which codec decodes which encoding, in each of the contexts.

The sets are closed by the specification; what is not in a table is refused by name.
"""

import pyarrow as pa

from lance_sql.encodings import (
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
from lance_sql.encodings.blocks import Block, FixedWidth, Nulls, Struct, VariableWidth
from lance_sql.encodings.chunk_rows import ChunkRows
from lance_sql.encodings.tree import (
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
from lance_sql.errors import CorruptFile, UnsupportedFeature


def decode_mini_block(encoding: Encoding, rows: ChunkRows) -> Block:
    """The items of `rows`, whose chunks hold the value buffers of `encoding`."""
    match encoding:
        case Flat():
            return flat.mini_block(encoding, rows)
        case InlineBitpacking():
            return bitpacking.mini_block(encoding, rows)
        case Variable():
            return variable.mini_block(encoding, rows)
        case Fsst():
            return fsst.mini_block(encoding, rows)
        case Rle():
            return rle.mini_block(encoding, rows)
        case ByteStreamSplit():
            return byte_stream_split.mini_block(encoding, rows)
        case FixedSizeList():
            return fixed_size_list.mini_block(encoding, rows)
        case PackedStruct():
            return packed_struct.mini_block(encoding, rows)
        case General(values=General()):
            raise UnsupportedFeature("encoding General inside of General is not supported in a mini-block page")
        case General():
            return decode_mini_block(encoding.values, general.inflate(encoding.compression, rows))
        case _:
            raise _refused(encoding, "a mini-block page")


def decode_block(encoding: Encoding, data: pa.Buffer, num_values: int) -> Block:
    """`num_values` values from one buffer."""
    match encoding:
        case Flat():
            return flat.block(encoding, data, num_values)
        case Variable():
            return variable.block(encoding, data, num_values)
        case InlineBitpacking():
            return bitpacking.inline_block(encoding, data, num_values)
        case OutOfLineBitpacking():
            return bitpacking.out_of_line_block(encoding, data, num_values)
        case Rle():
            return rle.block(encoding, data, num_values)
        case General():
            return decode_block(encoding.values, general.decompress(encoding.compression, data), num_values)
        case _:
            raise _refused(encoding, "a block")


def decode_stored(encoding: Encoding, data: pa.Buffer, num_values: int) -> FixedWidth:
    """The first `num_values` values of a buffer that a tree names, or of a part of it that begins a unit.

    See `stored.unit`; bit-packed groups come whole.
    """
    match encoding:
        case Flat():
            return flat.block(encoding, data, num_values)
        case Bitpacked():
            return bitpacking.side_by_side(encoding, data, num_values)
        case OutOfLineBitpacking():
            # the last group is a whole one as well
            num_groups = -(-num_values // bitpacking.GROUP)
            return bitpacking.out_of_line_block(encoding, data, num_groups * bitpacking.GROUP)
        case _:
            raise _refused(encoding, "a buffer of its own")


def decode_fixed_values(encoding: Encoding, data: pa.Buffer, num_values: int) -> Block:
    """`num_values` values of one width, as a full-zip page holds them side by side."""
    match encoding:
        case Flat(bits_per_value=1):
            # single bits take a byte of their own here
            return decode_fixed_values(Flat(8), data, num_values)
        case Flat():
            values = flat.block(encoding, data, num_values)
            if values.data.size != data.size:
                raise CorruptFile(f"{num_values} values of {encoding.bits_per_value} bits in {data.size} bytes")
            return values
        case FixedSizeList():
            return fixed_size_list.per_value(encoding, data, num_values)
        case Constant(value=None):
            return Nulls(num_values)
        case _:
            raise _refused(encoding, "a full-zip page of fixed width")


def decode_variable_values(encoding: Encoding, values: VariableWidth) -> Block:
    """The values behind the byte strings of a full-zip page."""
    match encoding:
        case Variable():
            return values
        case Fsst():
            return fsst.per_value(encoding, values)
        case General():
            return decode_variable_values(encoding.values, general.per_value(encoding.compression, values))
        case VariablePackedStruct():
            return _variable_packed_struct(encoding, values)
        case Constant(value=None):
            return Nulls(values.num_values)
        case _:
            raise _refused(encoding, "a full-zip page of variable width")


def _variable_packed_struct(encoding: VariablePackedStruct, values: VariableWidth) -> Struct:
    cursor = packed_struct.Cursor(values)
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


def _refused(encoding: Encoding, where: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in {where}")
