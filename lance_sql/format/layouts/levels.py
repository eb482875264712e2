"""The repetition and definition levels of a page: their encodings, and reading them from chunks or buffers."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import LevelCodec
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import bitpacking, rle
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.chunked import Parts, Starts
from lance_sql.format.encodings.codecs import decode_block
from lance_sql.format.encodings.tree import Encoding, Flat, InlineBitpacking, OutOfLineBitpacking, Rle
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts.nest import Levels

LEVEL_BITS = 16
MAX_LEVEL_BYTES = 0xFFFF
"""Maximum bytes of the levels of one chunk."""

_RUN_BYTES = 3
_RUN_BLOCK_BYTES = 16
"""Size of a block of runs without the runs: its length word and padding."""


@dataclass(frozen=True, slots=True)
class LevelEncoding:
    """Encoding of the levels of a chunk for the kernels: a codec, and the bits of each level."""

    codec: LevelCodec
    num_bits: int


def level_encoding(encoding: Encoding) -> LevelEncoding:
    """Converts `encoding` for the kernels.

    raises: UnsupportedFeature for an encoding that levels cannot have
    """
    match encoding:
        case Flat(bits_per_value=16):
            return LevelEncoding(LevelCodec.FLAT16, LEVEL_BITS)
        case OutOfLineBitpacking(word_bits=16, num_bits=num_bits):
            return LevelEncoding(LevelCodec.PACKED, num_bits)
        case InlineBitpacking(word_bits=16):
            return LevelEncoding(LevelCodec.INLINE_PACKED, LEVEL_BITS)
        case Rle(values=Flat(bits_per_value=16), run_lengths=Flat(bits_per_value=8)):
            return LevelEncoding(LevelCodec.RLE, LEVEL_BITS)
        case _:
            raise UnsupportedFeature(f"levels encoded as {encoding} are not supported")


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


def levels_from_buffer(encoding: Encoding | None, data: pa.Buffer, num_levels: int) -> Levels | None:
    """Reads the levels of a buffer; raw 16-bit integers without an encoding, None if the buffer is empty."""
    if data.size == 0:
        return None
    if encoding is None:
        if data.size % 2:
            raise CorruptFile(f"levels of {data.size} bytes")
        return np.frombuffer(data, "<u2")
    block = decode_block(encoding, data, num_levels)
    if not isinstance(block, FixedWidth) or block.bits_per_value != LEVEL_BITS:
        raise CorruptFile(f"levels encoded as {encoding}")
    return np.frombuffer(block.data, "<u2", num_levels)
