"""Filters that name no column, or whose columns make no difference."""

from __future__ import annotations

from pathlib import Path

import pytest

import lance_sql


@pytest.mark.parametrize("stable", [True, False], ids=["stable", "addresses"])
@pytest.mark.parametrize(
    ("condition", "num_rows"),
    [
        ("(NULL = m) IS NULL", 3),
        ("NOT ((NULL = m) IS NULL)", 0),
        ("(NULL = m) IS NULL AND m = 2", 1),
        ("(NULL = m) IS NULL AND _rowid IN (0)", 1),
        ("1 = 1", 3),
        ("NULL", 0),
    ],
)
def test_a_filter_without_columns_needs_no_row_history(
    tmp_path: Path, condition: str, num_rows: int, stable: bool
) -> None:
    table = lance_sql.write({"m": [1, 2, None]}, tmp_path / "t.lance", stable_row_ids=stable)
    assert table.scan(filter=condition).to_table().num_rows == num_rows
    assert table.count_rows(condition) == num_rows
