import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import oracles
from .pages import Chunk, LevelCodec, Page, ValueCodec, build, chunk_sizes, random_values, ranges_of, seeds, split

PACKED = LevelCodec.PACKED


def encode(levels: oracles.Array, codec: LevelCodec, num_bits: int, *, raw_tail: bool = False) -> bytes:
    match codec:
        case LevelCodec.FLAT16:
            return levels.tobytes()
        case LevelCodec.PACKED:
            # readers tell one tail from the other by the length, and where it is the same no writer packs
            is_as_long = 128 * num_bits == 2 * (len(levels) % 1024)
            return oracles.pack_groups(levels, num_bits, raw_tail=raw_tail or is_as_long)
        case LevelCodec.INLINE_PACKED:
            return oracles.inline_group(levels, num_bits)
        case LevelCodec.RLE:
            return oracles.run_block(levels)


def page_of(levels: oracles.Array, sizes: list[int], codec: LevelCodec, num_bits: int, raw_tail: bool) -> Page:
    parts = [(part, encode(part, codec, num_bits, raw_tail=raw_tail)) for part in split(levels, sizes)]
    return build([Chunk(len(part), [bytes(len(part))], None, data, len(part)) for part, data in parts], large=True)


@given(
    st.data(),
    chunk_sizes(10, 1500),
    st.sampled_from(list(LevelCodec)),
    st.integers(1, 16),
    st.booleans(),
    seeds,
)
def test_values_are_null_at_levels_above_zero(
    data: st.DataObject, sizes: list[int], codec: LevelCodec, num_bits: int, raw_tail: bool, seed: int
) -> None:
    if codec == LevelCodec.INLINE_PACKED:
        sizes = [min(size, 1024) for size in sizes]
    levels = random_values(seed, sum(sizes), "<u2", num_bits)
    levels[random_values(seed + 1, len(levels), np.uint8) % 2 == 1] = 0
    page = page_of(levels, sizes, codec, num_bits, raw_tail)
    reader = page.reader(ValueCodec.FLAT, 8, (False, 8), definition=(codec, num_bits))
    ranges = data.draw(ranges_of(page.num_items))
    found = page.read(reader, ranges, pa.uint8())
    assert found.is_valid().to_pylist() == (oracles.take(levels, ranges) == 0).tolist()


@pytest.mark.parametrize(
    ("codec", "stored", "message"),
    [
        (LevelCodec.FLAT16, bytes(5), "levels"),
        (PACKED, bytes(3), "levels|packed|bytes"),
        (LevelCodec.RLE, bytes(3), "run|bytes|levels"),
        (LevelCodec.INLINE_PACKED, bytes(1), "bytes|levels|width"),
    ],
)
def test_levels_that_end_early_are_refused(codec: LevelCodec, stored: bytes, message: str) -> None:
    page = build([Chunk(8, [bytes(8)], None, stored, 8)], large=True)
    reader = page.reader(ValueCodec.FLAT, 8, (False, 8), definition=(codec, 3))
    with pytest.raises(ValueError, match=f"chunk 0: .*({message})"):
        page.read(reader, page.all_items(), pa.uint8())
