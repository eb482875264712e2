"""Bit-packing in FastLanes order: groups of 1024 words, each word cut to the bits that it needs.

Signed integers and floats are packed as their unsigned bit patterns.
Source: messages InlineBitpacking and OutOfLineBitpacking; Afroozeh and Boncz, "The FastLanes Compression Layout",
VLDB 2023.
"""

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.encodings.blocks import FixedWidth
from lance_sql.encodings.chunk_rows import ChunkRows
from lance_sql.encodings.tree import InlineBitpacking, OutOfLineBitpacking
from lance_sql.errors import CorruptFile

GROUP = 1024

MAX_ZEROS = 1 << 24
"""Values of 0 bits take no bytes; more of them in one block are taken for damage."""


def mini_block(encoding: InlineBitpacking, rows: ChunkRows) -> FixedWidth:
    """The values of `rows`; every chunk is one group and says its own width."""
    out = pa.allocate_buffer(rows.num_items * encoding.word_bits // 8)
    _kernels.inline_bitpacking(rows.chunks, rows.ranges, encoding.word_bits, out)
    return FixedWidth(rows.num_items, encoding.word_bits, out)


def inline_block(encoding: InlineBitpacking, data: pa.Buffer, num_values: int) -> FixedWidth:
    """One group of at most 1024 values behind the word that holds its width."""
    if num_values > GROUP:
        raise CorruptFile(f"{num_values} values in one bit-packed group of {GROUP}")
    out = pa.allocate_buffer(num_values * encoding.word_bits // 8)
    _kernels.unpack_block(data, encoding.word_bits, num_values, out)
    return FixedWidth(num_values, encoding.word_bits, out)


def out_of_line_block(encoding: OutOfLineBitpacking, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Groups of one width; the last, short group may be stored unpacked."""
    if encoding.num_bits == 0 and num_values > MAX_ZEROS:
        raise CorruptFile(f"{num_values} values of 0 bits")
    needed = num_values // GROUP * 128 * encoding.num_bits
    if data.size < needed:
        raise CorruptFile(f"{num_values} values of {encoding.num_bits} bits need {needed} bytes, found {data.size}")
    out = pa.allocate_buffer(num_values * encoding.word_bits // 8)
    _kernels.unpack(data, encoding.word_bits, encoding.num_bits, num_values, out)
    return FixedWidth(num_values, encoding.word_bits, out)
