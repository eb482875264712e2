"""Sets of rows in index files: they round-trip, and damage is named."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.index_files import row_sets

numbers = st.lists(
    st.builds(lambda upper, lower: upper << 32 | lower, st.integers(0, 5), st.integers(0, 2**32 - 1))
    | st.integers(0, 300),
    max_size=60,
)


def entry(upper: int, content: bytes) -> bytes:
    return struct.pack("<II", upper, len(content)) + content


def several(*entries: bytes) -> bytes:
    return struct.pack("<I", len(entries)) + b"".join(entries)


@settings(deadline=None)
@given(numbers)
def test_written_values_are_read_back(values: list[int]) -> None:
    wanted = np.unique(np.array(values, np.uint64))
    found = row_sets.parse(row_sets.serialize(wanted))
    assert found is not None
    assert found.numbers.tolist() == wanted.tolist()
    assert found.numbers.dtype == np.uint64
    assert len(found.whole) == 0


def test_the_empty_set_is_four_zero_bytes() -> None:
    assert row_sets.serialize(np.empty(0, np.uint64)) == bytes(4)


def test_an_entry_without_a_bitmap_is_all_rows() -> None:
    found = row_sets.parse(several(entry(1, bytes(BitMap([7]).serialize())), entry(3, b"")))
    assert found is not None
    assert found.numbers.tolist() == [1 << 32 | 7]
    assert found.whole.tolist() == [3]


def test_only_the_entries_that_are_wanted_are_read() -> None:
    data = several(*[entry(upper, bytes(BitMap([upper]).serialize())) for upper in range(4)])
    found = row_sets.parse(data, keys=np.array([2, 9], np.uint64))
    assert found is not None
    assert found.numbers.tolist() == [2 << 32 | 2]


def test_a_few_bytes_that_stand_for_too_many_rows_are_not_expanded() -> None:
    bitmap = BitMap()
    bitmap.add_range(0, 2**32)
    bitmap.run_optimize()
    data = several(entry(0, bytes(bitmap.serialize())))
    row_sets.check(data)
    assert row_sets.parse(data) is None
    assert row_sets.parse(data, most=2**40) is None


@given(numbers, st.integers(0, 60))
def test_no_more_numbers_are_expanded_than_are_wanted(values: list[int], most: int) -> None:
    wanted = np.unique(np.array(values, np.uint64))
    found = row_sets.parse(row_sets.serialize(wanted), most=most)
    assert (found is None) == (len(wanted) > most)


@pytest.mark.parametrize(
    "data",
    [b"", b"\1\0\0", several(entry(0, bytes(BitMap([1]).serialize())))[:-1], struct.pack("<I", 9), bytes(5)],
    ids=["empty", "no count", "cut", "missing entries", "rest"],
)
def test_damage_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        row_sets.parse(data)
    with pytest.raises(CorruptFile):
        row_sets.check(data)


@settings(max_examples=300, deadline=None)
@given(numbers, st.integers(0, 200), st.integers(0, 255))
def test_any_changed_byte_gives_a_set_or_a_named_error(values: list[int], place: int, byte: int) -> None:
    data = bytearray(row_sets.serialize(np.unique(np.array(values, np.uint64))))
    data[place % len(data)] = byte
    try:
        found = row_sets.parse(bytes(data))
    except LanceError:
        return
    assert found is None or (found.numbers[1:] > found.numbers[:-1]).all()
