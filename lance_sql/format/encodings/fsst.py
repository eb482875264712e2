"""FSST: byte strings as codes of a symbol table.

Source: message Fsst; Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression", VLDB 2020.
"""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings import variable
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues
from lance_sql.format.encodings.tree import Fsst, Variable
from lance_sql.values.arrays import U8

SYMBOL_TABLE_BYTES = 2312
MAX_EXPANSION = 8
"""A code of one byte expands to at most 8 bytes."""

_SAMPLE_BYTES = 1 << 15
_TRIAL_BYTES = 1 << 16
_NOISE_BYTES = 1 << 14
_NOISE_ENTROPY = 7.8
"""Bits of information in a byte above which bytes count as noise."""
_WORTHWHILE = 0.95
"""If codes take more than this share of the bytes, FSST is not used."""


def encode(values: VariableWidth) -> tuple[Fsst, VariableWidth] | None:
    """Encodes the strings with a table trained for them; returns None if that saves next to nothing."""
    if _is_noise(values):
        return None
    table = np.empty(SYMBOL_TABLE_BYTES, np.uint8)
    _kernels.fsst_train(values.offsets, values.offset_bits, values.num_values, values.data, _SAMPLE_BYTES, table)
    first = variable.head(values, _TRIAL_BYTES)
    if _encode(first, table).data.size > variable.num_bytes(first) * _WORTHWHILE:
        return None
    return Fsst(table.tobytes(), Variable(values.offset_bits)), _encode(values, table)


def _is_noise(values: VariableWidth) -> bool:
    """Whether the bytes are distributed so evenly that symbols are unlikely, as in compressed data."""
    bounds = variable.bounds_of(values)
    middle = (int(bounds[0]) + int(bounds[-1]) - _NOISE_BYTES) // 2
    start = max(middle, int(bounds[0]))
    sample = np.frombuffer(values.data, np.uint8)[start : min(start + _NOISE_BYTES, int(bounds[-1]))]
    counts = np.bincount(sample)
    shares = counts[counts > 0] / len(sample)
    return bool(-(shares * np.log2(shares)).sum() > _NOISE_ENTROPY)


def _encode(values: VariableWidth, table: U8) -> VariableWidth:
    bits, count = values.offset_bits, values.num_values
    offsets = pa.allocate_buffer((count + 1) * bits // 8)
    # a byte without a symbol takes two
    data = pa.allocate_buffer(2 * variable.num_bytes(values))
    size = _kernels.fsst_encode(values.offsets, bits, count, values.data, table, offsets, data)
    return VariableWidth(count, bits, offsets, data.slice(0, size))


def chunks(values: VariableWidth, most_bytes: int, chunk_bytes: int) -> ChunkCodec | None:
    """Encodes the strings in chunks like those of plain strings; returns None if that saves next to nothing."""
    encoded = encode(values)
    if encoded is None:
        return None
    encoding, codes = encoded
    inner = variable.chunks(codes, most_bytes, chunk_bytes)
    return ChunkCodec(
        inner.log2_items, inner.num_bytes, lambda starts: ChunkedValues(encoding, inner.encode(starts).buffers)
    )
