from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from .pages import Chunk, Page, build, chunk_sizes


def plain_page(sizes: list[int], *, large: bool) -> Page:
    values = np.split(np.arange(sum(sizes), dtype="<u4"), np.cumsum(sizes)[:-1])
    return build([Chunk(len(v), [v.tobytes()]) for v in values], large=large)


@given(chunk_sizes(), st.booleans())
def test_the_table_has_the_starts_of_chunks(sizes: list[int], large: bool) -> None:
    page = plain_page(sizes, large=large)
    table = page.table()
    assert table.num_chunks == len(sizes)
    assert table.num_items == sum(sizes)
    assert table.item_starts().tolist() == [0, *np.cumsum(sizes)]
    assert table.byte_offsets().tolist() == list(page.byte_offsets)


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


def compressed_page(scheme: kernels.Compression, values: Sequence[np.ndarray]) -> Page:
    """A page with a chunk of each of the values, compressed."""
    parts = [part.tobytes() for part in values]
    compress = pa.Codec("zstd" if scheme is kernels.Compression.ZSTD else "lz4_raw").compress
    headers = [len(part).to_bytes(8 if scheme else 4, "little") for part in parts]
    stored = [header + compress(part, asbytes=True) for header, part in zip(headers, parts, strict=True)]
    return build([Chunk(len(part), [each]) for part, each in zip(values, stored, strict=True)], large=True)


@pytest.mark.parametrize("scheme", kernels.Compression)
@pytest.mark.parametrize("uses_libraries", [True, False])
def test_compressed_first_buffers_are_decoded_where_items_are_wanted(
    scheme: kernels.Compression, uses_libraries: bool
) -> None:
    numbers = np.arange(3000, dtype="<u4") * 7
    page = compressed_page(scheme, np.split(numbers, [1024, 2048]))
    kernels.use_compression_libraries(uses_libraries)
    try:
        decompressed = page.chunks().decompressed(scheme, np.array([1030, 1050, 2040, 2060]))
    finally:
        kernels.use_compression_libraries(True)
    assert decompressed.num_decompressed == 4 * (3000 - 1024)
    out = np.zeros(5, "<u4")
    kernels.flat(decompressed, np.array([2046, 2051]), 0, 32, out)
    assert out.tolist() == numbers[2046:2051].tolist()
    with pytest.raises(ValueError, match="chunk 0 has no replaced"):
        kernels.flat(decompressed, np.array([0, 1]), 0, 32, out)


def test_impossible_compression_ratios_are_refused() -> None:
    for scheme, size, message in [
        (kernels.Compression.LZ4, 2**32 - 1, "claims"),
        (kernels.Compression.ZSTD, 2**63, "claims"),
        (kernels.Compression.ZSTD, 100, "cannot be decompressed"),
    ]:
        header = size.to_bytes(8 if scheme else 4, "little")
        chunks = build([Chunk(4, [header + b"garbage that is no frame"])], large=True).chunks()
        with pytest.raises(ValueError, match=f"chunk 0: .* {message}"):
            chunks.decompressed(scheme, np.array([0, 4]))
    with pytest.raises(ValueError, match="2 is not a Compression"):
        chunks.decompressed(2, np.array([0, 4]))  # type: ignore[arg-type]  # wrong on purpose


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
