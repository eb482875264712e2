"""Changes that Spark applies: the table is that of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import InvalidArgument

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession

from lance_sql.spark import LanceTable

pytestmark = pytest.mark.filterwarnings("ignore")

COLUMNS = "id bigint, city string, n bigint, at bigint, gone boolean"


def changes(rng: np.random.Generator, num_rows: int) -> list[tuple[Any, ...]]:
    """Late ones, several of a key, equal moments and NULL keys among them."""
    found = []
    for _ in range(num_rows):
        key = None if rng.random() < 0.05 else int(rng.integers(12))
        city = None if rng.random() < 0.3 else str(rng.choice(["Bonn", "Rom", "Oslo"]))
        found.append((key, city, int(rng.integers(3)), int(rng.integers(40)), bool(rng.random() < 0.2)))
    return found


def as_table(rows: list[tuple[Any, ...]]) -> pa.Table:
    types = (pa.int64(), pa.string(), pa.int64(), pa.int64(), pa.bool_())
    names = ("id", "city", "n", "at", "gone")
    return pa.table({name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(names)})


def content(table: Dataset) -> list[str]:
    return sorted(map(repr, table.scan().to_table().to_pylist()))


@pytest.mark.parametrize("scd", [1, 2])
@pytest.mark.parametrize("told", [True, False])
def test_spark_applies_changes_like_one_process(
    spark: SparkSession, tmp_path: Path, scd: Literal[1, 2], told: bool
) -> None:
    rng = np.random.default_rng(scd * 2 + told)
    options: dict[str, Any] = {"sequence_by": "at", "delete_when": "gone", "scd": scd}
    options["except_columns"] = ["gone"] if told else ["gone", "at"]
    if scd == 2:
        options["track_history_on"] = ["city"]
        options["ignore_null_updates"] = ["city"]
    first = as_table(changes(rng, 30))
    local = lance_sql.apply_changes(tmp_path / "local.lance", first, "id", **options)
    shared = lance_sql.apply_changes(tmp_path / "spark.lance", first, "id", **options)
    table = LanceTable.for_path(spark, shared.uri)
    for _ in range(3):
        rows = changes(rng, 25)
        local = lance_sql.apply_changes(local, as_table(rows), "id", **options)
        made = table.apply_changes(spark.createDataFrame(rows, COLUMNS).coalesce(1), "ID", **options)
        assert content(made) == content(local)
    # and one process goes on from there
    rows = changes(rng, 25)
    local, made = (lance_sql.apply_changes(each, as_table(rows), "id", **options) for each in (local, made))
    assert content(made) == content(local)
    again = table.apply_changes(spark.createDataFrame(rows, COLUMNS), "id", **options)
    assert again.version == made.version


def test_changes_of_a_cursor_are_applied_once(spark: SparkSession, tmp_path: Path) -> None:
    orders = lance_sql.write({"id": [1, 2, 3], "v": [1, 2, 3]}, tmp_path / "orders.lance")
    cursor = orders.cursors.open("copy", start="snapshot")
    copy = lance_sql.write(orders.scan().to_table().slice(0, 0), tmp_path / "copy.lance")
    table = LanceTable.for_path(spark, copy.uri)
    for step in range(3):
        with cursor.read(mode="net", target=copy.uri) as feed:
            made = table.apply_changes(feed, "id")
        assert content(made) == content(orders.latest())
        again = table.apply_changes(feed, "id")
        assert again.version == made.version
        orders = orders.latest().update({"v": "v + 10"}, f"id = {step + 1}").delete("id = 2")
        orders = lance_sql.write({"id": [step + 10], "v": [0]}, orders, mode="append")
    assert cursor.lag().versions > 0


def test_the_history_of_a_feed_has_times_of_commits(spark: SparkSession, tmp_path: Path) -> None:
    orders = lance_sql.write({"id": [1, 2, 3], "v": [1, 2, 3]}, tmp_path / "orders.lance").update({"v": "7"}, "id = 1")
    local = lance_sql.apply_changes(tmp_path / "local.lance", orders.changes(), "id", scd=2)
    empty = lance_sql.write(orders.scan().to_table().slice(0, 0), tmp_path / "spark.lance")
    made = LanceTable.for_path(spark, empty.uri).apply_changes(orders.changes(), "id", scd=2)
    assert content(made) == content(local)
    assert made.schema.names == local.schema.names
    orders = orders.delete("id = 2")
    for table in (made, local):
        lance_sql.apply_changes(table, orders.changes(since=2), "id", scd=2)
        mixed = LanceTable.for_path(spark, table.uri)
        orders_now = orders.latest().update({"v": "v + 1"}, "id = 3")
        made = mixed.apply_changes(orders_now.changes(3), "id", scd=2)
        assert content(made) == content(
            lance_sql.apply_changes(tmp_path / f"{made.snapshot.name}2", orders_now.changes(), "id", scd=2)
        )


def test_wrong_arguments_are_named_before_a_task_runs(spark: SparkSession, tmp_path: Path) -> None:
    target = lance_sql.write({"id": [1], "v": [1]}, tmp_path / "t.lance")
    table = LanceTable.for_path(spark, target.uri)
    with pytest.raises(InvalidArgument, match="keys"):
        table.apply_changes(spark.createDataFrame([(1, 2)], "id bigint, v bigint"))
    with pytest.raises(InvalidArgument, match="frame of Spark"):
        table.apply_changes([{"id": 1}], "id")
    frame = spark.createDataFrame([(1, 2, None)], "id bigint, v bigint, at bigint")
    with pytest.raises(InvalidArgument, match="is NULL in the change of"):
        table.apply_changes(frame, "id", sequence_by="at")
    assert target.latest().count_rows() == 1
