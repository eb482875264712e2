"""xxHash64 and split block bloom filters against their meaning in plain Python."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_sql import _kernels
from lance_sql.format.index_files import bloom

MASK = 2**64 - 1
P1, P2, P3 = 11400714785074694791, 14029467366897019727, 1609587929392839161
P4, P5 = 9650029242287828579, 2870177450012600261


def rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK


def xxhash64(data: bytes) -> int:
    """The algorithm as its description has it, with seed 0."""

    def taken(lane: int, word: int) -> int:
        return rotate((lane + word * P2) & MASK, 31) * P1 & MASK

    rest = data
    if len(data) >= 32:
        lanes = [(P1 + P2) & MASK, P2, 0, -P1 & MASK]
        while len(rest) >= 32:
            lanes = [taken(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", rest), strict=True)]
            rest = rest[32:]
        found = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            found = ((found ^ taken(0, lane)) * P1 + P4) & MASK
    else:
        found = P5
    found = (found + len(data)) & MASK
    while len(rest) >= 8:
        found = (rotate(found ^ taken(0, *struct.unpack_from("<Q", rest)), 27) * P1 + P4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        found = (rotate(found ^ struct.unpack_from("<I", rest)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        rest = rest[4:]
    for byte in rest:
        found = rotate(found ^ byte * P5 & MASK, 11) * P1 & MASK
    for shift, prime in ((33, P2), (29, P3)):
        found = (found ^ found >> shift) * prime & MASK
    return found ^ found >> 32


def test_known_hashes() -> None:
    assert xxhash64(b"") == 0xEF46DB3751D8E999
    assert xxhash64(b"abc") == 0x44BC2CF5AD770999


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=100), min_size=1, max_size=10), st.sampled_from([32, 64]))
def test_hashes_of_strings(values: list[bytes], bits: int) -> None:
    offsets = np.cumsum([3, *map(len, values)]).astype(f"int{bits}")
    out = np.empty(len(values), np.uint64)
    _kernels.hash_strings(offsets, bits, len(values), b"xyz" + b"".join(values), out)
    assert out.tolist() == [xxhash64(value) for value in values]


@settings(deadline=None)
@given(st.binary(min_size=48, max_size=48), st.sampled_from([1, 2, 4, 8]))
def test_hashes_of_fixed_width(data: bytes, width: int) -> None:
    out = np.empty(48 // width, np.uint64)
    _kernels.hash_fixed(data, width, len(out), out)
    assert out.tolist() == [xxhash64(data[i : i + width]) for i in range(0, 48, width)]


@settings(deadline=None)
@given(st.lists(st.integers(0, MASK), max_size=50), st.integers(1, 20))
def test_a_filter_has_the_bits_of_its_values(hashes: list[int], num_blocks: int) -> None:
    numbers = np.array(hashes, np.uint64)
    data = bytearray(32 * num_blocks)
    _kernels.bloom_insert(numbers, data)
    expected = np.zeros((num_blocks, 8), np.uint32)
    for number in hashes:
        block = (number >> 32) * num_blocks >> 32
        for word, salt in enumerate(bloom.SALT.tolist()):
            expected[block, word] |= 1 << ((number & 0xFFFFFFFF) * salt % 2**32 >> 27)
    assert bytes(data) == expected.tobytes()
    assert bloom.contains(expected, numbers).all()


def test_sizes_are_checked() -> None:
    out = np.empty(2, np.uint64)
    with pytest.raises(ValueError, match="values needs 16 bytes"):
        _kernels.hash_fixed(bytes(15), 8, 2, out)
    with pytest.raises(ValueError, match="out needs"):
        _kernels.hash_fixed(bytes(24), 8, 3, out)
    with pytest.raises(ValueError, match="values of 0 bytes"):
        _kernels.hash_fixed(b"", 0, 2, out)
    with pytest.raises(ValueError, match="string 1 at bytes 3 to 2"):
        _kernels.hash_strings(np.array([0, 3, 2], np.int32), 32, 2, b"abc", out)
    with pytest.raises(ValueError, match="string 0 at bytes 0 to 4"):
        _kernels.hash_strings(np.array([0, 4], np.int64), 64, 1, b"abc", out)
    with pytest.raises(ValueError, match="negative"):
        _kernels.hash_strings(np.array([-1, 4], np.int64), 64, 1, b"abc", out)
    for size in (0, 31, 33):
        with pytest.raises(ValueError, match="bloom filter"):
            _kernels.bloom_insert(out, bytearray(size))


@given(pieces=st.lists(st.binary(max_size=90), max_size=12), block_bytes=st.sampled_from([1, 7, 31, 32, 33, 64, 100]))
def test_blocks_of_pieces_have_the_hashes_of_what_they_are(pieces: list[bytes], block_bytes: int) -> None:
    hasher = _kernels.BlockHasher(block_bytes)
    for piece in pieces:
        hasher.update(piece)
        # it may be asked at any time
        hasher.finish()
    content = b"".join(pieces)
    blocks = [content[start : start + block_bytes] for start in range(0, len(content), block_bytes)]
    assert hasher.finish() == b"".join(xxhash64(block).to_bytes(8, "little") for block in blocks)


def test_blocks_without_bytes_are_refused() -> None:
    with pytest.raises(ValueError, match="blocks of 0 bytes"):
        _kernels.BlockHasher(0)
