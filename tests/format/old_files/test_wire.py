"""Encoding messages of file version 2.0, member by member."""

from __future__ import annotations

from typing import Any

import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import (
    Compression,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    OutOfLineBitpacking,
    PackedStruct,
)
from lance_sql.format.encodings.wire_v2_1 import MAX_DEPTH
from lance_sql.format.old_files.tree import (
    Binary,
    Bitpacked,
    Dictionary,
    FixedSizeBinary,
    List,
    Nullable,
    Stored,
    StructHeader,
)
from lance_sql.format.old_files.wire import encoding_from_wire, encoding_to_wire
from lance_sql.format.proto import encodings_v2_0_pb2 as pb

Message = dict[str, Any]


def flat(bits: int, buffer: int = 0, scheme: str | None = None) -> Message:
    compression = {} if scheme is None else {"compression": {"scheme": scheme}}
    return {"flat": {"bits_per_value": bits, "buffer": {"buffer_index": buffer}, **compression}}


def without_nulls(values: Message) -> Message:
    return {"nullable": {"no_nulls": {"values": values}}}


ENDS = without_nulls(flat(64))
BINARY: Message = {"binary": {"indices": ENDS, "bytes": flat(8, 1), "null_adjustment": 9}}


def parse(content: Message) -> Encoding:
    """The tree of a message that has been on the wire."""
    return encoding_from_wire(pb.ArrayEncoding.FromString(pb.ArrayEncoding(**content).SerializeToString()))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (flat(32, 2), Stored(2, Flat(32))),
        ({"flat": {"bits_per_value": 56}}, Stored(0, Flat(56))),
        (flat(64, 0, "none"), Stored(0, Flat(64))),
        (flat(64, 0, "zstd"), Stored(0, General(Compression.ZSTD, Flat(64)))),
        (flat(8, 1, "lz4"), Stored(1, General(Compression.LZ4, Flat(8)))),
        (flat(1, 0, "zstd"), Stored(0, Flat(1))),
        (without_nulls(flat(16)), Stored(0, Flat(16))),
        (
            {"nullable": {"some_nulls": {"validity": flat(1), "values": flat(32, 1)}}},
            Nullable(Stored(0, Flat(1)), Stored(1, Flat(32))),
        ),
        ({"nullable": {"all_nulls": {}}}, Constant(None)),
        (
            {"fixed_size_list": {"dimension": 3, "items": without_nulls(flat(32))}},
            FixedSizeList(3, Stored(0, Flat(32)), False),
        ),
        (
            {"list": {"offsets": ENDS, "null_offset_adjustment": 8, "num_items": 7}},
            List(Stored(0, Flat(64)), 8, 7),
        ),
        ({"struct": {}}, StructHeader()),
        (BINARY, Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), 9)),
        (
            {"dictionary": {"indices": flat(8, 3), "items": BINARY, "num_dictionary_items": 4}},
            Dictionary(Stored(3, Flat(8)), Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), 9), 4),
        ),
        (
            {"fsst": {"binary": BINARY, "symbol_table": b"table"}},
            Fsst(b"table", Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), 9)),
        ),
        (
            {
                "packed_struct": {
                    "inner": [
                        without_nulls(flat(32)),
                        {"fixed_size_list": {"dimension": 2, "items": without_nulls(flat(16))}},
                    ],
                    "buffer": {"buffer_index": 1},
                }
            },
            PackedStruct((32, 32), Stored(1, Flat(64))),
        ),
        (
            {"bitpacked": {"compressed_bits_per_value": 5, "uncompressed_bits_per_value": 32, "signed": True}},
            Stored(0, Bitpacked(32, 5, True)),
        ),
        (
            {"bitpacked_for_non_neg": {"compressed_bits_per_value": 5, "uncompressed_bits_per_value": 16}},
            Stored(0, OutOfLineBitpacking(16, 5)),
        ),
        ({"fixed_size_binary": {"bytes": flat(40), "byte_width": 5}}, FixedSizeBinary(5, Stored(0, Flat(40)))),
    ],
)
def test_a_member_becomes_a_node(content: Message, expected: Encoding) -> None:
    assert parse(content) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "does not support"),
        ({"constant": {"value": b"x"}}, "'constant'"),
        (flat(64, 0, "snappy"), "'snappy'"),
        ({"flat": {"bits_per_value": 8, "buffer": {"buffer_type": 1}}}, "type 1"),
        ({"fixed_size_list": {"dimension": 2, "items": flat(8), "has_validity": True}}, "validity of its own"),
        ({"packed_struct": {"inner": [flat(1)]}}, "packed structs with members"),
        ({"packed_struct": {"inner": [BINARY]}}, "packed structs with members"),
        ({"binary": {"indices": ENDS, "bytes": flat(16)}}, "the bytes of strings"),
        ({"binary": {"indices": ENDS, "bytes": ENDS}}, "the bytes of strings"),
    ],
)
def test_unknown_encodings_are_named(content: Message, message: str) -> None:
    with pytest.raises(UnsupportedFeature, match=message):
        parse(content)


