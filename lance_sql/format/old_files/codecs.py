"""Decoding of buffers of trees: one codec for each encoding that a buffer of its own may have.

The specification closes the set. Encodings without a codec raise an error that names them.
"""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.bitpacking import GROUP
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.tree import Encoding, Flat, OutOfLineBitpacking
from lance_sql.format.old_files.tree import Bitpacked

MAX_ZEROS = 1 << 24
"""Limit of values of 0 bits, which take no bytes, in one block; more count as damage."""

_UNPACKED_VALUES = 1 << 16


def decode_stored(encoding: Encoding, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Decodes the first `num_values` values of a buffer of a tree, or of a part of it that begins a unit.

    See `stored.unit`; bit-packed groups are always complete.
    """
    match encoding:
        case Flat():
            return _flat(encoding, data, num_values)
        case Bitpacked():
            return _adjacent_words(encoding, data, num_values)
        case OutOfLineBitpacking():
            # the last group is complete as well
            return _groups(encoding, data, -(-num_values // GROUP) * GROUP)
    raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in a buffer of its own")


def _flat(encoding: Flat, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Returns the first `num_values` values of `data`, without a copy.

    raises: CorruptFile if `data` is too short for them
    """
    needed = (num_values * encoding.bits_per_value + 7) // 8
    if data.size < needed:
        raise CorruptFile(
            f"{num_values} values of {encoding.bits_per_value} bits need {needed} bytes, found {data.size}"
        )
    return FixedWidth(num_values, encoding.bits_per_value, data.slice(0, needed))


def _groups(encoding: OutOfLineBitpacking, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Decodes complete groups of one width."""
    if encoding.num_bits == 0 and num_values > MAX_ZEROS:
        raise CorruptFile(f"{num_values} values of 0 bits")
    needed = num_values // GROUP * 128 * encoding.num_bits
    if data.size < needed:
        raise CorruptFile(f"{num_values} values of {encoding.num_bits} bits need {needed} bytes, found {data.size}")
    out = pa.allocate_buffer(num_values * encoding.word_bits // 8)
    _kernels.unpack(data, encoding.word_bits, encoding.num_bits, num_values, out)
    return FixedWidth(num_values, encoding.word_bits, out)


def _adjacent_words(encoding: Bitpacked, data: pa.Buffer, num_values: int) -> FixedWidth:
    """Decodes adjacent words; a signed word is extended by its highest bit.

    raises: CorruptFile if `data` is too short for them
    """
    word, width = encoding.word_bits, encoding.num_bits
    if data.size * 8 < num_values * width:
        raise CorruptFile(f"{num_values} values of {width} bits in {data.size} bytes")
    packed = np.frombuffer(data, np.uint8)
    out = np.empty((num_values, word // 8), np.uint8)
    # a few values at a time, because each unpacked bit takes a byte
    for start in range(0, num_values, _UNPACKED_VALUES):
        count = min(_UNPACKED_VALUES, num_values - start)
        part = packed[start * width // 8 : ((start + count) * width + 7) // 8]
        bits = np.zeros((count, word), np.uint8)
        bits[:, :width] = np.unpackbits(part, count=count * width, bitorder="little").reshape(count, width)
        if encoding.is_signed:
            bits[:, width:] = bits[:, width - 1 : width]
        out[start : start + count] = np.packbits(bits, axis=1, bitorder="little")
    return FixedWidth(num_values, word, pa.py_buffer(out))
