"""Columns that pandas or Polars do not hold are refused by name, and every other table is converted."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature

_UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16)))


@pytest.mark.parametrize(
    ("values", "library"),
    [
        (pa.array([Decimal(1)], pa.decimal256(50, 2)), "polars"),
        (pa.array([1], pa.timestamp("us", "+05:30")), "polars"),
        (pa.array([1], pa.time64("ns")), "pandas"),
        (pa.ListArray.from_arrays([0, 1], _UUIDS), "pandas"),
    ],
    ids=str,
)
def test_columns_that_a_library_does_not_hold(tmp_path: Path, values: pa.Array, library: str) -> None:
    table = lance_sql.write(pa.table({"id": [1], "v": values}), tmp_path / "t.lance")
    with pytest.raises(UnsupportedFeature, match=r"Column 'v' of type .* does not fit") as raised:
        getattr(table, f"to_{library}")()
    assert "\n" not in str(raised.value)
    assert len(getattr(table.scan(["id"]), f"to_{library}")()) == 1


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
