"""RLE: run values and run lengths of one byte each."""

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.encodings.blocks import FixedWidth
from lance_sql.encodings.chunk_rows import ChunkRows
from lance_sql.encodings.tree import Flat, Rle
from lance_sql.errors import CorruptFile, UnsupportedFeature

_VALUE_BITS = (8, 16, 32, 64)

MAX_RUN = 255
"""A run length is one byte."""


def value_bits(encoding: Rle) -> int:
    """The width of the run values.

    raises: UnsupportedFeature for values or lengths that are themselves encoded (file version 2.3)
    """
    if encoding.run_lengths != Flat(8):
        raise UnsupportedFeature(f"run lengths encoded as {encoding.run_lengths} are not supported")
    if not isinstance(encoding.values, Flat) or encoding.values.bits_per_value not in _VALUE_BITS:
        raise UnsupportedFeature(f"run values encoded as {encoding.values} are not supported")
    return encoding.values.bits_per_value


def mini_block(encoding: Rle, rows: ChunkRows) -> FixedWidth:
    """The values of `rows`: buffer 0 of a chunk has the run values, buffer 1 the lengths."""
    bits = value_bits(encoding)
    out = pa.allocate_buffer(rows.num_items * bits // 8)
    _kernels.rle(rows.chunks, rows.ranges, bits, out)
    return FixedWidth(rows.num_items, bits, out)


def block(encoding: Rle, data: pa.Buffer, num_values: int) -> FixedWidth:
    """One buffer: the number of bytes of the run values, the run values, the lengths."""
    bits = value_bits(encoding)
    if num_values > data.size * MAX_RUN:
        raise CorruptFile(f"{num_values} values in runs of {data.size} bytes")
    out = pa.allocate_buffer(num_values * bits // 8)
    _kernels.rle_block(data, bits, num_values, out)
    return FixedWidth(num_values, bits, out)
