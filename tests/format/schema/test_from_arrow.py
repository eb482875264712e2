"""Arrow schemas to fields and back, and fields to messages and back."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.schema import Schema
from lance_sql.format.schema.from_arrow import extend, from_arrow
from lance_sql.format.schema.wire import from_messages, to_messages

BFLOAT16 = {"ARROW:extension:name": "lance.bfloat16", "ARROW:extension:metadata": ""}
TYPES = [
    pa.null(),
    pa.bool_(),
    pa.int8(),
    pa.uint64(),
    pa.float16(),
    pa.float64(),
    pa.string(),
    pa.large_binary(),
    pa.binary(16),
    pa.date32(),
    pa.date64(),
    pa.time32("ms"),
    pa.time64("ns"),
    pa.timestamp("us", tz="+05:30"),
    pa.timestamp("s"),
    pa.duration("ns"),
    pa.decimal128(10, -2),
    pa.decimal256(76, 5),
    pa.dictionary(pa.int16(), pa.string()),
    pa.dictionary(pa.uint8(), pa.float64()),
    pa.list_(pa.float32(), 8),
    pa.list_(pa.list_(pa.timestamp("us", "UTC"), 2), 3),
    pa.list_(pa.field("item", pa.binary(2), metadata=BFLOAT16), 4),
    pa.list_(pa.struct([("x", pa.int32())]), 2),
    pa.list_(pa.field("element", pa.int32(), nullable=False)),
    pa.large_list(pa.struct([("x", pa.list_(pa.string()))])),
    pa.struct([]),
    pa.struct([pa.field("x", pa.int8(), nullable=False, metadata={"unit": "m"})]),
    pa.map_(pa.string(), pa.list_(pa.int64())),
]


def schema_of(*fields: pa.Field) -> Schema:
    return from_arrow(pa.schema(list(fields)))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_every_type_comes_back(type: pa.DataType) -> None:
    arrow = pa.schema(
        [pa.field("a", type, metadata={"k": "v"}), pa.field("b", type, nullable=type == pa.null())], {"m": "1"}
    )
    schema = from_arrow(arrow)
    assert schema.arrow.equals(arrow, check_metadata=True)
    assert from_messages(to_messages(schema), schema.metadata) == schema


class _Celsius(pa.ExtensionType):  # type: ignore[misc]  # Arrow has no types
    """A type that is defined in Python, and cannot be hashed for that."""

    def __init__(self) -> None:
        super().__init__(pa.float32(), "test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> pa.DataType:
        return cls()


def test_extension_types_of_python_are_stored_as_what_they_extend(tmp_path: Path) -> None:
    type = _Celsius()
    around = pa.struct([pa.field("t", type)])
    values = pa.ExtensionArray.from_storage(type, pa.array([1.5, None], pa.float32()))
    batch = pa.record_batch({"t": values, "s": pa.StructArray.from_arrays([values], fields=list(around))})
    schema = from_arrow(batch.schema)
    name = b"ARROW:extension:name"
    assert schema.arrow.field("t").type == pa.float32()
    assert (
        schema.arrow.field("t").metadata[name]
        == schema.arrow.field("s").type.field(0).metadata[name]
        == b"test.celsius"
    )
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    table = lance_sql.write(reader, tmp_path / "t")
    table = lance_sql.write(pa.Table.from_batches([batch]), tmp_path / "t", mode="append")
    assert table.to_table()["t"].to_pylist() == [1.5, None] * 2
    assert lance.dataset(tmp_path / "t").to_table()["s"].to_pylist() == [{"t": 1.5}, {"t": None}] * 2


def test_ids_count_in_the_order_of_a_walk() -> None:
    schema = schema_of(
        pa.field("a", pa.list_(pa.struct([("x", pa.int8()), ("y", pa.int8())]))), pa.field("b", pa.int8())
    )
    assert [(field.id, field.parent_id, field.name) for field in to_messages(schema)] == [
        (0, -1, "a"),
        (1, 0, "item"),
        (2, 1, "x"),
        (3, 1, "y"),
        (4, -1, "b"),
    ]


def test_further_columns_get_further_ids() -> None:
    schema = extend(schema_of(pa.field("a", pa.int8())), [pa.field("b", pa.struct([("x", pa.int8())]))], 7)
    assert [field.id for field in to_messages(schema)] == [0, 7, 8]
    with pytest.raises(InvalidArgument, match="differ only in case"):
        extend(schema, [pa.field("A", pa.int8())], 9)


def test_views_are_stored_as_strings() -> None:
    schema = schema_of(pa.field("a", pa.string_view()), pa.field("b", pa.list_(pa.binary_view())))
    assert schema.arrow.types == [pa.string(), pa.list_(pa.binary())]


@pytest.mark.parametrize(
    "field",
    [
        pa.field("a", pa.json_()),
        pa.field("a", pa.string(), metadata={"ARROW:extension:name": "arrow.json"}),
        pa.field("a", pa.large_binary(), metadata={"ARROW:extension:name": "lance.json"}),
    ],
)
def test_json(field: pa.Field) -> None:
    schema = schema_of(field)
    assert schema.fields[0].logical_type == "json"
    assert schema.fields[0].extension_name == "lance.json"
    assert schema.arrow.field(0).type == pa.string()


def test_blobs_are_of_the_kind_that_files_of_a_version_have() -> None:
    arrow = pa.schema([pa.field("a", pa.binary(), metadata={"lance-encoding:blob": "true"})])
    (two,) = from_arrow(arrow, file_version="2.2").fields
    (one,) = from_arrow(arrow, file_version="2.1").fields
    assert two.is_blob_v2
    assert [child.name for child in two.children] == ["data", "uri"]
    assert one.is_blob_v1
    assert from_arrow(arrow).arrow.types == from_arrow(arrow, file_version="2.0").arrow.types == [pa.large_binary()]


@pytest.mark.parametrize("type", [pa.string(), pa.int64(), pa.binary(2), pa.list_(pa.int64())], ids=str)
@pytest.mark.parametrize("file_version", ["2.0", "2.1", "2.2"])
def test_blobs_are_bytes(type: pa.DataType, file_version: str) -> None:
    blob = pa.field("a", type, metadata={"lance-encoding:blob": "true"})
    with pytest.raises(InvalidArgument, match=r"'s\.a' has 'lance-encoding:blob' .* cannot be a blob"):
        from_arrow(pa.schema([pa.field("s", pa.struct([blob]))]), file_version=file_version)


def test_other_extension_types_keep_their_name() -> None:
    (field,) = schema_of(pa.field("a", pa.uuid())).fields
    assert (field.logical_type, field.extension_name) == ("fixed_size_binary:16", "arrow.uuid")
    assert to_messages(Schema((field,)))[0].extension_name == "arrow.uuid"


def test_a_key_is_named_in_the_message_and_in_the_metadata() -> None:
    metadata = {"lance-schema:unenforced-primary-key": "true", "lance-schema:unenforced-primary-key:position": "2"}
    schema = schema_of(pa.field("a", pa.int8(), nullable=False, metadata=metadata))
    (message,) = to_messages(schema)
    assert message.unenforced_primary_key
    assert message.unenforced_primary_key_position == 2
    message.metadata.clear()
    assert from_messages([message]) == schema


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ([("a", pa.int8()), ("a", pa.int8())], "same name"),
        ([("a", pa.int8()), ("A", pa.int8())], "'a' and 'A' differ only in case"),
        ([("s", pa.struct([("x", pa.int8()), ("X", pa.int8())]))], "in 's' differ only in case"),
        ([("_rowid", pa.int8())], "reserved"),
        ([("a.b", pa.int8())], "dot"),
        ([("", pa.int8())], "no name"),
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(fields: list[tuple[str, pa.DataType]], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text):
        from_arrow(pa.schema(fields))


@pytest.mark.parametrize(
    "type",
    [
        pa.list_view(pa.int8()),
        pa.run_end_encoded(pa.int32(), pa.int8()),
        pa.decimal32(5, 1),
        pa.decimal64(5, 1),
        pa.month_day_nano_interval(),
        pa.sparse_union([pa.field("x", pa.int8())]),
        pa.list_(pa.string(), 2),
        pa.list_(pa.list_(pa.int8()), 2),
        pa.list_(pa.int8(), 0),
        pa.dictionary(pa.int8(), pa.list_(pa.int8())),
        pa.dictionary(pa.int8(), pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_types_without_a_logical_type_are_refused_by_name(type: pa.DataType) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'s\.a'.*no logical type"):
        from_arrow(pa.schema([("s", pa.struct([("a", type)]))]))


def test_deep_nesting_is_refused() -> None:
    type = pa.int8()
    for _ in range(64):
        type = pa.list_(type)
    with pytest.raises(UnsupportedFeature, match="more than 64 levels"):
        from_arrow(pa.schema([("a", type)]))


@pytest.mark.parametrize(
    "type",
    [
        pa.fixed_shape_tensor(pa.float32(), [2, 2], dim_names=["a", "b"]),
        pa.opaque(pa.binary(), "bignum", "DuckDB"),
        pa.uuid(),
        pa.bool8(),
    ],
    ids=str,
)
def test_extension_types_keep_their_parameters(tmp_path: Path, type: pa.DataType) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"v": pa.nulls(2, type)}), path)
    assert lance.dataset(path).schema.field("v").type == type
    assert lance.dataset(path).to_table()["v"].type == type
    # a table of the schema of another one is the same
    lance_sql.write(lance_sql.open(path), tmp_path / "copy.lance")
    assert lance.dataset(tmp_path / "copy.lance").schema.field("v").type == type
