from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_sql import _kernels as kernels
from lance_sql.format.encodings.tree import Compression

from .pages import Chunk, Page, ValueCodec, build

FLAT = ValueCodec.FLAT


def compressed_page(scheme: Compression, values: Sequence[np.ndarray]) -> Page:
    """A page with a chunk of each of the values, compressed."""
    parts = [part.tobytes() for part in values]
    compress = pa.Codec("zstd" if scheme is Compression.ZSTD else "lz4_raw").compress
    headers = [len(part).to_bytes(8 if scheme is Compression.ZSTD else 4, "little") for part in parts]
    stored = [header + compress(part, asbytes=True) for header, part in zip(headers, parts, strict=True)]
    return build([Chunk(len(part), [each]) for part, each in zip(values, stored, strict=True)], large=True)


@pytest.mark.parametrize("scheme", Compression)
@pytest.mark.parametrize("uses_libraries", [True, False])
def test_compressed_first_buffers_are_decoded_where_items_are_wanted(scheme: Compression, uses_libraries: bool) -> None:
    numbers = np.arange(3000, dtype="<u4") * 7
    page = compressed_page(scheme, np.split(numbers, [1024, 2048]))
    reader = page.reader(FLAT, 32, (False, 32), compression=scheme)
    rows = np.array([1030, 1050, 2040, 2060])
    kernels.use_compression_libraries(uses_libraries)
    try:
        found = page.read(reader, rows, pa.uint32())
    finally:
        kernels.use_compression_libraries(True)
    assert found.to_pylist() == [*numbers[1030:1050].tolist(), *numbers[2040:2060].tolist()]


def test_impossible_compression_ratios_are_refused() -> None:
    for scheme, size, message in [
        (Compression.LZ4, 2**32 - 1, "claims"),
        (Compression.ZSTD, 2**63, "claims"),
        (Compression.ZSTD, 100, "cannot be decompressed"),
    ]:
        header = size.to_bytes(8 if scheme is Compression.ZSTD else 4, "little")
        page = build([Chunk(4, [header + b"garbage that is no frame"])], large=True)
        reader = page.reader(FLAT, 8, (False, 8), compression=scheme)
        with pytest.raises(ValueError, match=f"chunk 0: .* {message}|values of 8 bits in chunks"):
            page.read(reader, page.all_items(), pa.uint8())


@pytest.mark.parametrize(
    ("words", "num_items", "num_bytes", "message"),
    [
        ([0x12, 0x11, 0], 5, 100, "hold 6 items, the page has 5"),
        ([0x10, 0], 5, 100, "chunk 0 of 2 holds one value"),
        ([0x12, 0xFF0], 5, 100, "chunk 1 ends at byte 2064"),
        ([], 5, 0, "has no chunks"),
        ([0], 2**49, 8, "above 2\\*\\*48"),
    ],
)
def test_tables_that_contradict_the_page_are_refused(
    words: list[int], num_items: int, num_bytes: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Page(np.array(words, "<u2").tobytes(), bytes(num_bytes), num_items, False).reader(FLAT, 8, (False, 8))


@pytest.mark.parametrize("bounds", [[0, 12], [4, 3], [0, 5, 4, 6], [-1, 2], [0]])
def test_ranges_must_be_sorted_and_inside_of_the_page(bounds: list[int]) -> None:
    page = build([Chunk(4, [bytes(16)]), Chunk(4, [bytes(16)]), Chunk(3, [bytes(12)])], large=True)
    reader = page.reader(FLAT, 32, (False, 32))
    with pytest.raises(ValueError, match="range"):
        page.read(reader, np.array(bounds), pa.uint32())


def test_items_of_chunks_that_are_not_in_memory_are_refused() -> None:
    page = build([Chunk(4, [bytes(16)])] * 3, large=True)
    column = kernels.ColumnReader(np.array([0, 12]))
    column.open(0, page.reader(FLAT, 32, (False, 32)), 0, len(page.data))
    start, end = page.byte_offsets[1:3]
    parts = [(0, page.data[start:end], start)]
    assert kernels.read_rows([], [(column, np.array([4, 8]), parts)], None)[2] is None
    for rows in ([3, 5], [7, 9]):
        failure = kernels.read_rows([], [(column, np.array(rows), parts)], None)[2]
        assert failure is not None
        assert "chunk" in failure[3]
