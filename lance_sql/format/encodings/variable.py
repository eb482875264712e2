"""Variable: byte strings as offsets and bytes."""

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts
from lance_sql.format.encodings.tree import Variable
from lance_sql.values.arrays import I64

CHUNK_BYTES = 1 << 13
"""Bytes of a chunk with its offsets: enough to compensate for its header, few enough to be read for one string."""

CHUNK_ITEMS = 4096


def chunks(values: VariableWidth, most_bytes: int, chunk_bytes: int = CHUNK_BYTES) -> ChunkCodec:
    """Encodes the strings in chunks of about `chunk_bytes`, and at most `most_bytes` unless two strings are longer."""
    bounds = bounds_of(values)
    used = int(bounds[-1] - bounds[0]) + bounds.nbytes
    average = used / max(values.num_values, 1)
    log2 = max(min(int(chunk_bytes / average), CHUNK_ITEMS), 2).bit_length() - 1
    while log2 > 1 and _largest(bounds, log2) > most_bytes:
        log2 -= 1
    return ChunkCodec(log2, used, lambda starts: encode_chunks(values, starts))


def encode_chunks(values: VariableWidth, starts: Starts) -> ChunkedValues:
    """Encodes the strings of each chunk: offsets from the start of its buffer, bytes, zeros up to a whole offset."""
    width = values.offset_bits // 8
    bounds = bounds_of(values)[starts].astype(np.int64)
    sizes = np.diff(bounds) + (np.diff(starts) + 1) * width
    out_starts = np.zeros(len(starts), np.int64)
    np.cumsum((sizes + width - 1) // width * width, out=out_starts[1:])
    out = pa.allocate_buffer(int(out_starts[-1]))
    _kernels.variable_chunks(
        values.offsets, values.offset_bits, values.num_values, values.data, starts, out_starts, out
    )
    return ChunkedValues(Variable(values.offset_bits), (Parts(out, out_starts),))


def encode_block(values: VariableWidth) -> bytes:
    """Encodes one buffer in the form for `block`."""
    bounds = bounds_of(values)
    width = values.offset_bits // 8
    first, last = int(bounds[0]), int(bounds[-1])
    header = struct.pack("<II" if width == 4 else "<QQ", values.offset_bits, 2 * width + bounds.nbytes)
    offsets: bytes = (bounds - bounds[0]).tobytes()
    return header + offsets + bytes(memoryview(values.data)[first:last])


def num_bytes(values: VariableWidth) -> int:
    """Returns the bytes of all strings."""
    bounds = bounds_of(values)
    return int(bounds[-1]) - int(bounds[0])


def longest(values: VariableWidth) -> int:
    """Returns the bytes of the longest string."""
    return _kernels.longest_string(values.offsets, values.offset_bits, values.num_values)


def lengths(values: VariableWidth) -> I64:
    """Returns the bytes of each string."""
    bounds = bounds_of(values).astype(np.int64, copy=False)
    return bounds[1:] - bounds[:-1]


def head(values: VariableWidth, num_bytes: int) -> VariableWidth:
    """Returns the first strings, up to about `num_bytes` bytes."""
    bounds = bounds_of(values)
    count = max(int(np.searchsorted(bounds, bounds[0] + num_bytes)), 1)
    count = min(count, values.num_values)
    return VariableWidth(count, values.offset_bits, values.offsets, values.data)


def starts(values: VariableWidth) -> I64:
    """Returns the start of each string in the bytes."""
    return bounds_of(values)[:-1].astype(np.int64)


def bounds_of(values: VariableWidth) -> npt.NDArray[np.signedinteger[Any]]:
    """Returns the offsets; the first need not be 0."""
    return np.frombuffer(values.offsets, f"<i{values.offset_bits // 8}", values.num_values + 1)


def _largest(bounds: npt.NDArray[np.signedinteger[Any]], log2: int) -> int:
    """Returns the bytes of the largest chunk of this many strings, with their offsets."""
    edges = np.append(bounds[: len(bounds) - 1 : 1 << log2], bounds[-1])
    return int(np.diff(edges).max(initial=0)) + ((1 << log2) + 2) * bounds.itemsize
