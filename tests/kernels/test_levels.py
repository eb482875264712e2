import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Chunk, Output, Page, build, chunk_sizes, random_values, ranges_of, seeds, split

FLAT, PACKED, INLINE, RLE = kernels.LevelCodec
REPETITION, DEFINITION = kernels.LevelKind


def encode(levels: oracles.Array, codec: kernels.LevelCodec, num_bits: int, *, raw_tail: bool = False) -> bytes:
    match codec:
        case kernels.LevelCodec.FLAT16:
            return levels.tobytes()
        case kernels.LevelCodec.PACKED:
            # readers tell one tail from the other by the length, and where it is the same no writer packs
            is_as_long = 128 * num_bits == 2 * (len(levels) % 1024)
            return oracles.pack_groups(levels, num_bits, raw_tail=raw_tail or is_as_long)
        case kernels.LevelCodec.INLINE_PACKED:
            return oracles.inline_group(levels, num_bits)
        case kernels.LevelCodec.RLE:
            return oracles.run_block(levels)


def page_of(stored: bytes, count: int) -> Page:
    """One chunk with these definition levels."""
    return build([Chunk(2, [b""], None, stored, count)], large=True)


codecs = st.sampled_from(list(kernels.LevelCodec))


@given(codecs, st.integers(0, 16), st.integers(0, 3000), st.booleans(), seeds)
def test_all_codecs_decode(codec: kernels.LevelCodec, num_bits: int, count: int, raw_tail: bool, seed: int) -> None:
    count = min(count, 1024) if codec == INLINE else count
    levels = random_values(seed, count, "<u2", num_bits)
    out = Output(levels.nbytes)
    page = page_of(encode(levels, codec, num_bits, raw_tail=raw_tail), count)
    assert kernels.levels(page.chunks(), 0, 1, DEFINITION, codec, num_bits, out.buffer) == count
    assert (out.array("<u2") == levels).all()


@given(
    st.data(),
    chunk_sizes(11, 3000),
    codecs,
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_validity_is_the_items_at_most_at_the_threshold(
    data: st.DataObject,
    sizes: list[int],
    codec: kernels.LevelCodec,
    num_bits: int,
    threshold: int,
    large: bool,
    has_rep: bool,
    seed: int,
) -> None:
    sizes = [min(size, 1024) for size in sizes] if codec == INLINE else sizes
    levels = random_values(seed, sum(sizes), "<u2", num_bits)
    page = build(
        [
            Chunk(len(v), [b"abc"], b"12" if has_rep else None, encode(v, codec, num_bits), len(v))
            for v in split(levels, sizes)
        ],
        large=large,
    )
    ranges = data.draw(ranges_of(page.num_items))
    expected = oracles.take(levels, ranges) <= threshold
    out = Output((len(expected) + 7) // 8)
    num_valid = kernels.validity(page.chunks(), ranges, codec, num_bits, threshold, out.buffer)
    assert out.array().tobytes() == oracles.bitmap(expected)
    assert num_valid == expected.sum()


@given(st.data(), st.lists(st.integers(0, 2000), min_size=1, max_size=4), codecs, codecs, seeds)
def test_levels_of_whole_chunks_are_decoded(
    data: st.DataObject, counts: list[int], rep_codec: kernels.LevelCodec, def_codec: kernels.LevelCodec, seed: int
) -> None:
    if INLINE in (rep_codec, def_codec):
        counts = [min(count, 1024) for count in counts]
    rep = random_values(seed, sum(counts), "<u2", 2)
    levels = random_values(seed + 1, sum(counts), "<u2", 3)
    page = build(
        [
            Chunk(2, [b""], encode(r, rep_codec, 2), encode(d, def_codec, 3), len(r))
            for r, d in zip(split(rep, counts), split(levels, counts), strict=True)
        ],
        large=True,
    )
    first = data.draw(st.integers(0, len(counts)))
    end = data.draw(st.integers(first, len(counts)))
    chunks = page.chunks()
    assert kernels.num_levels(chunks, first, end).tolist() == counts[first:end]
    for kind, values, codec, num_bits in [(REPETITION, rep, rep_codec, 2), (DEFINITION, levels, def_codec, 3)]:
        expected = values[sum(counts[:first]) : sum(counts[:end])]
        out = Output(expected.nbytes)
        assert kernels.levels(chunks, first, end, kind, codec, num_bits, out.buffer) == len(expected)
        assert (out.array("<u2") == expected).all()


@pytest.mark.parametrize(
    ("stored", "codec", "num_bits", "count", "message"),
    [
        (bytes(6), FLAT, 0, 4, "4 levels of 16 bits need 8 bytes, found 6"),
        (bytes(127), PACKED, 1, 1024, "found 127 bytes"),
        (bytes(256), PACKED, 1, 1024, "found 256 bytes"),
        (bytes(128), PACKED, 17, 1024, "17 bits, not up to 16"),
        (bytes(2), INLINE, 0, 1025, "1025 values in a group of 1024"),
        (b"\x11\0" + bytes(128 * 17), INLINE, 0, 3, "17 bits in words of 16"),
        (b"\x01\0" + bytes(127), INLINE, 0, 3, "1 bits x 1024 needs 130 bytes, found 129"),
        (b"", INLINE, 0, 3, "needs 2 bytes"),
        (bytes(7), RLE, 0, 3, "needs 8 bytes"),
        (b"\xff" * 8 + bytes(3), RLE, 0, 3, "in a block of 3"),
        (b"\x02" + bytes(7) + b"\1\0\2", RLE, 0, 3, "runs of 2 values in all, not 3"),
        (b"\x02" + bytes(7) + b"\1\0\2\1", RLE, 0, 3, "2 runs of 16-bit values"),
    ],
)
def test_damaged_levels_are_refused(
    stored: bytes, codec: kernels.LevelCodec, num_bits: int, count: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kernels.levels(page_of(stored, count).chunks(), 0, 1, DEFINITION, codec, num_bits, bytearray(2 * count))


def test_pages_without_lists_have_a_level_for_each_item() -> None:
    page = build([Chunk(4, [b""], None, bytes(6), 3)], large=True)
    with pytest.raises(ValueError, match="chunk 0 has 3 levels for 4 items"):
        kernels.validity(page.chunks(), page.all_items(), FLAT, 0, 0, bytearray(1))
    assert np.asarray(kernels.num_levels(page.chunks(), 0, 1)).dtype == np.int64
