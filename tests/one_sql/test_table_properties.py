"""Properties of CREATE TABLE in the words of lance-spark: what they do, in one version; others are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, InvalidArgument, LanceError, UnsupportedFeature

COLUMNS = "id INT, v FLOAT[], doc BLOB, s VARCHAR, n BIGINT"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def create(properties: str, *, columns: str = COLUMNS, **options: Any) -> Dataset:
    text = f"CREATE TABLE 't.lance' ({columns}) USING lance TBLPROPERTIES ({properties})"
    lance_sql.sql(text, **options)
    return lance_sql.open("t.lance")


@pytest.mark.parametrize(
    ("property", "column", "type", "metadata"),
    [
        ("'v.arrow.fixed-size-list.size' = '2'", "v", pa.list_(pa.float32(), 2), None),
        ("'V.arrow.fixed-size-list.size' = '2'", "v", pa.list_(pa.float32(), 2), None),
        ("'s.arrow.large_var_char' = 'true'", "s", pa.large_string(), None),
        ("'s.arrow.large_var_char' = 'false'", "s", pa.string(), None),
        ("'s.lance.compression' = 'zstd'", "s", pa.string(), {b"lance-encoding:compression": b"zstd"}),
        ("'n.lance.rle-threshold' = '0.5'", "n", pa.int64(), {b"lance-encoding:rle-threshold": b"0.5"}),
    ],
)
def test_a_property_of_a_column(property: str, column: str, type: pa.DataType, metadata: Any) -> None:
    table = create(property)
    assert (table.version, table.snapshot.manifest.config) == (1, {})
    assert table.schema.field(column).type == type
    assert table.schema.field(column).metadata == metadata
    assert lance.dataset("t.lance").schema.field(column).type == type


def test_a_blob_column() -> None:
    create("'doc.lance.encoding' = 'blob', 'file_format_version' = '2.1'")
    lance_sql.sql("INSERT INTO 't.lance' (id, doc) VALUES (1, 'abc'::BLOB)")
    (blob,) = lance.dataset("t.lance").take_blobs("doc", indices=[0])
    assert blob is not None
    assert blob.read() == b"abc"
    lance_sql.sql(f"CREATE TABLE 'new.lance' ({COLUMNS}) TBLPROPERTIES ('doc.lance.encoding' = 'blob')")
    assert lance_sql.open("new.lance").snapshot.manifest.schema.by_name["doc"].is_blob_v2


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_all_of_them_in_one_version(engine: str) -> None:
    pytest.importorskip(engine)
    columns = COLUMNS if engine == "duckdb" else "id INT, v ARRAY<REAL>, doc BYTEA, s VARCHAR, n BIGINT"
    table = create(
        "'v.arrow.fixed-size-list.size' = '2', 'enable_stable_row_ids' = 'false', 'file_format_version' = '2.1',"
        " 'team' = 'growth') COMMENT 'all' TBLPROPERTIES ('a.b' = 'c'",
        columns=columns,
        engine=engine,
    )
    assert [each.operation for each in table.history()] == ["create"]
    assert table.snapshot.manifest.config == {"team": "growth", "comment": "all", "a.b": "c"}
    assert table.snapshot.manifest.data_format == "2.1"
    assert "_row_created_at_version" not in table.system_columns
    lance_sql.sql("INSERT INTO 't.lance' (id, v) VALUES (1, [1.0, 2.0])")
    assert lance.dataset("t.lance").to_table(columns=["v"]).to_pylist() == [{"v": [1.0, 2.0]}]
    replaced = "CREATE OR REPLACE TABLE 't.lance' (id INT) TBLPROPERTIES ('team' = 'other')"
    lance_sql.sql(replaced)
    assert lance_sql.open("t.lance").version == 3
    assert lance.dataset("t.lance").config()["team"] == "other"


@pytest.mark.parametrize(
    ("property", "said"),
    [
        ("'v.arrow.fixed-size-list.size' = 'two'", "is not the number of items"),
        ("'v.arrow.fixed-size-list.size' = '0'", "is not the number of items"),
        ("'id.arrow.fixed-size-list.size' = '2'", "needs a list"),
        ("'w.arrow.fixed-size-list.size' = '2'", "missing column: w"),
        ("'v.arrow.fixed-size-list' = '2'", "Properties of a column: arrow.fixed-size-list.size"),
        ("'v.arrow.float16' = 'true'", "is not supported"),
        ("'id.arrow.large_var_char' = 'true'", "needs text"),
        ("'s.arrow.large_var_char' = 'yes'", "neither 'true' nor 'false'"),
        ("'doc.lance.encoding' = 'blobs'", "use 'blob'"),
        ("'id.lance.encoding' = 'blob'", "needs BLOB"),
        ("'id.lance.compression' = 'gzip'", "'id.lance.compression' = 'gzip' is not supported"),
        ("'id.lance.compresion' = 'zstd'", "Properties of a column"),
        ("'file_format_version' = '1.0'", "use one of 2.0, 2.1, 2.2"),
        ("'enable_stable_row_ids' = '1'", "neither 'true' nor 'false'"),
    ],
)
def test_others_are_refused_before_anything_is_written(property: str, said: str) -> None:
    with pytest.raises((InvalidArgument, UnsupportedFeature), match=said):
        create(property)
    assert not Path("t.lance").exists()
    lance_sql.write({"id": [1]}, "t.lance")
    with pytest.raises(UnsupportedFeature, match="cannot be changed later"):
        lance_sql.sql(f"ALTER TABLE 't.lance' SET TBLPROPERTIES ({property})")
    assert lance_sql.open("t.lance").version == 1


def test_write_sets_the_config_of_the_version_that_it_makes() -> None:
    table = lance_sql.write({"id": [1]}, "t.lance", config={"team": "growth"})
    table = lance_sql.write({"id": [2]}, table, mode="overwrite", config={"owner": "us"})
    assert (table.version, table.snapshot.manifest.config) == (2, {"team": "growth", "owner": "us"})
    for config in ({"a": None}, {"a": 1}, "a"):
        with pytest.raises(InvalidArgument, match="Config values are text"):
            lance_sql.write({"id": [1]}, "t.lance", mode="overwrite", config=config)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="leave config= out"):
        lance_sql.write({"id": [1]}, "t.lance", mode="append", config={"a": "b"})
    with pytest.raises(LanceError, match="exists already"):
        lance_sql.write({"id": [1]}, "t.lance", config={"a": "b"})
    assert lance_sql.open("t.lance").version == 2
