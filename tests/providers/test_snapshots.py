"""Versions that queries share: each is as it would be if it were opened anew."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.providers import snapshots
from lance_sql.providers.duckdb.registration import register
from lance_sql.providers.snapshots import open_version

NUM_ROWS = 20_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A table whose file is too large to be held in memory as a whole."""
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"x": range(NUM_ROWS), "s": [f"text {number}" for number in range(NUM_ROWS)]}), path)
    return path


def read(table: Dataset) -> pa.Table:
    return table.scan(["x", "s"], "x >= 100").to_table()


def test_a_file_that_was_damaged_and_put_right_is_read_again(tmp_path: Path) -> None:
    rows = pa.table({"x": range(40)})
    table = lance_sql.write(rows, tmp_path / "t.lance", file_version="2.0")
    (file,) = tmp_path.glob("t.lance/data/*.lance")
    content = file.read_bytes()
    file.write_bytes(content[:8] + b"\xff" + content[9:])
    assert not open_version(table.uri).to_table().equals(rows)
    file.write_bytes(content)
    assert open_version(table.uri).to_table().equals(rows)


def test_a_file_at_another_place_that_changes_is_read_again(path: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone.lance"
    lance_sql.open(path).branches.shallow_clone(clone)
    assert len(read(open_version(str(clone)))) == NUM_ROWS - 100
    (file,) = path.glob("data/*.lance")
    content = file.read_bytes()
    file.write_bytes(bytes(len(content)))
    with pytest.raises(LanceError):
        read(open_version(str(clone)))
    file.write_bytes(content)
    assert len(read(open_version(str(clone)))) == NUM_ROWS - 100


def test_a_file_in_memory_that_was_put_right_is_read_again() -> None:
    rows = pa.table({"x": range(40)})
    table = lance_sql.write(rows, "memory://put_right/t.lance", file_version="2.0")
    file_system = fsspec.filesystem("memory")
    (file,) = file_system.ls("/put_right/t.lance/data", detail=False)
    content = file_system.cat_file(file)
    file_system.pipe_file(file, content[:8] + b"\xff" + content[9:])
    assert not open_version(table.uri).to_table().equals(rows)
    file_system.pipe_file(file, content)
    assert open_version(table.uri).to_table().equals(rows)
    file_system.rm("/put_right", recursive=True)


def test_they_are_let_go_of_with_all_else(path: Path) -> None:
    open_version(str(path))
    assert snapshots._cached.usage().entries
    assert any("versions of queries" in str(each) for each in lance_sql.cache_usage())
    lance_sql.clear_caches()
    assert snapshots._cached.usage().entries == 0


def test_a_statement_that_was_prepared_for_a_table_is_run_on_the_new_one(path: Path) -> None:
    connection: Any = register(duckdb.connect())
    connection.execute(f"PREPARE total AS SELECT sum(x) FROM lance_scan('{path}')")
    total = NUM_ROWS * (NUM_ROWS - 1) // 2
    assert connection.execute("EXECUTE total").fetchall() == [(total,)]
    shutil.rmtree(path)
    lance_sql.write(pa.table({"x": [1], "s": ["new"]}), path)
    assert connection.execute("EXECUTE total").fetchall() == [(1,)]
