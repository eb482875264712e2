"""Columns that an engine gets in a wider type, beside others that keep theirs."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_sql

STRUCT = pa.struct([pa.field("a", pa.int32(), nullable=False)])
WIDENED: dict[str, Callable[[], pa.Array]] = {
    "half vectors": lambda: pa.array([[np.float16(1)]], pa.list_(pa.float16(), 1)),
    "half floats": lambda: pa.array([np.float16(1)], pa.float16()),
    "wide decimals": lambda: pa.array([Decimal(10)], pa.decimal256(50, 0)),
    "dictionaries in lists": lambda: pa.array([["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "nothing": lambda: pa.array([1]),
}


@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
@pytest.mark.parametrize("kind", WIDENED)
@pytest.mark.parametrize("how", ["later column", "NULL page"])
def test_a_struct_whose_member_is_never_null_beside_a_widened_column(
    tmp_path: Path, kind: str, how: str, file_version: str
) -> None:
    path = str(tmp_path / "t.lance")
    values = WIDENED[kind]()
    first: dict[str, Any] = {"id": [1], "v": values}
    if how == "NULL page":
        first["s"] = pa.array([None], STRUCT)
    lance_sql.write(pa.table(first), path, file_version=file_version)
    rows = pa.table({"id": [2], "s": pa.array([{"a": 1}], STRUCT)})
    lance_sql.write(rows, path, mode="append", merge_schema=True)
    expected = [None, {"a": 1}]
    con = lance_sql.connect()
    assert [row[0] for row in con.execute(f"SELECT s FROM '{path}' ORDER BY id").fetchall()] == expected
    assert con.execute(f"SELECT count(v), count(s) FROM '{path}'").fetchall() == [(1, 1)]
    lance_sql.sql(f"INSERT INTO '{path}' SELECT * FROM '{path}' WHERE id = 2", connection=con)
    assert lance_sql.sql(f"SELECT s FROM '{path}' ORDER BY id", engine="datafusion").to_table().num_rows == 3
    assert len(con.execute(f"SELECT s, v FROM lance_changes('{path}')").fetchall()) == 3
