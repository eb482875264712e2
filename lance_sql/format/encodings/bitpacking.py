"""Bit-packing: words truncated to the bits in use, in groups of 1024 words in FastLanes order, or contiguously.

In groups, signed integers and floats are packed as their unsigned bit patterns.
Source: messages InlineBitpacking, OutOfLineBitpacking and Bitpacked; Afroozeh and Boncz, "The FastLanes Compression
Layout", VLDB 2023.
"""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts, uniform_starts
from lance_sql.format.encodings.tree import InlineBitpacking
from lance_sql.values.arrays import I64, U8

GROUP = 1024
LOG2_GROUP = 10


def chunks(values: FixedWidth) -> ChunkCodec:
    """Encodes one group for each chunk, as wide as its widest value; values of 8, 16, 32 or 64 bits."""
    bits, count = values.bits_per_value, values.num_values

    def widths_of(starts: Starts) -> U8:
        widths = np.empty(len(starts) - 1, np.uint8)
        _kernels.group_widths(values.data, bits, count, starts, widths)
        return widths

    expected = uniform_starts(count, LOG2_GROUP)
    known = widths_of(expected)

    def encode(starts: Starts) -> ChunkedValues:
        widths = known if len(starts) == len(expected) and (starts == expected).all() else widths_of(starts)
        out_starts = np.zeros(len(starts), np.int64)
        np.cumsum(_group_bytes(widths, bits), out=out_starts[1:])
        out = pa.allocate_buffer(int(out_starts[-1]))
        _kernels.pack_inline(values.data, bits, count, starts, widths, out)
        return ChunkedValues(InlineBitpacking(bits), (Parts(out, out_starts),))

    return ChunkCodec(LOG2_GROUP, int(_group_bytes(known, bits).sum()), encode)


def encode_blocks(data: pa.Buffer, word_bits: int, num_bits: int, starts: Starts) -> Parts:
    """Encodes the values of each chunk as a block of `OutOfLineBitpacking(word_bits, num_bits)`."""
    full, tail = np.divmod(np.diff(starts), GROUP)
    # a last group with the same size packed and plain is read as a plain one
    packed_bytes, plain_bytes = 128 * num_bits, tail * (word_bits // 8)
    out_starts = np.zeros(len(starts), np.int64)
    np.cumsum(full * packed_bytes + np.minimum(packed_bytes, plain_bytes), out=out_starts[1:])
    out = pa.allocate_buffer(int(out_starts[-1]))
    _kernels.pack(data, word_bits, num_bits, int(starts[-1]), starts, out_starts, out)
    return Parts(out, out_starts)


def encode_block(values: FixedWidth, num_bits: int) -> pa.Buffer:
    """Encodes all values as one block of `OutOfLineBitpacking`."""
    starts = np.array([0, values.num_values], np.int64)
    return encode_blocks(values.data, values.bits_per_value, num_bits, starts).data


def width(values: FixedWidth) -> int:
    """Returns the bits of the widest value, at least one."""
    widths = np.empty(-(-values.num_values // GROUP), np.uint8)
    starts = uniform_starts(values.num_values, LOG2_GROUP)
    _kernels.group_widths(values.data, values.bits_per_value, values.num_values, starts, widths)
    return max(int(widths.max()), 1)


def _group_bytes(widths: U8, word_bits: int) -> I64:
    return word_bits // 8 + 128 * widths.astype(np.int64)
