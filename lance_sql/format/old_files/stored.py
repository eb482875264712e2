"""Parts of a buffer of fixed-width values: the bytes of given values, and selection of values from bytes."""

from collections.abc import Sequence
from math import gcd

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings.bitpacking import GROUP
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.tree import Encoding, Flat, OutOfLineBitpacking
from lance_sql.format.old_files.tree import Bitpacked
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U8, U64, BoolMask
from lance_sql.values.row_ranges import RowRanges

_ALIGNMENT = 8


def unit(encoding: Encoding) -> tuple[int, int]:
    """Returns the smallest part of a buffer that can be decoded alone: (number of values, number of bytes).

    raises: UnsupportedFeature for encodings whose values can only be decoded all together
    """
    match encoding:
        case Flat(bits_per_value=bits) | Bitpacked(num_bits=bits):
            shared = gcd(bits, 8)
            return 8 // shared, bits // shared
        case OutOfLineBitpacking(num_bits=bits):
            return GROUP, GROUP * bits // 8
    raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in a buffer of its own")


def num_bytes(encoding: Encoding, num_values: int) -> int:
    """Returns the minimum bytes of a buffer of `num_values` values."""
    if isinstance(encoding, (Flat, Bitpacked)):
        bits = encoding.bits_per_value if isinstance(encoding, Flat) else encoding.num_bits
        return (num_values * bits + 7) // 8
    per_unit, unit_bytes = unit(encoding)
    return -(-num_values // per_unit) * unit_bytes


def max_values(encoding: Encoding, size: int) -> int:
    """Returns the maximum number of values in a buffer of `size` bytes."""
    per_unit, unit_bytes = unit(encoding)
    if isinstance(encoding, OutOfLineBitpacking):
        return size // unit_bytes * per_unit
    return size * per_unit // unit_bytes


def select(block: FixedWidth, rows: RowRanges) -> FixedWidth:
    """Returns the values at `rows`, without a copy if they are adjacent."""
    bits, count = block.bits_per_value, row_ranges.count(rows)
    if bits % 8 == 0:
        width = bits // 8
        if len(rows) == 1:
            data = _aligned(block.data.slice(int(rows[0, 0]) * width, count * width), width)
        else:
            data = pa.allocate_buffer(count * width)
            starts, lengths = rows[:, 0] * width, (rows[:, 1] - rows[:, 0]) * width
            _kernels.scatter_ranges(block.data, starts, lengths, np.cumsum(lengths) - lengths, data)
        return FixedWidth(count, bits, data)
    if len(rows) == 1:
        first, end = int(rows[0, 0]) * bits, int(rows[0, 1]) * bits
        data = block.data.slice(first // 8, (end + 7) // 8 - first // 8)
        if first % 8:
            data = bitmap(_unpack(data, first % 8 + count * bits)[first % 8 :])
        return FixedWidth(count, bits, data)
    values = _unpack(block.data, block.num_values * bits).reshape(-1, bits)
    return FixedWidth(count, bits, bitmap(values[row_ranges.expand(rows)]))


def join(blocks: Sequence[FixedWidth]) -> FixedWidth:
    """Concatenates the values of all blocks (at least one, of one width)."""
    if len(blocks) == 1:
        return blocks[0]
    bits, count = blocks[0].bits_per_value, sum(block.num_values for block in blocks)
    if bits % 8 == 0:
        return FixedWidth(count, bits, pa.py_buffer(b"".join(block.data for block in blocks)))
    parts = [_unpack(block.data, block.num_values * bits) for block in blocks]
    return FixedWidth(count, bits, bitmap(np.concatenate(parts)))


def integers(block: FixedWidth) -> U64:
    """Returns the values as unsigned integers.

    raises: UnsupportedFeature for widths other than those of integers
    """
    if block.bits_per_value not in (8, 16, 32, 64):
        raise UnsupportedFeature(f"integers of {block.bits_per_value} bits are not supported")
    return np.frombuffer(block.data, f"<u{block.bits_per_value // 8}", block.num_values).astype(np.uint64, copy=False)


def bitmap(bits: U8 | BoolMask) -> pa.Buffer:
    """Packs bits, such as a validity mask, from the least significant bit of each byte on."""
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def bits(data: pa.Buffer, num_bits: int) -> BoolMask:
    """Unpacks a validity bitmap into booleans."""
    return _unpack(data, num_bits).view(np.bool_)


def _aligned(data: pa.Buffer, width: int) -> pa.Buffer:
    """Returns the buffer at an address that consumers accept, because files do not align their buffers."""
    # values of zero bytes may have any address
    is_aligned = width == 0 or data.address % min(width & -width, _ALIGNMENT) == 0
    return data if is_aligned else pa.py_buffer(data.to_pybytes())


def _unpack(data: pa.Buffer, num_bits: int) -> U8:
    return np.unpackbits(np.frombuffer(data, np.uint8, (num_bits + 7) // 8), count=num_bits, bitorder="little")
