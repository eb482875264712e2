"""The meaning of each kernel in plain NumPy, for property tests; not used by the library."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

GROUP = 1024
_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)


def take(values: Array, ranges: Ints) -> Array:
    """The items of half-open ranges, one after the other."""
    return np.concatenate([values[start:end] for start, end in ranges.reshape(-1, 2)] or [values[:0]])


def _places(word_bits: int) -> Ints:
    """Position in the group of value r of each lane: [word_bits, lanes]."""
    rows = np.arange(word_bits)
    starts = 16 * np.array(_ORDER)[rows // 8] + 128 * (rows % 8)
    return np.asarray(starts[:, None] + np.arange(GROUP // word_bits)[None, :])


def pack_group(values: Array, num_bits: int) -> bytes:
    """1024 unsigned values in FastLanes order: each lane is a stream of bits down its column."""
    word_bits = values.dtype.itemsize * 8
    lanes = GROUP // word_bits
    by_lane = values[_places(word_bits)].T  # [lanes, word_bits]
    as_bytes = np.ascontiguousarray(by_lane).view(np.uint8).reshape(lanes, word_bits, word_bits // 8)
    bits = np.unpackbits(as_bytes, axis=2, bitorder="little")[:, :, :num_bits]
    words = np.packbits(bits.reshape(lanes, word_bits * num_bits), axis=1, bitorder="little")
    matrix = words.reshape(lanes, -1).view(values.dtype)[:, :num_bits]
    return np.ascontiguousarray(matrix.T).tobytes()


def unpack_group(packed: bytes, num_bits: int, dtype: npt.DTypeLike) -> Array:
    """The 1024 values of a packed group."""
    dtype = np.dtype(dtype)
    word_bits = dtype.itemsize * 8
    lanes = GROUP // word_bits
    matrix = np.frombuffer(packed, dtype).reshape(num_bits, lanes)
    streams = np.ascontiguousarray(matrix.T).view(np.uint8).reshape(lanes, -1)
    bits = np.unpackbits(streams, axis=1, bitorder="little").reshape(lanes, word_bits, num_bits)
    wide = np.zeros((lanes, word_bits, word_bits), np.uint8)
    wide[:, :, :num_bits] = bits
    values = np.packbits(wide, axis=2, bitorder="little").reshape(lanes, -1).view(dtype)
    out = np.zeros(GROUP, dtype)
    out[_places(word_bits)] = values.T
    return out


def pack_groups(values: Array, num_bits: int, *, raw_tail: bool) -> bytes:
    """Out-of-line bitpacking of any number of values."""
    if num_bits == 0:
        return b""
    full = len(values) - len(values) % GROUP
    parts = [pack_group(values[i : i + GROUP], num_bits) for i in range(0, full, GROUP)]
    tail = values[full:]
    if len(tail):
        padded = np.concatenate([tail, np.zeros(GROUP - len(tail), values.dtype)])
        parts.append(tail.tobytes() if raw_tail else pack_group(padded, num_bits))
    return b"".join(parts)


def inline_group(values: Array, num_bits: int) -> bytes:
    """A word holding the width, then one group, padded with zeros."""
    padded = np.concatenate([values, np.zeros(GROUP - len(values), values.dtype)])
    return np.array([num_bits], values.dtype).tobytes() + pack_group(padded, num_bits)


def runs_of(values: Array) -> tuple[Array, npt.NDArray[np.uint8]]:
    """Run values and u8 run lengths; longer runs are split."""
    run_values, lengths = [], []
    start = 0
    while start < len(values):
        end = start + 1
        while end < len(values) and end - start < 255 and values[end] == values[start]:
            end += 1
        run_values.append(values[start])
        lengths.append(end - start)
        start = end
    return np.array(run_values, values.dtype), np.array(lengths, np.uint8)


def run_block(values: Array) -> bytes:
    """u64 byte length of the run values, the values, the lengths."""
    run_values, lengths = runs_of(values)
    return np.array([run_values.nbytes], "<u8").tobytes() + run_values.tobytes() + lengths.tobytes()


def bitmap(flags: Sequence[int] | Array) -> bytes:
    """Bits, least significant first."""
    return np.packbits(np.asarray(flags, bool), bitorder="little").tobytes()


def bits_of(data: bytes | Array, num_bits: int) -> npt.NDArray[np.bool_]:
    """The first num_bits of a bitmap."""
    return np.unpackbits(np.frombuffer(bytes(data), np.uint8), bitorder="little")[:num_bits].astype(bool)


def variable_chunk(values: Sequence[bytes], offset_bits: int) -> bytes:
    """n + 1 offsets from the start of the buffer, then the bytes, padded to the width of an offset."""
    width = offset_bits // 8
    lengths = np.array([0, *(len(value) for value in values)])
    offsets = (np.cumsum(lengths) + (len(values) + 1) * width).astype(f"<u{width}")
    data = offsets.tobytes() + b"".join(values)
    return data + b"H" * (-len(data) % width)


def symbol_table(symbols: Sequence[bytes], *, in_use: bool = True) -> bytes:
    """2312 bytes: header, symbols padded to 8 bytes, their lengths, zeros."""
    header = len(symbols) | (1 << 24 if in_use else 0) | 0x46535354 << 32
    data = np.array([header], "<u8").tobytes()
    data += b"".join(symbol.ljust(8, b"\0") for symbol in symbols) + bytes(len(s) for s in symbols)
    return data.ljust(2312, b"\0")


def fsst_encode(value: bytes, symbols: Sequence[bytes]) -> bytes:
    """Codes of the longest symbol at each position; bytes without one are escaped."""
    codes = bytearray()
    position = 0
    by_length = sorted(range(len(symbols)), key=lambda code: -len(symbols[code]))
    while position < len(value):
        code = next((c for c in by_length if value.startswith(symbols[c], position)), None)
        if code is None:
            codes += bytes([255, value[position]])
            position += 1
        else:
            codes.append(code)
            position += len(symbols[code])
    return bytes(codes)


def zip_entry(rep: int, level: int, bits: tuple[int, int], length_bytes: int, value: bytes | None) -> bytes:
    """Control word, length and bytes of one full-zip entry; None: no value."""
    total = sum(bits)
    control_bytes = 0 if total == 0 else 1 if total <= 8 else 2 if total <= 16 else 4
    data = (rep << bits[1] | level).to_bytes(control_bytes, "little")
    if value is None:
        return data
    return data + len(value).to_bytes(length_bytes, "little") + value if length_bytes else data + value


def rotate(rows: Array, signs: Array) -> Array:
    """Rows [n, d] turned by signs, u8[4 * ceil(d / 8)], and Walsh-Hadamard transforms."""
    size = rows.shape[1]
    part, half = 1 << (size.bit_length() - 1), size // 2
    hadamard = np.ones((1, 1))
    while len(hadamard) < part:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    values = rows.astype(np.float64)
    for number, flags in enumerate(np.unpackbits(signs.reshape(4, -1), axis=1, bitorder="little")[:, :size]):
        values = values * np.where(flags, -1, 1)
        chosen = slice(0, part) if number % 2 == 0 else slice(size - part, size)
        values[:, chosen] = values[:, chosen] @ hadamard / np.sqrt(part)
        if part < size:
            first, second = values[:, :half].copy(), values[:, half : 2 * half].copy()
            values[:, :half], values[:, half : 2 * half] = first + second, first - second
    return values if part == size else values / 4


def nearest_steps(shares: Array, bits: int) -> Array:
    """Returns the number of steps of each value of a row, below 2^bits, for the step width that preserves the direction
    of the row best.

    shares: of the row, not negative
    """
    most = (1 << bits) - 1
    scales = np.concatenate([number / shares[shares > 0] for number in range(most + 1)]) * (1 + 1e-12)
    scales = np.unique(scales[scales * shares.max() < 4 * (most + 1)])
    steps = np.minimum(np.floor(scales[:, None] * shares), most)
    closeness = (steps + 0.5) @ shares / np.linalg.norm(steps + 0.5, axis=1)
    return np.asarray(steps[closeness.argmax()])


def rabit_factors(rows: Array, codes: Array, centroids: Array, *, of_products: bool) -> tuple[Array, Array]:
    """Summand and factor of distances.

    rows: [n, d], residuals from centroids
    codes: [n, d], in any length
    centroids: [n, d], turned as the rows
    """
    squares, product = np.square(rows).sum(axis=1), (rows * codes).sum(axis=1)
    base = 1 - (rows * centroids).sum(axis=1) if of_products else squares
    ratio = (1 if of_products else 2) * squares / product
    return base + ratio * (codes * centroids).sum(axis=1), -ratio


def _places_of(keys: Array, bits: int) -> Ints:
    with np.errstate(over="ignore"):
        products = keys.astype(np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15)
    return (products >> np.uint64(64 - bits)).astype(np.int64)


def key_filter(keys: Array, bits: int) -> Array:
    """1 where a key leads to: the first bits of its product with a constant."""
    marked = np.zeros(1 << bits, np.uint8)
    marked[_places_of(keys, bits)] = 1
    return marked


def passing_keys(keys: Array, marked: Array) -> Ints:
    """The places of keys that lead to a mark."""
    return np.flatnonzero(marked[_places_of(keys, len(marked).bit_length() - 1)]).astype(np.int64)
