"""Numbers that are decoded as a whole: levels, positions, counts and offsets of pages of file version 2.3."""

import struct

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import general
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.codecs import decode_block
from lance_sql.format.encodings.tree import (
    Constant,
    Delta,
    DictionaryBlock,
    Encoding,
    Flat,
    General,
    Range,
    Rle,
)
from lance_sql.values.arrays import I64

MAX_WITHOUT_BYTES = 1 << 24
"""Maximum count of numbers that take no bytes; more are refused."""

_MOST = np.iinfo(np.int64).max
_EMPTY = pa.py_buffer(b"")


def has_buffer(encoding: Encoding) -> bool:
    """Whether numbers in the encoding have a buffer."""
    match encoding:
        case Constant() | Range():
            return False
        case Delta(deltas=deltas):
            return has_buffer(deltas)
        case Rle(values=values, run_lengths=lengths):
            return has_buffer(values) or has_buffer(lengths)
    return True


def decode(encoding: Encoding, data: pa.Buffer | None, count: int) -> I64:
    """Decodes `count` numbers of at least 0.

    data: None if the encoding has no buffer
    raises: CorruptFile, UnsupportedFeature
    """
    match encoding:
        case Constant(value=None):
            if count:
                raise CorruptFile(f"{count} numbers without a value")
            return np.empty(0, np.int64)
        case Constant(value=value):
            if value is None or len(value) not in (1, 2, 4, 8):
                raise CorruptFile(f"a number of {len(value or b'')} bytes")
            return np.full(_few(count), _signed(int.from_bytes(value, "little")), np.int64)
        case Range(start=start, step=step):
            _signed(start + step * max(_few(count) - 1, 0))
            return start + step * np.arange(count, dtype=np.int64)
        case Delta(base=base, deltas=deltas):
            if count == 0:
                raise CorruptFile("no numbers, which have differences")
            steps = decode(deltas, data, count - 1)
            if steps.sum(dtype=np.float64) + base > _MOST // 2:
                raise CorruptFile("differences that are too large")
            numbers = np.empty(count, np.int64)
            numbers[0] = base
            np.cumsum(steps, out=numbers[1:])
            numbers[1:] += base
            return numbers
        case DictionaryBlock(indices=indices, items=items, num_items=num_items):
            first, second = _two(data or _EMPTY)
            item_indices = decode(indices, first if has_buffer(indices) else None, count)
            values = decode(items, second if has_buffer(items) else None, num_items)
            if item_indices.size and int(item_indices.max()) >= num_items:
                raise CorruptFile(f"item {item_indices.max()} of a dictionary of {num_items}")
            return values[item_indices]
        case General(compression=compression, values=inside):
            return decode(inside, general.decompress(compression, data or _EMPTY), count)
        case Rle(values=values_of, run_lengths=lengths_of):
            values_data, lengths_data = _sized(data) if data is not None else (None, None)
            each = _run_lengths(lengths_of, lengths_data, count)
            return np.repeat(decode(values_of, values_data if has_buffer(values_of) else None, len(each)), each)
    block = decode_block(encoding, data or _EMPTY, count)
    if not isinstance(block, FixedWidth) or block.bits_per_value not in (8, 16, 32, 64):
        raise UnsupportedFeature(f"numbers encoded as {encoding} are not supported")
    unsigned = np.frombuffer(block.data, _type(block.bits_per_value), count)
    if block.bits_per_value == 64 and unsigned.size and int(unsigned.max()) > _MOST:
        raise CorruptFile(f"the number {unsigned.max()} is not possible")
    return unsigned.astype(np.int64)


def run_bits(encoding: Rle) -> int:
    """Returns the width of the values of runs.

    raises: UnsupportedFeature
    """
    match encoding:
        case Rle(values=Flat(bits_per_value=bits), run_lengths=Flat(bits_per_value=8 | 16)) if bits in (8, 16, 32, 64):
            return bits
    raise UnsupportedFeature(f"runs encoded as {encoding} are not supported")


def runs(encoding: Rle, values: pa.Buffer, lengths: pa.Buffer, count: int) -> pa.Buffer:
    """Decodes `count` values of `run_bits` bits from runs.

    raises: CorruptFile for runs of another total
    """
    bits = run_bits(encoding)
    assert isinstance(encoding.run_lengths, Flat)
    length_bits = encoding.run_lengths.bits_per_value
    each = _lengths(lengths, length_bits, count)
    if values.size != len(each) * bits // 8:
        raise CorruptFile(f"{len(each)} runs with {values.size} bytes of values")
    return pa.py_buffer(np.repeat(np.frombuffer(values, _type(bits)), each))


def _lengths(data: pa.Buffer, bits: int, count: int) -> I64:
    if data.size % (bits // 8):
        raise CorruptFile(f"lengths of runs of {bits} bits in {data.size} bytes")
    lengths = np.frombuffer(data, _type(bits))
    if int(lengths.sum(dtype=np.float64)) != count:
        raise CorruptFile(f"runs of {lengths.sum()} values, expected {count}")
    return lengths.astype(np.int64)


def _run_lengths(encoding: Encoding, data: pa.Buffer | None, count: int) -> I64:
    match encoding:
        case Flat(bits_per_value=8 | 16 | 32 | 64 as bits) if data is not None:
            return _lengths(data, bits, count)
        case Range(start=start, step=step) if start > 0:
            # their sum determines their number
            num_most = min(_few(count), 1 << 16)
            ends = np.cumsum(decode(encoding, None, num_most))
            last_run = int(np.searchsorted(ends, count))
            if last_run == num_most or int(ends[last_run]) != count:
                raise CorruptFile(f"runs of other than {count} values, which begin with {start} and grow by {step}")
            return np.diff(ends[: last_run + 1], prepend=0)
    raise UnsupportedFeature(f"lengths of runs encoded as {encoding} are not supported")


def _sized(data: pa.Buffer) -> tuple[pa.Buffer, pa.Buffer]:
    """Splits data after a size word: the size of the first part, that part, and the rest."""
    if data.size < 8:
        raise CorruptFile(f"runs in {data.size} bytes")
    (size,) = struct.unpack_from("<Q", data)
    if size > data.size - 8:
        raise CorruptFile(f"values of runs of {size} bytes in a block of {data.size}")
    return data.slice(8, size), data.slice(8 + size)


def _two(data: pa.Buffer) -> tuple[pa.Buffer, pa.Buffer]:
    if data.size < 16:
        raise CorruptFile(f"a block with a dictionary of {data.size} bytes")
    first, second = struct.unpack_from("<QQ", data)
    if first + second != data.size - 16:
        raise CorruptFile(f"a block with a dictionary of {data.size} bytes claims {first} and {second}")
    return data.slice(16, first), data.slice(16 + first)


def _few(count: int) -> int:
    if count > MAX_WITHOUT_BYTES:
        raise UnsupportedFeature(f"{count} numbers without bytes are not supported")
    return count


def _signed(number: int) -> int:
    if number > _MOST:
        raise CorruptFile(f"the number {number} is not possible")
    return number


def _type(bits: int) -> str:
    return f"<u{bits // 8}"
