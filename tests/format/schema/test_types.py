"""Logical types: each known one has its Arrow type, and nothing else has any."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.schema import Field, arrow_field, storage_type
from lance_sql.format.schema.types import leaf_type


@pytest.mark.parametrize(
    ("logical_type", "data_type"),
    [
        ("null", pa.null()),
        ("halffloat", pa.float16()),
        ("date32:day", pa.date32()),
        ("time64:ns", pa.time64("ns")),
        ("timestamp:us:-", pa.timestamp("us")),
        ("timestamp:us:+05:30", pa.timestamp("us", "+05:30")),
        ("duration:s", pa.duration("s")),
        ("decimal:128:10:-2", pa.decimal128(10, -2)),
        ("decimal:256:76:38", pa.decimal256(76, 38)),
        ("fixed_size_binary:3", pa.binary(3)),
        ("dict:string:int16:false", pa.dictionary(pa.int16(), pa.string())),
        ("dict:timestamp:us:UTC:uint8:false", pa.dictionary(pa.uint8(), pa.timestamp("us", "UTC"))),
        ("fixed_size_list:float:8", pa.list_(pa.float32(), 8)),
        ("fixed_size_list:timestamp:us:UTC:2", pa.list_(pa.timestamp("us", "UTC"), 2)),
        ("fixed_size_list:decimal:128:5:1:2", pa.list_(pa.decimal128(5, 1), 2)),
        ("fixed_size_list:fixed_size_list:int16:2:3", pa.list_(pa.list_(pa.int16(), 2), 3)),
        ("fixed_size_list:lance.bfloat16:3", pa.list_(pa.binary(2), 3)),
    ],
)
def test_logical_types_have_arrow_types(logical_type: str, data_type: pa.DataType) -> None:
    assert leaf_type(logical_type) == data_type


@pytest.mark.parametrize(
    "logical_type", ["quaternion", "time:zz", "decimal:10:2", "decimal:64:10:2", "blob", "", "INT32"]
)
def test_unknown_logical_types_are_named(logical_type: str) -> None:
    with pytest.raises(UnsupportedFeature, match=repr(logical_type)):
        leaf_type(logical_type)


@pytest.mark.parametrize(
    "logical_type",
    [
        "fixed_size_list:float:-1",
        "fixed_size_list:float:0",
        "fixed_size_list:float:x",
        "fixed_size_list:float:99999999999",
        "fixed_size_list:fixed_size_list:float:65536:65536",
        "fixed_size_list:" * 20 + "float" + ":1" * 20,
        "fixed_size_list:" * 4000 + "float" + ":1" * 4000,
        "decimal:128:200:5",
        "decimal:128:0:0",
        "decimal:128::5",
        "timestamp:fortnight:-",
        "timestamp:us",
        "timestamp:us:",
        "dict:string:float:false",
        "dict:string:int8",
        "dict::int8:false",
        "fixed_size_binary:-4",
        "fixed_size_binary:1_0",
        "fixed_size_binary:\u0663",
    ],
    ids=lambda text: text[:40],
)
def test_malformed_logical_types_are_refused(logical_type: str) -> None:
    with pytest.raises((CorruptFile, UnsupportedFeature)):
        leaf_type(logical_type)


def test_json_is_stored_in_binary_and_shown_as_text() -> None:
    field = Field("j", 0, -1, "json", metadata={"ARROW:extension:name": b"lance.json", "unit": b"x"})
    assert storage_type(field) == pa.large_binary()
    assert arrow_field(field).type == pa.string()
    assert arrow_field(field).metadata == {b"unit": b"x"}


def test_json_inside_of_a_list_is_shown_as_text() -> None:
    item = Field("item", 1, 0, "json")
    field = Field("js", 0, -1, "list", children=(item,))
    assert storage_type(field) == pa.list_(pa.large_binary())
    assert arrow_field(field).type == pa.list_(pa.string())


def test_blobs_of_both_kinds_are_bytes() -> None:
    first = Field("b", 0, -1, "large_binary", metadata={"lance-encoding:blob": b"true"})
    assert first.is_blob_v1
    assert storage_type(first) == arrow_field(first).type == pa.large_binary()
    members = (Field("data", 2, 1, "large_binary"), Field("uri", 3, 1, "string"))
    second = Field("c", 1, -1, "struct", children=members, metadata={"ARROW:extension:name": b"lance.blob.v2"})
    assert second.is_blob_v2
    assert storage_type(second) == arrow_field(second).type == pa.large_binary()
    assert arrow_field(second).metadata is None


def test_other_extension_types_keep_storage_and_metadata() -> None:
    metadata = {"ARROW:extension:name": b"lance.bfloat16", "ARROW:extension:metadata": b""}
    shown = arrow_field(Field("h", 0, -1, "fixed_size_binary:2", metadata=metadata))
    assert shown.type == pa.binary(2)
    assert shown.metadata == {key.encode(): value for key, value in metadata.items()}


def test_nested_types_follow_their_children() -> None:
    key = Field("key", 2, 1, "string", nullable=False)
    value = Field(
        "value",
        3,
        1,
        "fixed_size_list:struct:2",
        children=(Field("item", 4, 3, "struct", children=(Field("x", 5, 4, "int8"),)),),
    )
    entries = Field("entries", 1, 0, "struct", nullable=False, children=(key, value))
    field = Field("m", 0, -1, "map", children=(entries,))
    expected = pa.map_(pa.string(), pa.list_(pa.field("item", pa.struct([("x", pa.int8())])), 2))
    assert storage_type(field) == arrow_field(field).type == expected
