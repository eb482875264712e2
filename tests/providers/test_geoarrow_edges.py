"""GeoArrow columns whose edges DuckDB does not know: it reads them in their storage type, and the table keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql

POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
PLANAR: list[Any] = [{}, {"crs": "EPSG:4326"}, {"edges": "planar"}, {"edges": None}]
OTHERS: list[Any] = [{"edges": "spherical"}, {"crs": "OGC:CRS84", "edges": "vincenty"}, {"edges": "karney"}]


def _field(parameters: Any, name: str = "g") -> pa.Field:
    metadata = {"ARROW:extension:name": "geoarrow.wkb", "ARROW:extension:metadata": json.dumps(parameters)}
    return pa.field(name, pa.binary(), metadata=metadata)


def _write(path: Path, field: pa.Field, value: Any) -> lance_sql.Dataset:
    schema = pa.schema([pa.field("id", pa.int64()), field])
    return lance_sql.write(pa.table([pa.array([1, 2]), pa.array([value, None], field.type)], schema=schema), path)


@pytest.mark.parametrize("parameters", [*PLANAR, *OTHERS], ids=str)
def test_duckdb_reads_and_changes_them(tmp_path: Path, parameters: Any) -> None:
    path = tmp_path / "t.lance"
    table = _write(path, _field(parameters), POINT)
    field = table.schema.field("g")
    connection = lance_sql.connect()
    (kind,) = {row[0] for row in connection.execute(f"SELECT typeof(g) FROM '{path}'").fetchall()}
    assert kind == ("GEOMETRY" if parameters in PLANAR else "BLOB")
    assert connection.execute(f"SELECT count(*) FROM '{path}' WHERE g IS NOT NULL").fetchall() == [(1,)]
    assert connection.execute(f"SELECT count(*) FROM lance_changes('{path}', 0)").fetchall() == [(2,)]
    lance_sql.sql(f"UPDATE '{path}' SET id = id + 10 WHERE g IS NULL", connection=connection)
    lance_sql.sql(f"INSERT INTO '{path}' SELECT id + 1, g FROM '{path}' WHERE id = 12", connection=connection)
    if parameters in OTHERS:
        lance_sql.sql(f"INSERT INTO '{path}' SELECT id + 1, g FROM '{path}' WHERE id = 1", connection=connection)
        table.latest().update({"g": "g"}, "true")
    table = table.latest()
    assert table.schema.field("g").equals(field, check_metadata=True)
    expected = {1: POINT, 12: None, 13: None} | ({2: POINT} if parameters in OTHERS else {})
    rows = table.to_table().to_pydict()
    assert dict(zip(rows["id"], rows["g"], strict=True)) == expected


@pytest.mark.parametrize("nest", ["struct", "list"])
def test_members_too(tmp_path: Path, nest: str) -> None:
    member = _field({"edges": "spherical"}, "item")
    type = pa.struct([member]) if nest == "struct" else pa.list_(member)
    value: Any = {"item": POINT} if nest == "struct" else [POINT]
    _write(tmp_path / "t.lance", pa.field("s", type), value)
    query = f"SELECT id, s FROM '{tmp_path / 't.lance'}' ORDER BY id"
    assert lance_sql.connect().execute(query).fetchall() == [(1, value), (2, None)]


def test_datafusion_keeps_the_extension(tmp_path: Path) -> None:
    table = _write(tmp_path / "t.lance", _field({"edges": "spherical"}), POINT)
    read = lance_sql.sql(f"SELECT g FROM '{table.uri}'", engine="datafusion").to_table()
    assert read.schema.field("g").metadata == table.schema.field("g").metadata
