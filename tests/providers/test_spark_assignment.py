"""Values of Spark in columns of other types: as Spark's INSERT has it, in sessions with ANSI and without."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import LanceError

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession

from lance_sql.spark import LanceTable

pytestmark = pytest.mark.filterwarnings("ignore")

TYPES = {
    "i": pa.int32(),
    "b": pa.bool_(),
    "d": pa.decimal128(5, 2),
    "f": pa.float32(),
    "s": pa.string(),
    "day": pa.date32(),
    "l": pa.list_(pa.int32()),
}
LOST = [
    ("i", "5000000000L"),
    ("i", "1e12D"),
    ("i", "1.9D"),
    ("i", "CAST(1.5 AS DECIMAL(5,2))"),
    ("i", "'abc'"),
    ("i", "'7'"),
    ("i", "true"),
    ("b", "'maybe'"),
    ("b", "5"),
    ("d", "CAST(123456.789 AS DECIMAL(12,3))"),
    ("d", "123456.789D"),
    ("day", "'2026-01-01 nonsense'"),
    ("l", "array(5000000000L)"),
    ("l", "array('a')"),
]
KEPT: list[tuple[str, str, Any]] = [
    ("i", "7L", 7),
    ("i", "2.0D", 2),
    ("i", "NULL", None),
    ("d", "CAST(1.255 AS DECIMAL(12,3))", Decimal("1.26")),
    ("d", "3", Decimal("3.00")),
    ("f", "0.5D", 0.5),
    ("s", "7", "7"),
    ("l", "array(CAST(1 AS SMALLINT))", [1]),
    ("l", "array(1, NULL)", [1, None]),
]


@pytest.fixture(params=["true", "false"], ids=["ansi", "plain"])
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark
    spark.conf.unset("spark.sql.ansi.enabled")


def written(path: Path) -> str:
    columns = {name: pa.nulls(2, type) for name, type in TYPES.items()}
    return lance_sql.write(pa.table({"id": [1, 2], **columns}), path).uri


def ways(session: SparkSession, uri: str, column: str, value: str) -> Iterator[Any]:
    table = LanceTable.for_path(session, uri)
    source = session.sql(f"SELECT id, {value} AS {column} FROM VALUES (1L), (3L) AS t(id)")
    yield lambda: table.update({column: value}, "true")
    yield lambda: table.merge(source, "id").when_matched_update().execute()
    yield lambda: table.merge(source, "id").when_not_matched_insert().execute()
    yield lambda: table.merge(source, "id").when_matched_update({column: f"source.{column}"}).execute()


@pytest.mark.slow
@pytest.mark.parametrize(("column", "value"), LOST)
def test_a_value_that_would_change_is_refused(session: SparkSession, tmp_path: Path, column: str, value: str) -> None:
    uri = written(tmp_path / "t.lance")
    for run in ways(session, uri, column, value):
        with pytest.raises(LanceError, match=f"'{column}'"):
            run()
    assert lance_sql.open(uri).version == 1


@pytest.mark.slow
@pytest.mark.parametrize(("column", "value", "expected"), KEPT)
def test_a_value_that_fits_is_taken(
    session: SparkSession, tmp_path: Path, column: str, value: str, expected: Any
) -> None:
    uri = written(tmp_path / "t.lance")
    for run in ways(session, uri, column, value):
        made = run().to_table().to_pylist()
        assert expected in [row[column] for row in made]
        assert {row["id"] for row in made} >= {1, 2}


def test_a_key_that_the_column_does_not_hold(session: SparkSession, tmp_path: Path) -> None:
    uri = written(tmp_path / "t.lance")
    for key in ("'abc'", "9223372036854775808BD"):
        source = session.sql(f"SELECT {key} AS id, 1 AS i")
        with pytest.raises(LanceError, match="'id'"):
            LanceTable.for_path(session, uri).merge(source, "id").when_not_matched_insert().execute()


def test_a_frame_outlives_a_promise_of_its_table(spark: SparkSession, tmp_path: Path) -> None:
    never = pa.schema(
        [pa.field("id", pa.int64(), False), pa.field("n", pa.list_(pa.field("x", pa.int64(), False)), False)]
    )
    table = lance_sql.write(pa.table({"id": [1], "n": [[7]]}, never), tmp_path / "t.lance")
    frame = spark.read.format("lance").load(table.uri)
    table = table.alter_column("n", nullable=True)
    lance_sql.write({"id": [2], "n": pa.array([None], pa.list_(pa.int64()))}, table, mode="append")
    assert frame.where("n IS NULL").count() == 1
    assert sorted(row["id"] for row in frame.collect()) == [1, 2]


def test_a_value_is_computed_once(session: SparkSession, tmp_path: Path) -> None:
    many = pa.table({"id": range(400), "i": pa.nulls(400, pa.int32()), "n": pa.nulls(400, pa.int64())})
    uri = lance_sql.write(many, tmp_path / "t.lance").uri
    table = LanceTable.for_path(session, uri)
    made = table.update({"n": "round(rand() * 10)", "i": "CASE WHEN rand() < 0.5 THEN 7L ELSE NULL END"}, "true")
    rows = made.to_table().to_pydict()
    assert set(rows["n"]) <= set(range(11))
    assert set(rows["i"]) == {7, None}
    for _ in range(3):
        with pytest.raises(LanceError, match="'i'"):
            table.update({"i": "CASE WHEN rand() < 0.5 THEN 3000000000 ELSE 1 END"}, "true")
    source = session.sql("SELECT id FROM range(400)")
    merged = table.merge(source, "id").when_matched_update({"n": "round(rand() * 10)", "i": "1"}).execute()
    assert set(merged.to_table()["n"].to_pylist()) <= set(range(11))
    # a value that only the rows of its clause have
    divided = table.merge(source, "id").when_matched_update({"n": "1000 DIV (target.id - 7)"}, "source.id <> 7")
    assert divided.when_matched_update({"n": "0"}).execute().count_rows("n = 0") >= 1
