"""VARIANT of Parquet, DuckDB and Spark is refused by name: no reader knows its bytes in a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType, VariantType

import lance_sql
from lance_sql.errors import LanceError, UnsupportedFeature

STORAGE = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary())])


class Variant(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(STORAGE, "arrow.parquet.variant")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, text: bytes) -> Variant:
        return cls()


MARKED = pa.field("v", STORAGE, metadata={"ARROW:extension:name": "arrow.parquet.variant"})
FIELDS: dict[str, Callable[[], pa.Field]] = {
    "extension type": lambda: pa.field("v", Variant()),
    "metadata": lambda: MARKED,
    "member": lambda: pa.field("v", pa.struct([MARKED])),
    "item": lambda: pa.field("v", pa.list_(MARKED)),
    "Spark": lambda: to_arrow_schema(StructType([StructField("v", VariantType())])).field(0),
}


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("file_version", ["2.0", "2.2"])
def test_variant_is_refused_by_name(tmp_path: Path, kind: str, file_version: Any) -> None:
    path = tmp_path / "t.lance"
    schema = pa.schema([pa.field("id", pa.int64()), FIELDS[kind]()])
    with pytest.raises(UnsupportedFeature, match=r"Column 'v.*': VARIANT is not supported: convert it to JSON text"):
        lance_sql.write(schema.empty_table(), path, file_version=file_version)
    assert not path.exists()
    table = lance_sql.write({"id": [1]}, path, file_version=file_version)
    with pytest.raises(UnsupportedFeature, match="VARIANT"):
        table.add_columns([FIELDS[kind]()])
    assert table.latest().version == 1


def test_variant_of_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    # DuckDB 1.5 refuses to export it
    for query in ("SELECT 7::VARIANT AS v", "SELECT {'a': [7::VARIANT]} AS v"):
        with pytest.raises(LanceError, match="VARIANT"):
            lance_sql.write(duckdb.sql(query), path)
        with pytest.raises(LanceError, match="VARIANT"):
            lance_sql.sql(f"CREATE TABLE '{path}' AS {query}")
    assert not path.exists()
    table = lance_sql.write(duckdb.sql("SELECT ({'a': 7}::VARIANT)::JSON AS v"), path)
    assert table.to_table()["v"].to_pylist() == ['{"a":7}']
