"""Columns that an engine gets in a wider type, beside others that keep theirs."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main

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


UNFIT: dict[str, Callable[[], pa.Array]] = {
    "decimals": lambda: pa.array([Decimal(10) ** 70], pa.decimal256(76, 0)),
    "nanoseconds": lambda: pa.array([1001], pa.duration("ns")),
    "days": lambda: pa.array([2**53], pa.date64()),
    "lists": lambda: pa.array([[Decimal(10) ** 70]], pa.list_(pa.decimal256(76, 0))),
    "structs": lambda: pa.array([{"a": 1001}], pa.struct([("a", pa.duration("ns"))])),
}


@pytest.mark.parametrize("door", ["sql", "statement", "relation", "command line"])
@pytest.mark.parametrize("kind", UNFIT)
def test_a_value_that_the_type_of_the_engine_cannot_hold_is_refused_by_column(
    tmp_path: Path, kind: str, door: str
) -> None:
    path = str(tmp_path / "t.lance")
    values = UNFIT[kind]()
    lance_sql.write(pa.table({"id": [1], "v": values}), path)
    query = f"SELECT * FROM '{path}'"
    if door == "command line":
        result = CliRunner().invoke(main, [query])
        assert result.exit_code == 3
        message = result.stderr.strip()
    else:
        run: Callable[[], Any] = {
            "sql": lambda: lance_sql.sql(query).to_table(),
            "statement": lambda: lance_sql.sql(f"INSERT INTO '{path}' {query}"),
            "relation": lambda: lance_sql.connect().sql(query).fetchall(),
        }[door]
        with pytest.raises(Exception, match="column 'v': a value does not fit the engine's type") as caught:
            run()
        message = str(caught.value)
        assert door != "statement" or isinstance(caught.value, lance_sql.UnsupportedFeature)
    assert "column 'v': a value does not fit the engine's type" in message
    assert "\n" not in message
    assert "Traceback" not in message
    assert lance_sql.open(path).to_table()["v"].combine_chunks().equals(values)
