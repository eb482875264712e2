"""Values of Python and of Arrow in columns of other types: kept, or refused before anything is committed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument

pandas: Any = pytest.importorskip("pandas")

LATE = dt.datetime(2026, 1, 1, 12, 0, 0, 5)
LOSSY: list[tuple[str, pa.DataType, Any]] = [
    ("a float", pa.int64(), 1.9),
    ("a decimal", pa.int32(), Decimal("1.9")),
    ("a boolean", pa.int64(), True),
    ("a time of day", pa.date32(), LATE),
    ("microseconds", pa.timestamp("s"), LATE),
    ("microseconds in milliseconds", pa.timestamp("ms", "UTC"), LATE.replace(tzinfo=dt.UTC)),
    ("a fraction", pa.time32("s"), LATE.time()),
    ("a length", pa.duration("s"), dt.timedelta(microseconds=5)),
    ("too large", pa.float32(), 1e300),
    ("in a list", pa.list_(pa.int64()), [1, 2.7]),
    ("in a struct", pa.struct([("a", pa.int64())]), {"a": 2.7}),
    ("another member", pa.struct([("a", pa.int64())]), {"a": 1, "b": 2}),
    ("in a map", pa.map_(pa.string(), pa.date32()), {"a": LATE}),
]
VERBS: dict[str, Callable[[Dataset, Any], Any]] = {
    "append columns": lambda table, value: lance_sql.write({"id": [2], "x": [value]}, table, mode="append"),
    "append rows": lambda table, value: lance_sql.write([{"id": 2, "x": value}], table, mode="append"),
    "beside an array": lambda table, value: lance_sql.write({"id": pa.array([2]), "x": [value]}, table, mode="append"),
    "beside a new column": lambda table, value: lance_sql.write(
        {"id": [2], "x": [value], "y": [1]}, table, mode="append", merge_schema=True
    ),
    "merge": lambda table, value: table.merge({"id": [1], "x": [value]}, on="id"),
    "update": lambda table, value: table.update({"x": value}, "true"),
    "schema": lambda table, value: lance_sql.write(
        {"id": [2], "x": [value]}, table, mode="overwrite", schema=table.schema
    ),
    "apply": lambda table, value: lance_sql.apply_changes(table, [{"id": 1, "x": value}], "id"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("name", "type", "value"), LOSSY, ids=[each[0] for each in LOSSY])
def test_a_value_that_would_change_is_refused(
    tmp_path: Path, name: str, type: pa.DataType, value: Any, verb: str
) -> None:
    table = lance_sql.write(pa.table({"id": [1], "x": pa.array([None], type)}), tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match="x"):
        VERBS[verb](table, value)
    assert lance_sql.open(tmp_path / "t.lance").version == 1


@pytest.mark.parametrize("make", [np.array, pandas.Series, polars.Series, pa.array], ids=lambda make: make.__module__)
@pytest.mark.parametrize(
    ("type", "value"),
    [(pa.int64(), 1.9), (pa.int64(), True), (pa.date32(), LATE), (pa.timestamp("s"), LATE), (pa.bool_(), 5)],
    ids=str,
)
def test_arrays_of_other_libraries_lose_nothing(tmp_path: Path, make: Any, type: pa.DataType, value: Any) -> None:
    table = lance_sql.write(pa.table({"id": [1], "x": pa.array([None], type)}), tmp_path / "t.lance")
    values = np.array([value], "M8[us]") if make is np.array and isinstance(value, dt.datetime) else make([value])
    with pytest.raises(InvalidArgument, match="x"):
        lance_sql.write({"id": [2], "x": values}, table, mode="append")


def test_arrays_of_other_libraries_take_the_type_of_the_column(tmp_path: Path) -> None:
    table = lance_sql.write(
        pa.table({"x": pa.array([0], pa.int16()), "f": pa.array([0.5], pa.float32())}), tmp_path / "t"
    )
    for make in (list, np.array, pandas.Series, polars.Series):
        table = lance_sql.write({"x": make([1]), "f": make([0.1])}, table, mode="append")
    assert table.to_table().column("x").to_pylist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (pa.list_(pa.int64()), pa.scalar(None, pa.list_(pa.int64()))),
        (pa.map_(pa.string(), pa.int64()), pa.scalar(None, pa.map_(pa.string(), pa.int64()))),
        (pa.list_(pa.float32(), 2), pa.scalar(None, pa.list_(pa.float32(), 2))),
        (pa.list_(pa.float32(), 2), None),
        (pa.list_(pa.float32(), 2), [0.5, 1.5]),
        (pa.uint64(), 2**64 - 1),
        (pa.struct([("a", pa.int64())]), pa.scalar({"a": 5}, pa.struct([("a", pa.int64())]))),
        (pa.struct([("a", pa.int64())]), pa.scalar(None, pa.struct([("a", pa.int64())]))),
        (pa.dictionary(pa.int8(), pa.string()), "'b'"),
        (pa.string(), pa.scalar("b")),
        (pa.date32(), dt.date(2026, 1, 1)),
    ],
    ids=str,
)
def test_constants_of_every_type(tmp_path: Path, type: pa.DataType, value: Any) -> None:
    rows = pa.table({"id": [1, 2], "x": pa.nulls(2, type)})
    table = lance_sql.write(rows, tmp_path / "t.lance").update({"x": value}, "id = 2")
    expected = value.as_py() if isinstance(value, pa.Scalar) else value.strip("'") if isinstance(value, str) else value
    assert table.to_table().sort_by("id").column("x").to_pylist() == [None, expected]
    added = lance_sql.write(rows, tmp_path / "u.lance").add_columns({"y": value})
    assert added.to_table().column("y").to_pylist() == [expected] * 2


def test_an_expression_beside_a_dictionary_of_numbers(tmp_path: Path) -> None:
    items = pa.array([1.5, 2.5]).dictionary_encode()
    table = lance_sql.write(pa.table({"x": items, "n": [1, 2]}), tmp_path / "t.lance")
    assert table.update({"n": pc.field("n") + 1}, "true").to_table().column("n").to_pylist() == [2, 3]


@pytest.mark.parametrize("rows", [0, 2])
def test_nothing_but_null_may_be_null(tmp_path: Path, rows: int) -> None:
    table = lance_sql.write(pa.table({"id": list(range(rows)), "x": pa.nulls(rows)}), tmp_path / "t.lance")
    with pytest.raises(InvalidArgument, match=r"'x'|NULL"):
        table.alter_column("x", nullable=False)
    assert lance_sql.open(table.uri).to_table().num_rows == rows
