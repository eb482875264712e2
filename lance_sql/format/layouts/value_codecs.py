"""Codecs and key orders of the kernels for the values of mini-block pages."""

from __future__ import annotations

import pyarrow as pa

from lance_sql._kernels import Compression, ValueCodec, ValueOrder
from lance_sql.format.encodings.fsst import SYMBOL_TABLE_BYTES
from lance_sql.format.encodings.general import KERNEL_COMPRESSIONS
from lance_sql.format.encodings.tree import (
    ByteStreamSplit,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    Rle,
    Variable,
)
from lance_sql.values import kinds

STRING_CODECS = (ValueCodec.VARIABLE, ValueCodec.FSST)


def uncompressed(values: Encoding) -> tuple[Compression | None, Encoding]:
    """Returns the general compression around values, and the encoding inside."""
    if isinstance(values, General):
        return KERNEL_COMPRESSIONS[values.compression], values.values
    return None, values


def value_codec(values: Encoding) -> tuple[ValueCodec, int, bytes | None] | None:
    """Returns the codec, the bits of its values, words or offsets, and its symbol table; None if Python decodes
    them."""
    match values:
        case Flat(bits_per_value=bits) if bits == 1 or bits % 8 == 0:
            return ValueCodec.FLAT, bits, None
        case InlineBitpacking(word_bits=bits):
            return ValueCodec.INLINE_BITPACKING, bits, None
        case ByteStreamSplit(values=Flat(bits_per_value=16 | 32 | 64 | 128 as bits)):
            return ValueCodec.BYTE_STREAM_SPLIT, bits, None
        case Rle(values=Flat(bits_per_value=8 | 16 | 32 | 64 as bits), run_lengths=Flat(bits_per_value=8)):
            return ValueCodec.RLE, bits, None
        case Variable(offset_bits=bits):
            return ValueCodec.VARIABLE, bits, None
        case Fsst(symbol_table=table, values=Variable(offset_bits=bits)) if len(table) == SYMBOL_TABLE_BYTES:
            return ValueCodec.FSST, bits, table
    return None


def codec_of_lists(values: Encoding, list_size: int) -> tuple[ValueCodec, int, None] | None:
    """Like `value_codec`, for fixed-size lists whose items have no NULLs: all items of a list are one value."""
    match values:
        case FixedSizeList(dimension=dimension, values=Flat(bits_per_value=bits), has_validity=False):
            fits = dimension == list_size and bits % 8 == 0
            return (ValueCodec.FLAT, dimension * bits, None) if fits else None
    return None


def key_order(type: pa.DataType) -> ValueOrder | None:
    """Returns the order in which values of a type map to keys of as many bits; None for types without keys.

    Decimals are treated as integers, without their points.
    """
    if pa.types.is_unsigned_integer(type):
        return ValueOrder.UNSIGNED
    if pa.types.is_float32(type) or pa.types.is_float64(type):
        return ValueOrder.FLOAT
    if pa.types.is_signed_integer(type) or pa.types.is_decimal128(type):
        return ValueOrder.SIGNED
    # intervals of months, days and nanoseconds have no order
    return ValueOrder.SIGNED if kinds.is_clock(type) else None
