"""Byte stream split: the bytes of the values of a chunk, transposed."""

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts
from lance_sql.format.encodings.tree import ByteStreamSplit, Flat

CHUNK_BYTES = 1 << 12


def chunks(values: FixedWidth) -> ChunkCodec:
    """Transposes the values of each chunk; values of 32 or 64 bits."""
    width = values.bits_per_value // 8

    def encode(starts: Starts) -> ChunkedValues:
        out = pa.allocate_buffer(values.num_values * width)
        _kernels.split_bytes(values.data, width, values.num_values, starts, out)
        return ChunkedValues(ByteStreamSplit(Flat(8 * width)), (Parts(out, starts * width),))

    return ChunkCodec((CHUNK_BYTES // width).bit_length() - 1, values.data.size, encode)
