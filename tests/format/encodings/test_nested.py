"""Values made of values: fixed-size lists and packed structs."""

from __future__ import annotations

import gc
import struct

import numpy as np
import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import (
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    PackedField,
    PackedStruct,
    Variable,
    VariablePackedStruct,
)
from tests.kernels import oracles

from .contexts import fixed_values, mini_block, variable_values

PAIRS = pa.array([[1, None], [3, 4], [None, None], [7, 8], [9, 10]], pa.list_(pa.int16(), 2))
PAIR_VALUES = np.array([1, 0, 3, 4, 0, 0, 7, 8, 9, 10], "<i2")
PAIR_FLAGS = [1, 0, 1, 1, 0, 0, 1, 1, 1, 1]


def per_value(flags: list[int], values: list[bytes], num_flags: int) -> bytes:
    """Each value behind the bitmap of its items."""
    return b"".join(
        oracles.bitmap(flags[num_flags * i : num_flags * (i + 1)]) + value for i, value in enumerate(values)
    )


def test_lists_in_mini_blocks_are_a_bitmap_and_the_items() -> None:
    chunks = [
        (2, [oracles.bitmap(PAIR_FLAGS[:4]), PAIR_VALUES[:4].tobytes()]),
        (3, [oracles.bitmap(PAIR_FLAGS[4:]), PAIR_VALUES[4:].tobytes()]),
    ]
    encoding = FixedSizeList(2, Flat(16), True)
    assert mini_block(encoding, chunks, PAIRS.type).equals(PAIRS)
    assert mini_block(encoding, chunks, PAIRS.type, [(1, 3), (4, 5)]).equals(PAIRS.take(pa.array([1, 2, 4])))


def test_lists_of_booleans_are_packed_within_a_chunk() -> None:
    type = pa.list_(pa.bool_(), 3)
    flags = [True, False, True, True, True, False, False, False, True, True, False, False]
    expected = pa.array([flags[i : i + 3] for i in range(0, 12, 3)], type)
    chunks = [(2, [oracles.bitmap(flags[:6])]), (2, [oracles.bitmap(flags[6:])])]
    encoding = FixedSizeList(3, Flat(1), False)
    assert mini_block(encoding, chunks, type).equals(expected)
    assert mini_block(encoding, chunks, type, [(1, 3)]).equals(expected.slice(1, 2))
    data = b"".join(oracles.bitmap(flags[i : i + 3]) for i in range(0, 12, 3))
    assert fixed_values(encoding, data, 4, type).equals(expected)


def test_booleans_with_a_bitmap_start_at_a_byte_for_every_value() -> None:
    type = pa.list_(pa.bool_(), 3)
    expected = pa.array([[True, None, False], [None, None, True]], type)
    data = per_value([1, 0, 1, 0, 0, 1], [oracles.bitmap([1, 0, 0]), oracles.bitmap([0, 0, 1])], 3)
    assert fixed_values(FixedSizeList(3, Flat(1), True), data, 2, type).equals(expected)


def test_lists_of_a_full_zip_page_have_their_bitmap_in_front_of_each_value() -> None:
    data = per_value(PAIR_FLAGS, [PAIR_VALUES[2 * i : 2 * i + 2].tobytes() for i in range(5)], 2)
    assert fixed_values(FixedSizeList(2, Flat(16), True), data, 5, PAIRS.type).equals(PAIRS)
    values = PAIR_VALUES.tobytes()
    plain = fixed_values(FixedSizeList(2, Flat(16), False), values, 5, PAIRS.type)
    assert plain.flatten().to_pylist() == PAIR_VALUES.tolist()


def test_lists_of_lists_have_a_bitmap_for_each_level_with_nulls() -> None:
    type = pa.list_(pa.list_(pa.int8(), 2), 3)
    expected = pa.array([[[1, 2], None, [3, None]], [[4, 5], [6, 7], None]], type)
    lists, items = [1, 0, 1, 1, 1, 0], [1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0]
    values = bytes([1, 2, 0, 0, 3, 0, 4, 5, 6, 7, 0, 0])
    encoding = FixedSizeList(3, FixedSizeList(2, Flat(8), True), True)
    chunk = [oracles.bitmap(lists), oracles.bitmap(items), values]
    assert mini_block(encoding, [(2, chunk)], type).equals(expected)
    data = b"".join(
        oracles.bitmap(lists[3 * i : 3 * i + 3]) + oracles.bitmap(items[6 * i : 6 * i + 6]) + values[6 * i : 6 * i + 6]
        for i in range(2)
    )
    assert fixed_values(encoding, data, 2, type).equals(expected)


def test_lists_of_nothing_but_null_items_have_no_items() -> None:
    type = pa.list_(pa.int32(), 2)
    encoding = FixedSizeList(2, Constant(None), True)
    assert fixed_values(encoding, b"\0\0", 2, type).to_pylist() == [[None, None]] * 2
    assert mini_block(encoding, [(3, [b"\0"])], type).to_pylist() == [[None, None]] * 3


@pytest.mark.parametrize("num_bytes", [6, 10])
def test_a_full_zip_page_has_exactly_the_bytes_of_its_lists(num_bytes: int) -> None:
    with pytest.raises(CorruptFile, match=f"values of 4 bytes in entries of {num_bytes // 2}"):
        fixed_values(FixedSizeList(2, Flat(16), False), bytes(num_bytes), 2, PAIRS.type)


