import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from .pages import Chunk, Page, build, chunk_sizes


def plain_page(sizes: list[int], *, large: bool) -> Page:
    values = np.split(np.arange(sum(sizes), dtype="<u4"), np.cumsum(sizes)[:-1])
    return build([Chunk(len(v), [v.tobytes()]) for v in values], large=large)


@given(chunk_sizes(), st.booleans())
def test_table_knows_where_chunks_begin(sizes: list[int], large: bool) -> None:
    page = plain_page(sizes, large=large)
    table = page.table()
    assert table.num_chunks == len(sizes)
    assert table.num_items == sum(sizes)
    assert table.item_starts().tolist() == [0, *np.cumsum(sizes)]
    assert table.byte_offsets().tolist() == list(page.byte_offsets)
    for item in range(page.num_items):
        assert table.chunk_of(item) == np.searchsorted(np.cumsum(sizes), item, "right")


def test_items_of_chunks_that_are_not_in_memory_are_refused() -> None:
    page = plain_page([4, 4, 4, 3], large=True)
    start, end = page.byte_offsets[1], page.byte_offsets[3]
    chunks = kernels.Chunks(page.table(), page.data[start:end], start)
    out = np.zeros(8, "<u4")
    kernels.flat(chunks, np.array([4, 12]), 0, 32, out)
    assert out.tolist() == list(range(4, 12))
    with pytest.raises(ValueError, match="chunk 0 has bytes 0 to 24, found 24 to 72"):
        kernels.flat(chunks, np.array([3, 5]), 0, 32, out)
    with pytest.raises(ValueError, match="chunk 3"):
        kernels.flat(chunks, np.array([11, 13]), 0, 32, out)


def test_replaced_first_buffers_are_decoded() -> None:
    page = plain_page([4, 4, 3], large=False)
    chunks = page.chunks()
    bounds = chunks.value_buffer_ranges(0, 1, 3)
    stored = [page.data[start:end] for start, end in bounds]
    assert np.frombuffer(b"".join(stored), "<u4").tolist() == list(range(4, 11))
    doubled = np.arange(4, 11, dtype="<u4") * 2
    replaced = chunks.with_first_buffer(1, doubled.tobytes(), np.array([0, 16, 28]))
    del chunks
    out = np.zeros(5, "<u4")
    kernels.flat(replaced, np.array([5, 10]), 0, 32, out)
    assert out.tolist() == [10, 12, 14, 16, 18]
    with pytest.raises(ValueError, match="chunk 0 has no replaced"):
        kernels.flat(replaced, np.array([0, 1]), 0, 32, out)


@pytest.mark.parametrize("offsets", [[0, 17], [-1, 4], [8, 4], []])
def test_offsets_of_replaced_buffers_are_checked(offsets: list[int]) -> None:
    chunks = plain_page([4, 3], large=True).chunks()
    with pytest.raises(ValueError, match="offset"):
        chunks.with_first_buffer(0, bytes(16), np.array(offsets, np.int64))


@pytest.mark.parametrize(
    ("words", "num_items", "num_bytes", "message"),
    [
        ([0x12, 0x11, 0], 5, 100, "hold 6 items, the page has 5"),
        ([0x10, 0], 5, 100, "chunk 0 of 2 holds one value"),
        ([0x12, 0xFF0], 5, 100, "chunk 1 ends at byte 2064"),
        ([], 5, 0, "has no chunks"),
        ([0], 2**60, 8, "above 2\\*\\*48"),
        ([0], -1, 8, "negative"),
    ],
)
def test_tables_that_contradict_the_page_are_refused(
    words: list[int], num_items: int, num_bytes: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kernels.ChunkTable(
            np.array(words, "<u2"),
            num_items,
            large=False,
            num_bytes=num_bytes,
            has_rep=False,
            has_def=False,
            num_buffers=1,
        )


@pytest.mark.parametrize("bounds", [[0, 12], [4, 3], [0, 5, 4, 6], [-1, 2], [0]])
def test_ranges_must_be_sorted_and_inside_of_the_page(bounds: list[int]) -> None:
    chunks = plain_page([4, 4, 3], large=True).chunks()
    with pytest.raises(ValueError, match="range"):
        kernels.flat(chunks, np.array(bounds), 0, 32, bytearray(1000))


def test_output_must_be_writable_and_long_enough() -> None:
    chunks = plain_page([4, 3], large=True).chunks()
    with pytest.raises(ValueError, match="out needs 28 bytes, found 27"):
        kernels.flat(chunks, np.array([0, 7]), 0, 32, bytearray(27))
    with pytest.raises(TypeError):
        kernels.flat(chunks, np.array([0, 7]), 0, 32, bytes(28))
    with pytest.raises(TypeError):
        kernels.flat(chunks, np.array([0, 7]), 0, 32, np.zeros((7, 8), np.uint8)[:, :4])
