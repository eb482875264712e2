"""Floats of Python in columns of decimals."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument


def test_floats_are_decimals_where_the_column_has_them(tmp_path: Path) -> None:
    prices = pa.table({"id": [1, 2], "price": pa.array([Decimal("1.00"), None], pa.decimal128(9, 2))})
    table = lance_sql.write(prices, tmp_path / "t.lance")
    table = lance_sql.write({"id": [3], "price": [19.99]}, table.uri, mode="append")
    table = table.update({"price": 2.5}, "id = 2").merge({"id": [1], "price": [0.1]}, on="id")
    table = lance_sql.write([{"id": 4, "price": 0.25}], table, mode="append")
    rows = dict(zip(*(column.to_pylist() for column in table.to_table().columns), strict=True))
    assert rows == {1: Decimal("0.10"), 2: Decimal("2.50"), 3: Decimal("19.99"), 4: Decimal("0.25")}
    with pytest.raises(InvalidArgument, match=r"Column 'price', row 0: .*0\.125.* does not fit decimal128\(9, 2\)"):
        lance_sql.write({"id": [5], "price": [0.125]}, table.uri, mode="append")
    # an update rounds, as an assignment in SQL
    assert table.update({"price": 0.125}, "id = 2").scan(["price"], "id = 2").to_table()["price"][0].as_py() == Decimal(
        "0.13"
    )