@pytest.mark.parametrize("has_validity", [False, True])
def test_a_dimension_beyond_the_bytes_of_the_chunks_allocates_nothing(has_validity: bool) -> None:
    # what tests before this one have left
    gc.collect()
    before = pa.total_allocated_bytes()
    with pytest.raises(CorruptFile, match=r"values of .* bits in chunks of"):
        mini_block(FixedSizeList(2**20, Flat(8), has_validity), [(2, [bytes(8), bytes(8)])], pa.list_(pa.int8(), 2**20))
    assert pa.total_allocated_bytes() == before


def test_lists_of_another_dimension_or_too_many_items_are_refused() -> None:
    with pytest.raises(CorruptFile, match="lists of 4 items as another type"):
        mini_block(FixedSizeList(4, Flat(8), False), [(1, [bytes(4)])], PAIRS.type)
    with pytest.raises(CorruptFile, match="is not possible"):
        fixed_values(FixedSizeList(2**20, FixedSizeList(2**20, Flat(8), False), False), b"\0", 1, PAIRS.type)
    with pytest.raises(UnsupportedFeature, match="items encoded as Variable"):
        fixed_values(FixedSizeList(2, Variable(32), False), b"\0", 1, PAIRS.type)


PACKED = pa.struct([("a", pa.int32()), ("b", pa.float64()), ("c", pa.binary(3))])
ROWS = [{"a": i, "b": i / 2, "c": bytes([i] * 3)} for i in range(20)]


def packed(row: dict[str, object]) -> bytes:
    return struct.pack("<id3s", *row.values())


def test_rows_of_fixed_width_lie_side_by_side() -> None:
    chunks = [(16, [b"".join(map(packed, ROWS[:16]))]), (4, [b"".join(map(packed, ROWS[16:]))])]
    encoding = PackedStruct((32, 64, 24), Flat(120))
    assert mini_block(encoding, chunks, PACKED).to_pylist() == ROWS
    assert mini_block(encoding, chunks, PACKED, [(3, 5), (15, 18)]).to_pylist() == ROWS[3:5] + ROWS[15:18]


@pytest.mark.parametrize(
    ("encoding", "error"),
    [
        (PackedStruct((32, 4), Flat(36)), UnsupportedFeature),
        (PackedStruct((), Flat(8)), UnsupportedFeature),
        (PackedStruct((32, 32), Flat(128)), CorruptFile),
        (PackedStruct((32, 2**31), Flat(32 + 2**31)), CorruptFile),
    ],
)
def test_packed_rows_of_another_form_are_refused(encoding: Encoding, error: type[Exception]) -> None:
    with pytest.raises(error):
        mini_block(encoding, [(1, [bytes(16)])], PACKED)


MIXED = pa.struct(
    [("id", pa.int32()), ("text", pa.string()), ("pair", pa.list_(pa.int16(), 2)), ("more", pa.large_binary())]
)
SYMBOLS = [b"some ", b"text"]
FIELDS = (
    PackedField(Flat(32), 32, None),
    PackedField(Fsst(oracles.symbol_table(SYMBOLS), Variable(32)), None, 32),
    PackedField(FixedSizeList(2, Flat(16), False), 32, None),
    PackedField(Variable(64), None, 64),
)


def mixed_row(id: int, text: bytes, pair: tuple[int, int], more: bytes) -> bytes:
    stored = oracles.fsst_encode(text, SYMBOLS)
    return b"".join(
        [struct.pack("<iI", id, len(stored)), stored, struct.pack("<2hQ", *pair, len(more)), more],
    )


def test_rows_with_strings_carry_the_lengths_of_their_fields() -> None:
    rows = [mixed_row(1, b"some text", (1, 2), b""), mixed_row(-2, b"", (3, -4), b"\0" * 70)]
    expected = [
        {"id": 1, "text": "some text", "pair": [1, 2], "more": b""},
        {"id": -2, "text": "", "pair": [3, -4], "more": b"\0" * 70},
    ]
    assert variable_values(VariablePackedStruct(FIELDS), rows, MIXED).to_pylist() == expected


def test_null_rows_have_no_bytes() -> None:
    rows = [b"", mixed_row(1, b"text", (1, 2), b"x"), b"", b""]
    array = variable_values(VariablePackedStruct(FIELDS), rows, MIXED)
    assert array[1].as_py() == {"id": 1, "text": "text", "pair": [1, 2], "more": b"x"}
    assert array.field(1).to_pylist() == ["", "text", "", ""]
    assert variable_values(VariablePackedStruct(FIELDS), [b"", b""], MIXED).field(0).to_pylist() == [0, 0]


@pytest.mark.parametrize(
    "row",
    [
        mixed_row(1, b"text", (1, 2), b"x") + b"!",
        mixed_row(1, b"text", (1, 2), b"x")[:-1],
        b"\0",
        struct.pack("<iI", 1, 2**32 - 1) + bytes(20),
        struct.pack("<iI2hQ", 1, 0, 1, 2, 2**63),
        struct.pack("<iI2hQ", 1, 0, 1, 2, 2**64 - 1),
    ],
)
def test_rows_are_used_up_exactly(row: bytes) -> None:
    with pytest.raises(CorruptFile, match="packed"):
        variable_values(VariablePackedStruct(FIELDS), [mixed_row(1, b"", (0, 0), b""), row], MIXED)
