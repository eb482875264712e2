"""RLE: run values and run lengths of one byte each."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.chunked import ChunkCodec, ChunkedValues, Parts, Starts, uniform_starts
from lance_sql.format.encodings.tree import Flat, Rle

MAX_RUN = 255
"""A run length is one byte."""

_LOG2_CHUNK = 12


def num_changes(values: FixedWidth) -> int:
    """Counts the values that differ from the one before, a lower bound of the runs without the first one."""
    return _kernels.count_changes(values.data, values.bits_per_value, values.num_values)


def chunks(values: FixedWidth) -> ChunkCodec:
    """Encodes the runs of each chunk; values of 8, 16, 32 or 64 bits."""
    bits, count = values.bits_per_value, values.num_values
    expected = uniform_starts(count, _LOG2_CHUNK)
    num_runs = int(_count_runs(values.data, bits, expected).sum())

    def encode(starts: Starts) -> ChunkedValues:
        runs = np.zeros(len(starts), np.int64)
        np.cumsum(_count_runs(values.data, bits, starts), out=runs[1:])
        run_values = pa.allocate_buffer(int(runs[-1]) * bits // 8)
        lengths = pa.allocate_buffer(int(runs[-1]))
        _kernels.encode_runs(values.data, bits, count, starts, run_values, lengths)
        return ChunkedValues(Rle(Flat(bits), Flat(8)), (Parts(run_values, runs * (bits // 8)), Parts(lengths, runs)))

    return ChunkCodec(_LOG2_CHUNK, num_runs * (bits // 8 + 1), encode)


def encode_blocks(data: pa.Buffer, value_bits: int, starts: Starts) -> Parts:
    """Encodes the runs of each chunk as a separate block."""
    runs = _count_runs(data, value_bits, starts)
    out_starts = np.zeros(len(starts), np.int64)
    np.cumsum(8 + runs * (value_bits // 8 + 1), out=out_starts[1:])
    out = pa.allocate_buffer(int(out_starts[-1]))
    _kernels.encode_run_blocks(data, value_bits, int(starts[-1]), starts, runs, out)
    return Parts(out, out_starts)


def _count_runs(data: pa.Buffer, value_bits: int, starts: Starts) -> Starts:
    runs = np.empty(len(starts) - 1, np.int64)
    _kernels.count_runs(data, value_bits, int(starts[-1]), starts, runs)
    return runs
