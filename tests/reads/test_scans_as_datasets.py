"""Scans, tasks and feeds are taken where a tool expects a dataset of Arrow, and apply the columns and rows that it asks
for."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument

ROWS = pa.table(
    {
        "id": range(60),
        "f": [math.nan if row % 7 == 0 else row / 2 for row in range(60)],
        "s": [None if row % 5 == 0 else f"s{row % 4}" for row in range(60)],
        "st": [{"x": row % 3} for row in range(60)],
        "v": pa.FixedSizeListArray.from_arrays(pa.array([float(item) for item in range(120)], pa.float32()), 2),
    }
)
KINDS: dict[str, Callable[[lance_sql.Dataset], Any]] = {
    "dataset": lambda table: table,
    "scan": lambda table: table.scan(),
    "scan with a filter": lambda table: table.scan(["s", "id", "f"], "id >= 7"),
    "scan with a member": lambda table: table.scan(["id", "st.x", "s", "f"]),
    "scan with system columns": lambda table: table.scan(["id", "_rowid", "s", "f"]),
    "scan with dictionaries": lambda table: table.scan().with_types({"s": pa.dictionary(pa.int32(), pa.string())}),
    "scan with a limit": lambda table: table.scan(limit=30),
    "scan with a limit and a filter": lambda table: table.scan(["f", "s", "id"], "id > 3", limit=30),
    "task": lambda table: table.scan(filter="id >= 7").tasks(1)[0],
    "feed": lambda table: table.changes(1),
    "scan of a feed": lambda table: table.changes(1).scan(),
    "row history": lambda table: table.row_history(1),
    "search": lambda table: table.search([10.0, 11.0], column="v", k=20),
}
FILTERS: dict[str, tuple[pc.Expression, Callable[[dict[str, Any]], bool]]] = {
    "number": (pc.field("id") > 12, lambda row: row["id"] > 12),
    "text": (pc.field("s") == "s1", lambda row: row["s"] == "s1"),
    "NaN is the greatest": (
        pc.field("f") > 20.0,
        lambda row: row["f"] is not None and (math.isnan(row["f"]) or row["f"] > 20),
    ),
    "not": (~(pc.field("s") == "s1"), lambda row: row["s"] is not None and row["s"] != "s1"),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    path = tmp_path_factory.mktemp("scans") / "t.lance"
    return lance_sql.write(ROWS, path, max_rows_per_file=25).update({"s": "'s1'"}, "id < 4").delete("id = 20")


def rows(source: Any) -> list[str]:
    """The rows as text, in which NaN is equal to itself."""
    return sorted(str(row) for row in pa.table(source).to_pylist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILTERS)
def test_columns_and_rows_are_those_of_all_rows(table: lance_sql.Dataset, kind: str, name: str) -> None:
    source, (condition, holds) = KINDS[kind](table), FILTERS[name]
    everything = pa.table(source)
    wanted = [{"id": row["id"], "s": row["s"]} for row in everything.to_pylist() if holds(row)]
    assert wanted
    batches = list(source.to_batches(columns=["id", "s"], filter=condition, batch_size=7))
    assert max(batch.num_rows for batch in batches) <= 7
    assert rows(pa.Table.from_batches(batches)) == sorted(map(str, wanted))
    if kind not in ("search", "row history"):
        lazy = pl.scan_pyarrow_dataset(source).filter(pl.col("id") > 12).select("s", "id")
        assert sorted(lazy.collect()["id"]) == sorted(row["id"] for row in everything.to_pylist() if row["id"] > 12)
    assert pl.scan_pyarrow_dataset(source).select("id").head(3).collect().height == min(3, everything.num_rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_not_there_is_named(table: lance_sql.Dataset, kind: str) -> None:
    source = KINDS[kind](table)
    with pytest.raises(ColumnNotFound, match="nosuch"):
        list(source.to_batches(columns=["nosuch"]))
    with pytest.raises(ColumnNotFound, match="nosuch"):
        list(source.to_batches(filter=pc.field("nosuch") == 1))
    with pytest.raises(InvalidArgument):
        list(source.to_batches(filter=pc.field("s") == 1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_that_of_the_rows(table: lance_sql.Dataset, kind: str) -> None:
    source = KINDS[kind](table)
    assert pa.schema(source) == source.schema
    assert pa.schema(source).names == pa.table(source).column_names


def test_a_scan_pushes_what_polars_asks(table: lance_sql.Dataset, caplog: pytest.LogCaptureFixture) -> None:
    lazy = pl.scan_pyarrow_dataset(table.scan(["id", "f", "s"], "id > 5")).filter(pl.col("id") < 9).select("s")
    with caplog.at_level(logging.DEBUG, "lance_sql"):
        assert lazy.collect().height == 3
    (facts,) = [vars(each)["facts"] for each in caplog.records if vars(each).get("operation") == "scan"]
    assert (sorted(facts["columns"]), facts["filter"], facts["rows"]) == (["id", "s"], "id > 5 AND id < 9", 3)


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_the_schema_of_a_query_is_that_of_its_rows(table: lance_sql.Dataset, engine: str) -> None:
    found = lance_sql.sql(f"SELECT s, id + 1 AS next FROM '{table.uri}' WHERE id < 3 ORDER BY id", engine=engine)
    assert pa.schema(found) == found.schema == found.to_table().schema
    assert found.fetchall() == [("s1", 1), ("s1", 2), ("s1", 3)]
