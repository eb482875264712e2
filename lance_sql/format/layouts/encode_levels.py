"""Encoding of the repetition and definition levels of a page."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings import bitpacking, rle
from lance_sql.format.encodings.chunked import Parts, Starts
from lance_sql.format.encodings.tree import Encoding, Flat, OutOfLineBitpacking, Rle
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts.nest import Levels

LEVEL_BITS = 16
MAX_LEVEL_BYTES = 0xFFFF
"""Maximum bytes of the levels of one chunk."""

_RUN_BYTES = 3
_RUN_BLOCK_BYTES = 16
"""Size of a block of runs without the runs: its length word and padding."""


def encode_levels(
    levels: Levels, starts: Starts, rules: PageRules, most_bytes: int = MAX_LEVEL_BYTES
) -> tuple[Encoding, Parts]:
    """Encodes the levels of each chunk as one block, in the encoding with the fewest bytes.

    starts: the first entry of each chunk, then the number of entries
    most_bytes: of one block of runs
    """
    data = pa.py_buffer(np.ascontiguousarray(levels))
    num_bits = max(int(levels.max(initial=0)).bit_length(), 1)
    packed_bytes = len(levels) * num_bits // 8
    if rules.run_length_levels:
        fewest_runs = _kernels.count_changes(data, LEVEL_BITS, len(levels)) + len(levels) // rle.MAX_RUN
        if fewest_runs * _RUN_BYTES + (len(starts) - 1) * _RUN_BLOCK_BYTES < packed_bytes // 2:
            runs = rle.encode_blocks(data, LEVEL_BITS, starts)
            # few runs in total may still be many in one chunk
            if int(runs.sizes.max()) <= most_bytes:
                return Rle(Flat(LEVEL_BITS), Flat(8)), runs
    encoding = OutOfLineBitpacking(LEVEL_BITS, num_bits)
    return encoding, bitpacking.encode_blocks(data, LEVEL_BITS, num_bits, starts)
