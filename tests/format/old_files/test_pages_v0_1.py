"""Pages of version 0.1 as trees of encodings."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import Constant, Flat
from lance_sql.format.old_files.pages_v0_1 import lists_page, values_page
from lance_sql.format.old_files.tree import OffsetBinary, OffsetList, Stored, StructHeader
from lance_sql.store import ByteRange

FILE_SIZE = 10_000


@pytest.mark.parametrize(
    ("type", "bits"),
    [
        (pa.int32(), 32),
        (pa.bool_(), 1),
        (pa.float16(), 16),
        (pa.decimal256(50, 2), 256),
        (pa.binary(7), 56),
        (pa.list_(pa.float32(), 3), 96),
        (pa.list_(pa.bool_(), 12), 12),
        (pa.list_(pa.list_(pa.int8(), 2), 3), 48),
        (pa.dictionary(pa.int16(), pa.string()), 16),
        (pa.timestamp("us", "UTC"), 64),
    ],
)
def test_values_lie_side_by_side(type: pa.DataType, bits: int) -> None:
    page = values_page(type, 100, 10, FILE_SIZE, empty_is_null=True)
    assert page.num_rows == 10
    assert page.buffers == (ByteRange(100, 100 + (10 * bits + 7) // 8),)
    assert page.encoding == Stored(0, Flat(bits))


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_offsets_of_strings_are_positions_in_the_file(type: pa.DataType) -> None:
    page = values_page(type, 100, 10, FILE_SIZE, empty_is_null=False)
    assert page.buffers == (ByteRange(100, 188), ByteRange(0, FILE_SIZE))
    assert page.encoding == OffsetBinary(Stored(0, Flat(64)), Stored(1, Flat(8)), False)


def test_null_and_empty_structs_have_no_bytes() -> None:
    assert values_page(pa.null(), 0, 5, FILE_SIZE, empty_is_null=True) == (5, (), Constant(None))
    assert values_page(pa.struct([]), 0, 5, FILE_SIZE, empty_is_null=True) == (5, (), StructHeader())


def test_lists_have_one_offset_more() -> None:
    page = lists_page(pa.list_(pa.int8()), 8, 4, FILE_SIZE, 20)
    assert page == (3, (ByteRange(8, 24),), OffsetList(Stored(0, Flat(32)), 20))
    assert lists_page(pa.large_list(pa.int8()), 8, 4, FILE_SIZE, 20).buffers == (ByteRange(8, 40),)
    assert lists_page(pa.list_(pa.int8()), 8, 0, FILE_SIZE, 0).num_rows == 0


@pytest.mark.parametrize(
    ("position", "length"), [(FILE_SIZE, 1), (-8, 1), (0, -1), (0, 2**62), (2**62, 1), (0, FILE_SIZE // 4 + 1)]
)
def test_pages_outside_of_the_file_are_refused(position: int, length: int) -> None:
    with pytest.raises(CorruptFile):
        values_page(pa.int32(), position, length, FILE_SIZE, empty_is_null=True)
    with pytest.raises(CorruptFile):
        values_page(pa.string(), position, length, FILE_SIZE, empty_is_null=True)
    with pytest.raises(CorruptFile):
        lists_page(pa.list_(pa.int8()), position, length, FILE_SIZE, 5)


def test_types_that_the_version_does_not_have_are_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="map"):
        values_page(pa.map_(pa.string(), pa.int8()), 0, 1, FILE_SIZE, empty_is_null=True)
