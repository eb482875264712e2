"""Engines use scalar indices: a wrong one hides rows from all of them, unless indices are turned off."""

from __future__ import annotations

from pathlib import Path

import datafusion
import duckdb
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.format.index_files import writing
from lance_sql.format.index_files.zone_map import FILE

ROWS = 20_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A table whose zone map on `i` says that the values are a million higher."""
    table = pa.table({"i": np.arange(ROWS), "v": np.arange(ROWS) * 2})
    made = lance_sql.write(table, tmp_path / "t.lance").indices.create("i", "zonemap")
    (segment,) = made.snapshot.indices()
    opened = made.snapshot.open_indices.open(segment)
    statistics, zones = opened.statistics, opened.zones  # type: ignore[union-attr]  # not None here
    lies = {
        "min": pa.array(statistics.mins.to_numpy() + 1_000_000),
        "max": pa.array(statistics.maxs.to_numpy() + 1_000_000),
        "null_count": pa.array([0] * len(zones), pa.uint32()),
        "nan_count": pa.array([0] * len(zones), pa.uint32()),
        "fragment_id": pa.array(zones.fragment_ids, pa.uint64()),
        "zone_start": pa.array(zones.starts, pa.uint64()),
        "zone_length": pa.array(zones.ends - zones.starts, pa.uint64()),
    }
    batch = pa.RecordBatch.from_pydict(lies)
    name = f"_indices/{segment.uuid}/{FILE}"
    (tmp_path / "t.lance" / name).unlink()
    written = writing.write(
        made.snapshot.store,
        name,
        batch.schema,
        [batch],
        file_version="2.2",
        notes={"rows_per_zone": "8192", "null_bitmap": "1"},
        buffers=[bytes(4)],
    )
    assert written.size_bytes == segment.file_sizes[FILE]
    return str(tmp_path / "t.lance")


def test_this_library(path: str) -> None:
    assert lance_sql.open(path).count_rows("i = 77") == 0
    assert lance_sql.open(path, use_indices=False).count_rows("i = 77") == 1
    assert lance_sql.open(path).scan(filter="v = 154").to_table().num_rows == 1


def test_duckdb(path: str) -> None:
    connection = lance_sql.connect()
    assert connection.sql(f"SELECT v FROM '{path}' WHERE i = 77").fetchall() == []
    connection = duckdb.connect()
    connection.register("t", lance_sql.open(path, use_indices=False))
    assert connection.sql("SELECT v FROM t WHERE i = 77").fetchall() == [(154,)]


def test_datafusion(path: str) -> None:
    context = lance_sql.register(datafusion.SessionContext(), "t", path)
    assert context.sql("SELECT v FROM t WHERE i = 77").to_pydict() == {"v": []}


def test_statements(path: str) -> None:
    assert lance_sql.open(path).delete("i = 77").version == lance_sql.open(path).version
    assert lance_sql.open(path, use_indices=False).delete("i = 77").count_rows() == ROWS - 1
