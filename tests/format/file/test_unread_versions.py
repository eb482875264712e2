"""Data files of a version that this release does not read: their tables open, and say so where a column is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset, UnsupportedFeature

READS: dict[str, Callable[[Dataset], Any]] = {
    "rows": lambda table: table.to_table(),
    "a column": lambda table: table.scan(["b"]).to_table(),
    "a filter": lambda table: table.count_rows("a > 3"),
    "take": lambda table: table.take([1]),
    "SQL": lambda table: lance_sql.connect().execute(f"SELECT sum(a) FROM '{table.uri}'").fetchall(),
    "update": lambda table: table.update({"a": 1}, "a = 2"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("unstable") / "t.lance")
    rows = pa.table({"a": pa.array(range(100)), "b": pa.array(["x"] * 100)})
    lance.write_dataset(rows, path, data_storage_version="2.3", max_rows_per_file=50)
    return path


@pytest.mark.parametrize("read", READS)
def test_a_read_names_the_file_its_version_and_who_reads_it(path: str, read: str) -> None:
    said = r"t\.lance version 1: .*\.lance: data file version 2\.3 is not supported.*lance-sql 0\.2\.0 reads it"
    with pytest.raises((UnsupportedFeature, duckdb.Error), match=said):
        READS[read](lance_sql.open(path))
    assert lance_sql.open(path).version == 1


def test_files_are_not_added(path: str) -> None:
    with pytest.raises(UnsupportedFeature, match=r"version 2\.3, which this release does not write.*0\.2\.0 reads it"):
        lance_sql.write(pa.table({"a": [1], "b": ["y"]}), path, mode="append")
    with pytest.raises(UnsupportedFeature, match=r"version 2\.3, which this release does not write"):
        lance_sql.open(path).maintenance.compact()


def test_what_needs_no_column_works(path: str) -> None:
    table = lance_sql.open(path)
    assert (table.count_rows(), table.history()[0].version) == (100, 1)
    assert table.scan(["_rowid"], limit=3).to_table().num_rows == 3
    assert not lance_sql.verify(path).is_healthy


def test_a_table_is_overwritten_with_the_default_version(path: str, tmp_path: Path) -> None:
    copy = tmp_path / "t.lance"
    lance.write_dataset(pa.table({"a": [1]}), copy, data_storage_version="2.3")
    table = lance_sql.write(pa.table({"a": [2]}), copy, mode="overwrite")
    assert table.to_table().to_pydict() == {"a": [2]}
    assert lance.dataset(copy).to_table().to_pydict() == {"a": [2]}
