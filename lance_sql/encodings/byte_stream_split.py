"""Byte stream split: the bytes of the values of a chunk, transposed."""

from lance_sql import _kernels
from lance_sql.encodings.blocks import FixedWidth
from lance_sql.encodings.chunk_rows import ChunkRows
from lance_sql.encodings.tree import ByteStreamSplit, Flat
from lance_sql.errors import UnsupportedFeature


def mini_block(encoding: ByteStreamSplit, rows: ChunkRows) -> FixedWidth:
    """The values of `rows`: stream j of a chunk holds byte j (little endian) of its values."""
    inner = encoding.values
    if not isinstance(inner, Flat) or inner.bits_per_value not in (16, 32, 64, 128):
        raise UnsupportedFeature(f"byte stream split over {inner} is not supported")
    out = rows.allocate(inner.bits_per_value)
    _kernels.byte_stream_split(rows.chunks, rows.ranges, inner.bits_per_value // 8, out)
    return FixedWidth(rows.num_items, inner.bits_per_value, out)
