"""Constants of every type in `update` and `add_columns`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from tests.cross.types import TYPES, Kind

CALLS: dict[str, Callable[[Dataset, Kind], Any]] = {
    "a value": lambda table, kind: table.update({"x": kind.array([17])[0]}, "id = 2"),
    "a NULL of the type": lambda table, kind: table.update({"x": kind.array([None])[0]}, "id = 1"),
    "None": lambda table, kind: table.update({"x": None}, "true"),
    "a new column": lambda table, kind: table.add_columns({"y": kind.array([17])[0]}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", TYPES)
def test_a_constant_of_a_type(tmp_path: Path, name: str, call: str) -> None:
    kind = TYPES[name]
    rows = pa.table({"id": [1, 2], "x": kind.array([1, None])})
    table = lance_sql.write(rows, tmp_path / "t.lance", file_version="2.2")
    after = CALLS[call](table, kind)
    after.to_table().validate(full=True)
    assert after.schema.field("x") == table.schema.field("x")
    nulls = {"a value": 0, "a NULL of the type": 2, "None": 2, "a new column": 1}[call]
    assert after.count_rows("x IS NULL") == nulls
