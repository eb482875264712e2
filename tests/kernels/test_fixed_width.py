import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels
from lance_sql.format.encodings.tree import Flat, InlineBitpacking, Rle

from . import oracles
from .pages import Chunk, Output, ValueCodec, build, decoded_block, random_values, ranges_of, seeds

WORDS = [8, 16, 32, 64]


def uint(bits: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype(f"<u{bits // 8}")


@given(
    st.data(),
    st.sampled_from(WORDS),
    st.lists(st.integers(0, 64), min_size=1, max_size=4),
    st.integers(1, 1024),
    st.booleans(),
    seeds,
)
def test_inline_bitpacking_unpacks_chunks_of_any_width(
    data: st.DataObject, word_bits: int, widths: list[int], last: int, large: bool, seed: int
) -> None:
    widths = [min(width, word_bits) for width in widths]
    sizes = [1024] * (len(widths) - 1) + [last]
    parts = [
        random_values(seed + i, size, uint(word_bits), width)
        for i, (size, width) in enumerate(zip(sizes, widths, strict=True))
    ]
    page = build(
        [Chunk(len(part), [oracles.inline_group(part, width)]) for part, width in zip(parts, widths, strict=True)],
        large=large,
    )
    ranges = data.draw(ranges_of(page.num_items))
    expected = oracles.take(np.concatenate(parts), ranges)
    reader = page.reader(ValueCodec.INLINE_BITPACKING, word_bits, (False, word_bits))
    found = page.read(reader, ranges, pa.from_numpy_dtype(expected.dtype))
    assert found.to_numpy().tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("word_bits", "num_bits", "head", "crc"),
    [
        (8, 3, "00 49 92 db 24 6d b6 ff 00 49 92 db 24 6d b6 ff", 0x5181CB89),
        (16, 3, "00 00 49 92 92 24 db b6 24 49 6d db b6 6d ff ff", 0x61ACFC30),
        (32, 13, "00 00 10 00 01 20 10 04 02 40 10 08 03 60 10 0c", 0x5223621B),
        (64, 20, "00 00 00 08 00 00 01 00 01 00 10 08 00 01 01 10", 0x0AE81937),
    ],
)
def test_packed_groups_are_those_of_other_implementations(word_bits: int, num_bits: int, head: str, crc: int) -> None:
    values = (np.arange(1024) % (1 << min(num_bits, 10))).astype(uint(word_bits))
    packed = oracles.pack_group(values, num_bits)
    assert packed[:16] == bytes.fromhex(head)
    assert zlib.crc32(packed) == crc
    out = Output(values.nbytes)
    kernels.unpack(packed, word_bits, num_bits, 1024, out.buffer)
    assert (out.array(values.dtype) == values).all()


@pytest.mark.parametrize("word_bits", WORDS)
def test_every_width_unpacks(word_bits: int) -> None:
    for num_bits in range(word_bits + 1):
        values = random_values(num_bits, 1024 + 300, uint(word_bits), num_bits)
        for raw_tail in (False, True):
            packed = oracles.pack_groups(values, num_bits, raw_tail=raw_tail)
            out = Output(values.nbytes)
            kernels.unpack(packed, word_bits, num_bits, len(values), out.buffer)
            assert (out.array(values.dtype) == values).all()


@given(st.sampled_from(WORDS), st.integers(0, 64), st.integers(0, 1024), seeds)
def test_block_of_one_group_unpacks(word_bits: int, num_bits: int, count: int, seed: int) -> None:
    num_bits = min(num_bits, word_bits)
    values = random_values(seed, count, uint(word_bits), num_bits)
    found = decoded_block(InlineBitpacking(word_bits), oracles.inline_group(values, num_bits), count)
    assert found == (count, word_bits, None, values.tobytes())


def runs(seed: int, count: int, dtype: np.dtype[np.unsignedinteger]) -> oracles.Array:
    rng = np.random.default_rng(seed)
    return np.repeat(random_values(seed, count, dtype), rng.geometric(0.02, count))[:count]


@given(st.sampled_from(WORDS), st.integers(0, 2000), seeds)
def test_run_block_repeats_values(value_bits: int, count: int, seed: int) -> None:
    values = runs(seed, count, uint(value_bits))
    found = decoded_block(Rle(Flat(value_bits), Flat(8)), oracles.run_block(values), count)
    assert found == (count, value_bits, None, values.tobytes())
