"""FSST: byte strings as codes of a symbol table.

Source: message Fsst; Boncz, Neumann and Leis, "FSST: Fast Random Access String Compression", VLDB 2020.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import variable
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues
from lance_sql.format.encodings.tree import Fsst, Variable
from lance_sql.values.arrays import U8

SYMBOL_TABLE_BYTES = 2312
MAX_EXPANSION = 8
"""A code of one byte expands to at most 8 bytes."""

_FIRST_GUESS = 3.0
_HEADROOM = 1.1
_SLACK = 64 * 1024
"""The kernel stops before a piece that might not fit; this reserves space for a whole chunk at the end."""

_MAX_KNOWN = 1024
_known_expansion: dict[bytes, float] = {}
"""Expansion of codes by symbol table, as of its last use: pages are read in batches."""

_SAMPLE_BYTES = 1 << 15
_TRIAL_BYTES = 1 << 16
_NOISE_BYTES = 1 << 14
_NOISE_ENTROPY = 7.8
"""Bits of information in a byte above which bytes count as noise."""
_WORTHWHILE = 0.95
"""If codes take more than this share of the bytes, FSST is not used."""

Decode = Callable[[int, pa.Buffer, pa.Buffer], tuple[int, int]]


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


def per_value(encoding: Fsst, values: VariableWidth) -> VariableWidth:
    """Decodes `values`, whose bytes are codes."""
    bits = offset_bits(encoding)

    def decode(start: int, offsets: pa.Buffer, data: pa.Buffer) -> tuple[int, int]:
        return _kernels.fsst_values(
            values.offsets,
            values.offset_bits,
            values.num_values,
            values.data,
            encoding.symbol_table,
            start,
            offsets,
            bits,
            data,
        )

    return _grow(decode, encoding.symbol_table, values.num_values, bits, values.data.size)


def offset_bits(encoding: Fsst) -> int:
    """Returns the offset width of the strings.

    raises: CorruptFile for a symbol table of another size, UnsupportedFeature for values other than Variable
    """
    if len(encoding.symbol_table) != SYMBOL_TABLE_BYTES:
        raise CorruptFile(f"a symbol table of {len(encoding.symbol_table)} bytes, expected {SYMBOL_TABLE_BYTES}")
    if not isinstance(encoding.values, Variable):
        raise UnsupportedFeature(f"FSST over {encoding.values} is not supported")
    return encoding.values.offset_bits


def _grow(decode: Decode, symbol_table: bytes, num_values: int, bits: int, compressed: int) -> VariableWidth:
    """Decodes into a buffer that grows if its estimated size was too low."""
    offsets = pa.allocate_buffer((num_values + 1) * bits // 8)
    most = compressed * MAX_EXPANSION + 2 * MAX_EXPANSION
    expansion = _known_expansion.get(symbol_table, _FIRST_GUESS) * _HEADROOM
    capacity = min(most, int(compressed * expansion) + _SLACK)
    data = pa.allocate_buffer(capacity, resizable=True)
    done = size = 0
    while True:
        done, size = decode(done, offsets, data)
        if done == num_values:
            _remember(symbol_table, size / max(compressed, 1))
            return VariableWidth(num_values, bits, offsets, data.slice(0, size))
        if capacity >= most:
            raise CorruptFile("FSST codes stand for more bytes than they can")
        capacity = min(most, max(capacity * 2, size * num_values // max(done, 1)) + _SLACK)
        data.resize(capacity)


def _remember(symbol_table: bytes, expansion: float) -> None:
    _known_expansion.pop(symbol_table, None)
    _known_expansion[symbol_table] = expansion
    while len(_known_expansion) > _MAX_KNOWN:
        # another thread may have removed the oldest one
        _known_expansion.pop(next(iter(_known_expansion), b""), None)
