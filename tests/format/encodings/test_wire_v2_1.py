"""Encoding messages of file versions 2.1 and 2.2, member by member."""

from __future__ import annotations

from typing import Any

import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings.tree import (
    ByteStreamSplit,
    Compression,
    Constant,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    PackedField,
    PackedStruct,
    Rle,
    Variable,
    VariablePackedStruct,
)
from lance_sql.format.encodings.wire_v2_1 import MAX_DEPTH, encoding_from_wire
from lance_sql.format.proto import encodings_v2_1_pb2 as pb

FLAT32: dict[str, Any] = {"flat": {"bits_per_value": 32}}
VARIABLE: dict[str, Any] = {"variable": {"offsets": FLAT32}}
ZSTD = {"scheme": pb.COMPRESSION_ALGORITHM_ZSTD}


def parse(content: dict[str, Any]) -> Encoding:
    """The tree of a message that has been on the wire."""
    return encoding_from_wire(pb.CompressiveEncoding.FromString(pb.CompressiveEncoding(**content).SerializeToString()))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (FLAT32, Flat(32)),
        (VARIABLE, Variable(32)),
        ({"variable": {"offsets": {"flat": {"bits_per_value": 64}}}}, Variable(64)),
        ({"constant": {}}, Constant(None)),
        ({"constant": {"value": b""}}, Constant(b"")),
        ({"constant": {"value": b"\1"}}, Constant(b"\1")),
        ({"inline_bitpacking": {"uncompressed_bits_per_value": 16}}, InlineBitpacking(16)),
        (
            {"out_of_line_bitpacking": {"uncompressed_bits_per_value": 16, "values": {"flat": {"bits_per_value": 3}}}},
            OutOfLineBitpacking(16, 3),
        ),
        (
            {"out_of_line_bitpacking": {"uncompressed_bits_per_value": 64, "values": {"flat": {}}}},
            OutOfLineBitpacking(64, 0),
        ),
        ({"fsst": {"symbol_table": b"abc", "values": VARIABLE}}, Fsst(b"abc", Variable(32))),
        ({"rle": {"values": FLAT32, "run_lengths": {"flat": {"bits_per_value": 8}}}}, Rle(Flat(32), Flat(8))),
        ({"byte_stream_split": {"values": FLAT32}}, ByteStreamSplit(Flat(32))),
        ({"general": {"compression": ZSTD, "values": FLAT32}}, General(Compression.ZSTD, Flat(32))),
        ({"general": {"compression": {**ZSTD, "level": 19}, "values": FLAT32}}, General(Compression.ZSTD, Flat(32))),
        (
            {"general": {"compression": {"scheme": pb.COMPRESSION_ALGORITHM_LZ4}, "values": VARIABLE}},
            General(Compression.LZ4, Variable(32)),
        ),
        (
            {"fixed_size_list": {"items_per_value": 3, "values": FLAT32, "has_validity": True}},
            FixedSizeList(3, Flat(32), True),
        ),
        (
            {"packed_struct": {"bits_per_value": [32, 64], "values": {"flat": {"bits_per_value": 96}}}},
            PackedStruct((32, 64), Flat(96)),
        ),
        (
            {
                "variable_packed_struct": {
                    "fields": [{"value": FLAT32, "bits_per_value": 32}, {"value": VARIABLE, "bits_per_length": 64}]
                }
            },
            VariablePackedStruct((PackedField(Flat(32), 32, None), PackedField(Variable(32), None, 64))),
        ),
    ],
)
def test_each_member_becomes_a_node_of_the_tree(content: dict[str, Any], expected: Encoding) -> None:
    assert parse(content) == expected


def test_a_documented_vector_is_read() -> None:
    message = pb.CompressiveEncoding.FromString(bytes.fromhex("5a0808021202" + "1a00" + "1801"))
    assert encoding_from_wire(message) == FixedSizeList(2, Constant(None), True)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"flat": {"bits_per_value": 8, "data": ZSTD}}, "encoding 'flat' with compressed data"),
        ({"variable": {"offsets": FLAT32, "values": ZSTD}}, "encoding 'variable' with compressed values"),
        ({"inline_bitpacking": {"uncompressed_bits_per_value": 8, "values": ZSTD}}, "encoding 'inline_bitpacking'"),
        ({"dictionary": {}}, "encoding 'dictionary' is not supported"),
        ({"variable": {"offsets": {"flat": {"bits_per_value": 16}}}}, "offsets encoded as Flat"),
        ({"variable": {"offsets": VARIABLE}}, "offsets encoded as Variable"),
        (
            {"out_of_line_bitpacking": {"uncompressed_bits_per_value": 16, "values": VARIABLE}},
            "'out_of_line_bitpacking' over anything but 'flat'",
        ),
        ({"general": {"compression": {"scheme": 0}, "values": FLAT32}}, "compression scheme 0"),
        ({"general": {"compression": {"scheme": 7}, "values": FLAT32}}, "compression scheme 7"),
    ],
)
def test_unknown_encodings_are_named(content: dict[str, Any], text: str) -> None:
    with pytest.raises(UnsupportedFeature, match=text):
        parse(content)


@pytest.mark.parametrize("data", [b"", b"\x72\x00", b"\x7a\x00", b"\xfa\x01\x00"])
def test_an_encoding_of_a_later_version_is_not_known(data: bytes) -> None:
    with pytest.raises(UnsupportedFeature, match=r"an encoding that this release does not support|is not supported"):
        encoding_from_wire(pb.CompressiveEncoding.FromString(data))


@pytest.mark.parametrize(
    "content",
    [
        {"flat": {"bits_per_value": 2**63}},
        {"inline_bitpacking": {"uncompressed_bits_per_value": 12}},
        {"out_of_line_bitpacking": {"uncompressed_bits_per_value": 16}},
        {"out_of_line_bitpacking": {"uncompressed_bits_per_value": 16, "values": {"flat": {"bits_per_value": 17}}}},
        {"fixed_size_list": {"items_per_value": 0, "values": FLAT32}},
        {"fixed_size_list": {"items_per_value": 2**64 - 1, "values": FLAT32}},
        {"packed_struct": {"bits_per_value": [0], "values": FLAT32}},
        {"variable_packed_struct": {"fields": [{"value": FLAT32}]}},
        {"variable_packed_struct": {"fields": [{"value": FLAT32, "bits_per_value": 12}]}},
        {"variable_packed_struct": {"fields": [{"value": VARIABLE, "bits_per_length": 8}]}},
    ],
)
def test_impossible_widths_are_refused(content: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile):
        parse(content)


def test_trees_have_a_bounded_depth() -> None:
    content = FLAT32
    for _ in range(MAX_DEPTH):
        content = {"byte_stream_split": {"values": content}}
    parse(content)
    with pytest.raises(CorruptFile, match=f"more than {MAX_DEPTH} deep"):
        parse({"byte_stream_split": {"values": content}})
