import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from . import oracles
from .pages import Chunk, Output, Page, build, chunk_sizes, ranges_of

widths = st.sampled_from([32, 64])


def page_of(values: list[bytes], sizes: list[int], offset_bits: int, *, large: bool) -> Page:
    ends = np.cumsum(sizes)
    parts = [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    return build([Chunk(len(p), [oracles.variable_chunk(p, offset_bits)]) for p in parts], large=large)


def words(count: int) -> st.SearchStrategy[list[bytes]]:
    return st.lists(st.binary(max_size=12), min_size=count, max_size=count)


def offsets_of(values: list[bytes]) -> oracles.Ints:
    return np.cumsum([0, *(len(value) for value in values)])


@given(st.data(), chunk_sizes(3, 9), widths, widths, st.booleans())
def test_offsets_and_bytes_of_ranges(
    data: st.DataObject, sizes: list[int], offset_bits: int, out_bits: int, large: bool
) -> None:
    values = data.draw(words(sum(sizes)))
    page = page_of(values, sizes, offset_bits, large=large)
    ranges = data.draw(ranges_of(page.num_items))
    expected = [value for start, end in ranges.reshape(-1, 2) for value in values[start:end]]
    chunks = page.chunks()
    out_offsets = Output((len(expected) + 1) * out_bits // 8)
    total = kernels.variable_offsets(chunks, ranges, offset_bits, out_offsets.buffer, out_bits)
    assert out_offsets.array(f"<i{out_bits // 8}").tolist() == offsets_of(expected).tolist()
    assert kernels.fsst_bound(chunks, ranges, offset_bits) == total
    out = Output(total)
    assert kernels.variable_bytes(chunks, ranges, offset_bits, out.buffer) == total
    assert out.array().tobytes() == b"".join(expected)


@pytest.mark.parametrize("offset_bits", [32, 64])
@pytest.mark.parametrize("first", [0, 8, 11, 13, 2**31, 2**32 - 1])
def test_offsets_that_do_not_rise_inside_of_the_chunk_are_refused(offset_bits: int, first: int) -> None:
    width = offset_bits // 8
    stored = np.array([first, 12, 12], f"<u{width}")
    page = build([Chunk(2, [stored.tobytes()])], large=True)
    with pytest.raises(ValueError, match="chunk 0: the offsets"):
        kernels.variable_offsets(page.chunks(), page.all_items(), offset_bits, bytearray(24), 32)
    with pytest.raises(ValueError, match="chunk 0: the offsets"):
        kernels.variable_bytes(page.chunks(), page.all_items(), offset_bits, bytearray(24))


def test_chunks_too_short_for_their_offsets_are_refused() -> None:
    page = build([Chunk(9, [bytes(36)])], large=True)
    with pytest.raises(ValueError, match="the offsets of 9 values need 40 bytes, found 36"):
        kernels.variable_bytes(page.chunks(), page.all_items(), 32, bytearray(100))
