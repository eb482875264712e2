"""Fragments that a compaction joins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql


def test_a_group_that_has_enough_rows_takes_no_more(tmp_path: Path) -> None:
    table = lance_sql.write({"id": list(range(40))}, tmp_path / "t.lance", max_rows_per_file=10)
    compacted = table.maintenance.compact(target_rows=20)
    assert [each.physical_rows for each in compacted.snapshot.manifest.fragments] == [20, 20]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize(
    "items", [["", "a", "b"], ["a", None, ""], [None, "a"], [1, 2, None], [b"", None, b"x"]], ids=str
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_categories_with_null_stay_categories(tmp_path: Path, version: Any, items: list[Any], is_nested: bool) -> None:
    keys = pa.array([0, None, len(items) - 1, 0], pa.int8())
    values = pa.DictionaryArray.from_arrays(keys, pa.array(items))
    if is_nested:
        values = pa.ListArray.from_arrays([0, 1, 2, 3, 4], values)
    rows = pa.table({"v": values})
    table = lance_sql.write(rows, tmp_path / "t.lance", file_version=version)
    table = lance_sql.write(rows, table, mode="append")
    for _ in range(2):
        assert table.to_table()["v"].to_pylist() == values.to_pylist() * 2
        assert len(table.to_pandas()) == 8
        for chunk in table.to_table()["v"].chunks:
            categories = (chunk.values if is_nested else chunk).dictionary.to_pylist()
            assert len(set(categories)) == len(categories)
        table = table.maintenance.compact()