@pytest.mark.parametrize(
    "content",
    [
        flat(7),
        flat(2**40),
        {"nullable": {}},
        {"fixed_size_list": {"items": flat(8)}},
        {"packed_struct": {}},
        {"packed_struct": {"inner": [flat(2**32)] * 2}},
        {"list": {"offsets": ENDS, "num_items": 2**60}},
        {"bitpacked": {"compressed_bits_per_value": 33, "uncompressed_bits_per_value": 32}},
        {"bitpacked": {"compressed_bits_per_value": 0, "uncompressed_bits_per_value": 32}},
        {"bitpacked_for_non_neg": {"compressed_bits_per_value": 3, "uncompressed_bits_per_value": 24}},
    ],
)
def test_impossible_numbers_are_refused(content: Message) -> None:
    with pytest.raises(CorruptFile):
        parse(content)


def test_trees_that_are_too_deep_are_refused() -> None:
    content = flat(8)
    for _ in range(MAX_DEPTH + 1):
        content = without_nulls(content)
    with pytest.raises(CorruptFile, match="nested"):
        encoding_from_wire(pb.ArrayEncoding(**content))


ENDS_TREE, BYTES_TREE = Stored(0, Flat(64)), Stored(1, Flat(8))
BINARY_TREE = Binary(ENDS_TREE, BYTES_TREE, 9)


@pytest.mark.parametrize(
    "encoding",
    [
        Stored(2, Flat(32)),
        Nullable(Stored(0, Flat(1)), Stored(1, Flat(16))),
        Constant(None),
        FixedSizeList(3, Stored(0, Flat(32)), False),
        Nullable(Stored(0, Flat(1)), FixedSizeList(3, Nullable(Stored(1, Flat(1)), Stored(2, Flat(32))), False)),
        FixedSizeList(2, FixedSizeList(3, Stored(0, Flat(1)), False), False),
        BINARY_TREE,
        Binary(ENDS_TREE, Stored(1, General(Compression.ZSTD, Flat(8))), 9),
        Binary(ENDS_TREE, Stored(1, General(Compression.LZ4, Flat(8))), 9),
        Fsst(b"table", BINARY_TREE),
        Dictionary(Stored(2, Flat(8)), BINARY_TREE, 3),
        List(ENDS_TREE, 8, 7),
        PackedStruct((32, 64), Stored(0, Flat(96))),
        StructHeader(),
    ],
    ids=str,
)
def test_written_values_are_read_back(encoding: Encoding) -> None:
    assert encoding_from_wire(pb.ArrayEncoding.FromString(encoding_to_wire(encoding).SerializeToString())) == encoding


def test_unwritten_encodings_are_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="OutOfLineBitpacking"):
        encoding_to_wire(OutOfLineBitpacking(32, 7))
