"""Parts of buffers of fixed-width values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.blocks import FixedWidth
from lance_sql.format.encodings.tree import Encoding, Flat, InlineBitpacking, OutOfLineBitpacking, Variable
from lance_sql.format.old_files import stored
from lance_sql.format.old_files.codecs import decode_stored
from lance_sql.format.old_files.tree import Bitpacked
from lance_sql.values import row_ranges
from tests.kernels import oracles

RNG = np.random.default_rng(2)


@pytest.mark.parametrize(
    ("encoding", "unit", "five_values", "in_100_bytes"),
    [
        (Flat(32), (1, 4), 20, 25),
        (Flat(1), (8, 1), 1, 800),
        (Flat(12), (2, 3), 8, 66),
        (Flat(56), (1, 7), 35, 14),
        (Bitpacked(32, 5, False), (8, 5), 4, 160),
        (OutOfLineBitpacking(16, 3), (1024, 384), 384, 0),
    ],
)
def test_a_unit_is_the_least_that_can_be_decoded(
    encoding: Encoding, unit: tuple[int, int], five_values: int, in_100_bytes: int
) -> None:
    assert stored.unit(encoding) == unit
    assert stored.num_bytes(encoding, 5) == five_values
    assert stored.max_values(encoding, 100) == in_100_bytes


@pytest.mark.parametrize("encoding", [Variable(32), InlineBitpacking(8)])
def test_encodings_without_units_are_refused(encoding: Encoding) -> None:
    with pytest.raises(UnsupportedFeature):
        stored.unit(encoding)
    with pytest.raises(UnsupportedFeature):
        decode_stored(encoding, pa.py_buffer(b""), 0)


def bits_of(block: FixedWidth) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    return stored.bits(block.data, block.num_values * block.bits_per_value).reshape(-1, block.bits_per_value)


@pytest.mark.parametrize("bits", [1, 3, 8, 12, 16, 24, 64, 100, 256])
@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_selected_values_are_those_values(bits: int, share: float) -> None:
    count = 500
    values = RNG.random((count, bits)) < 0.5
    block = FixedWidth(count, bits, stored.bitmap(values.ravel()))
    positions = np.flatnonzero(RNG.random(count) < share)
    found = stored.select(block, row_ranges.from_sorted(positions))
    assert found.num_values == len(positions)
    assert np.array_equal(bits_of(found), values[positions])
    for start, end in ((0, 500), (3, 4), (17, 431)):
        assert np.array_equal(bits_of(stored.select(block, row_ranges.single(start, end))), values[start:end])


@pytest.mark.parametrize("bits", [1, 5, 32])
def test_joined_blocks_follow_each_other(bits: int) -> None:
    parts = [RNG.random((count, bits)) < 0.5 for count in (3, 0, 17, 8)]
    blocks = [FixedWidth(len(part), bits, stored.bitmap(part.ravel())) for part in parts]
    assert np.array_equal(bits_of(stored.join(blocks)), np.concatenate(parts))


def test_values_come_at_addresses_that_consumers_accept() -> None:
    data = pa.py_buffer(bytes(range(80))).slice(1)
    found = stored.select(FixedWidth(9, 64, data), row_ranges.single(1, 4))
    assert found.data.address % 8 == 0
    assert found.data.to_pybytes() == bytes(range(9, 33))


@pytest.mark.parametrize("width", [1, 3, 7, 8, 13, 32])
@pytest.mark.parametrize("word", [8, 16, 32, 64])
@pytest.mark.parametrize("is_signed", [False, True])
def test_words_side_by_side_are_extended(word: int, width: int, is_signed: bool) -> None:
    if width > word:
        return
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1)) if is_signed else (0, 2**width)
    values = RNG.integers(low, high, 70_000)
    bits = (values[:, None] >> np.arange(width)) & 1
    packed = pa.py_buffer(np.packbits(bits.astype(np.uint8).ravel(), bitorder="little"))
    block = decode_stored(Bitpacked(word, width, is_signed), packed, len(values))
    found = np.frombuffer(block.data, f"<{'i' if is_signed else 'u'}{word // 8}")
    assert np.array_equal(found, values)
    with pytest.raises(CorruptFile, match="70000 values"):
        decode_stored(Bitpacked(word, width, is_signed), packed.slice(0, packed.size - 1), len(values))


@pytest.mark.parametrize("count", [1, 128, 1024, 1500])
def test_the_last_group_is_whole(count: int) -> None:
    # of 128 words of 32 bits the plain form is as long as a group of 4 bits
    values = RNG.integers(0, 16, count).astype(np.uint32)
    packed = oracles.pack_groups(values, 4, raw_tail=False)
    block = decode_stored(OutOfLineBitpacking(32, 4), pa.py_buffer(packed), count)
    assert np.array_equal(np.frombuffer(block.data, "<u4", count), values[:count])


def test_integers_have_the_widths_of_integers() -> None:
    assert stored.integers(FixedWidth(2, 16, pa.py_buffer(b"\1\2\3\4"))).tolist() == [0x201, 0x403]
    with pytest.raises(UnsupportedFeature, match="24 bits"):
        stored.integers(FixedWidth(1, 24, pa.py_buffer(b"\1\2\3")))
