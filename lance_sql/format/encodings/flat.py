"""Flat: contiguous values, the same bytes in every context."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts, log2_items
from lance_sql.format.encodings.tree import Flat

CHUNK_ITEMS = 4096
"""Values of a chunk: enough to compensate for its header, few enough to be read for one of them."""

CHUNK_BITS = 1 << 14
"""Booleans of a chunk."""


def chunks(values: FixedWidth, most_bytes: int) -> ChunkCodec:
    """Encodes the values unchanged, in chunks of at most `most_bytes` bytes; booleans stay packed."""
    bits = values.bits_per_value

    def encode(starts: Starts) -> ChunkedValues:
        return ChunkedValues(Flat(bits), (parts(values.data, bits, starts),))

    return ChunkCodec(log2_chunk_items(bits, most_bytes), values.num_values * bits // 8, encode)


def log2_chunk_items(bits_per_value: int, most_bytes: int) -> int:
    """Returns the binary logarithm of the items of a chunk."""
    return log2_items(bits_per_value, most_bytes, CHUNK_BITS if bits_per_value == 1 else CHUNK_ITEMS)


def parts(data: pa.Buffer, bits_per_value: int, starts: Starts) -> Parts:
    """Returns the values of each chunk; copies only if a chunk does not begin at a whole byte."""
    bounds = starts * bits_per_value
    if not (bounds[:-1] % 8).any():
        return Parts(data, (bounds + 7) // 8)
    out_starts = np.zeros(len(starts), np.int64)
    np.cumsum((np.diff(bounds) + 7) // 8, out=out_starts[1:])
    out = pa.allocate_buffer(int(out_starts[-1]))
    _kernels.align_bits(data, bits_per_value, int(starts[-1]), starts, out_starts, out)
    return Parts(out, out_starts)
