"""docs/types.md matches tables written by pylance."""

from __future__ import annotations

import re
from pathlib import Path

import datafusion
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.providers.spark import types as spark_types
from tests.documents import ROOT

BLOB = {"lance-encoding:blob": "true"}
FIELDS = [
    pa.field("", data_type)
    for data_type in (
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.decimal128(10, 2),
        pa.decimal256(50, 5),
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.large_binary(),
        pa.binary(4),
        pa.date32(),
        pa.date64(),
        pa.time32("s"),
        pa.time32("ms"),
        pa.time64("us"),
        pa.time64("ns"),
        pa.timestamp("s"),
        pa.timestamp("ms"),
        pa.timestamp("us"),
        pa.timestamp("ns"),
        pa.timestamp("us", "UTC"),
        pa.duration("s"),
        pa.duration("ms"),
        pa.duration("us"),
        pa.duration("ns"),
        pa.dictionary(pa.int16(), pa.string()),
        pa.list_(pa.int32()),
        pa.large_list(pa.int32()),
        pa.list_(pa.float32(), 3),
        pa.list_(pa.struct([("x", pa.int32())]), 3),
        pa.struct([("x", pa.int32())]),
        pa.map_(pa.string(), pa.int32()),
        pa.json_(),
    )
] + [pa.field("", pa.large_binary(), metadata=BLOB)]


def stored_as(dataset: lance_sql.Dataset) -> str:
    field = dataset.snapshot.manifest.schema.fields[0]
    if field.is_blob_v1:
        return f"{field.logical_type}, blob"
    return f"{field.logical_type}, extension {field.extension_name}" if field.extension_name else field.logical_type


def row(field: pa.Field, folder: Path) -> str:
    """The row of the table for a type."""
    column = pa.nulls(2, field.type)
    table = pa.table([column], pa.schema([field.with_name("c")]))
    # Blobs of this kind are not written in 2.2.
    lance.write_dataset(table, folder / "t.lance", data_storage_version="2.1" if field.metadata else "2.2")
    dataset = lance_sql.open(folder / "t.lance")
    connection = lance_sql.connect()
    ((duckdb_type,),) = connection.execute(f"SELECT typeof(c) FROM '{folder}/t.lance' LIMIT 1").fetchall()
    context = lance_sql.register(datafusion.SessionContext(), "t", dataset)
    assert context.table("t").schema().field("c").type == dataset.schema.field("c").type
    name = duckdb_type.strip('"')
    in_spark = spark_types.spark_schema(dataset.schema).fields[0].dataType.simpleString()
    return f"| `{stored_as(dataset)}` | `{dataset.schema.field('c').type}` | `{name}` | `{in_spark}` |"


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{field.type}{'-blob' * bool(field.metadata)}")
def test_types_match_the_document(field: pa.Field, tmp_path: Path) -> None:
    assert row(field, tmp_path) in (ROOT / "docs" / "types.md").read_text().splitlines()


def test_the_document_has_no_other_rows() -> None:
    rows = re.findall(r"^\| `", (ROOT / "docs" / "types.md").read_text(), re.MULTILINE)
    assert len(rows) == len(FIELDS)
