"""Buffers made by hand, decoded in each of the three contexts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.format.encodings.blocks import Block, VariableWidth, to_array
from lance_sql.format.encodings.chunk_rows import ChunkRows
from lance_sql.format.encodings.codecs import (
    decode_block,
    decode_fixed_values,
    decode_mini_block,
    decode_variable_values,
)
from lance_sql.format.encodings.tree import Encoding
from lance_sql.values import row_ranges
from tests.kernels.pages import Chunk, build

Array = np.ndarray[Any, Any]


def chunk_rows(
    chunks: Sequence[tuple[int, Sequence[bytes]]], ranges: Sequence[tuple[int, int]] | None = None
) -> ChunkRows:
    """The items in `ranges` (all of them without) of a page with these chunks: (items, value buffers) each."""
    page = build([Chunk(count, buffers) for count, buffers in chunks], large=True)
    wanted = np.array(ranges if ranges is not None else [(0, page.num_items)], np.int64).reshape(-1, 2)
    data = pa.py_buffer(page.data)
    return ChunkRows(page.table(), data, page.chunks(), wanted, row_ranges.count(wanted), data.size)


def mini_block(
    encoding: Encoding,
    chunks: Sequence[tuple[int, Sequence[bytes]]],
    type: pa.DataType,
    ranges: Sequence[tuple[int, int]] | None = None,
) -> pa.Array:
    return sound(decode_mini_block(encoding, chunk_rows(chunks, ranges)), type)


def block(encoding: Encoding, data: bytes, count: int, type: pa.DataType) -> pa.Array:
    return sound(decode_block(encoding, pa.py_buffer(data), count), type)


def fixed_values(encoding: Encoding, data: bytes, count: int, type: pa.DataType) -> pa.Array:
    return sound(decode_fixed_values(encoding, pa.py_buffer(data), count), type)


def variable_values(encoding: Encoding, values: Sequence[bytes], type: pa.DataType, bits: int = 32) -> pa.Array:
    return sound(decode_variable_values(encoding, strings(values, bits)), type)


def strings(values: Sequence[bytes], bits: int = 32) -> VariableWidth:
    """Byte strings as a full-zip page hands them over."""
    offsets = np.cumsum([0, *map(len, values)]).astype(f"<i{bits // 8}")
    return VariableWidth(len(values), bits, pa.py_buffer(offsets), pa.py_buffer(b"".join(values)))


def sound(decoded: Block, type: pa.DataType) -> pa.Array:
    array = to_array(decoded, type)
    array.validate(full=True)
    return array


def lz4(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + bytes(pa.Codec("lz4_raw").compress(data, asbytes=True))


def zstd(data: bytes, *, with_size: bool = True) -> bytes:
    return (struct.pack("<Q", len(data)) if with_size else b"") + bytes(pa.Codec("zstd").compress(data, asbytes=True))
