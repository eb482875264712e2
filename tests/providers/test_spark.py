"""The format "lance" in PySpark: reads, writes, failures, types. Needs Java."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument
from tests.documents import ROOT, examples, run_python

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from lance_sql.providers.spark.data_source import LanceReader

# What Spark's own libraries warn of.
pytestmark = pytest.mark.filterwarnings("ignore")


def rows(spark: SparkSession, count: int, tasks: int = 4) -> Any:
    return spark.range(0, count, 1, tasks).selectExpr("id", "id * 2 AS v", "concat('x', id) AS s")


def save(frame: Any, path: Path, mode: str = "append", **options: str) -> None:
    frame.write.format("lance").options(**options).mode(mode).save(str(path))


def load(spark: SparkSession, path: Path, **options: str) -> Any:
    return spark.read.format("lance").options(**options).load(str(path))


def content(path: Path) -> list[dict[str, Any]]:
    """The rows by key, as every reader but Spark sees them."""
    ours = lance_sql.open(path).to_table().sort_by("id")
    assert lance.dataset(str(path)).to_table().sort_by("id").equals(ours)
    connection = lance_sql.register(duckdb.connect())
    in_duckdb = connection.sql(f"FROM lance_scan('{path}') ORDER BY id").to_arrow_table()
    assert in_duckdb.select(ours.column_names).to_pylist() == ours.to_pylist()
    found: list[dict[str, Any]] = ours.to_pylist()
    return found


def fails_in_task(frame: Any, task: int, *, times: int, rows_first: int = 0) -> Any:
    """The same rows, but one task fails in its first attempts, after some rows."""

    def through(rows: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        assert context is not None
        broken = context.partitionId() == task and context.attemptNumber() < times
        for number, row in enumerate(rows):
            if broken and number == rows_first:
                raise RuntimeError("this task fails")
            yield row

    return frame.sparkSession.createDataFrame(frame.rdd.mapPartitions(through), frame.schema)


def expected(count: int) -> list[dict[str, Any]]:
    return [{"id": number, "v": number * 2, "s": f"x{number}"} for number in range(count)]


def test_a_job_of_four_tasks_of_which_one_fails_once(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(fails_in_task(rows(spark, 1000), 2, times=1, rows_first=17), path)
    assert content(path) == expected(1000)
    assert lance_sql.open(path).version == 1
    assert lance_sql.open(path).snapshot.manifest.has_stable_row_ids
    assert len(list((path / "data").iterdir())) == len(lance_sql.open(path).snapshot.manifest.fragments) == 4


def test_a_job_that_fails_leaves_the_table_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 100), path)
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="this task fails"):
            save(fails_in_task(rows(spark, 1000), 1, times=9), path, mode)
        assert content(path) == expected(100)
        assert lance_sql.open(path).version == 1


def test_spark_reads_what_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    frame = rows(spark, 1000)
    save(frame, path)
    assert [(field.name, field.dataType) for field in load(spark, path).schema] == [
        (field.name, field.dataType) for field in frame.schema
    ]
    # what a frame says of NULL is not for those that come after it
    assert all(field.nullable for field in load(spark, path).schema)
    assert sorted(load(spark, path).collect()) == sorted(frame.collect())


@pytest.mark.parametrize("writer", ["lance_sql", "pylance"])
def test_spark_reads_what_others_wrote(spark: SparkSession, tmp_path: Path, writer: str) -> None:
    path = tmp_path / "t.lance"
    table = pa.table({"id": range(10), "v": [None, *range(9)], "tags": [["a", None], None, []] + [["b"]] * 7})
    if writer == "pylance":
        lance.write_dataset(table, str(path), enable_stable_row_ids=True)
    else:
        lance_sql.write(table, path)
    lance_sql.open(path).delete("id = 3")
    expected = [row for row in table.to_pylist() if row["id"] != 3]
    assert [row.asDict() for row in load(spark, path).orderBy("id").collect()] == expected


def test_writes_are_compressed(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 10), path, compression="ZSTD", compressionLevel="9")
    assert all(
        field.metadata[b"lance-encoding:compression"] == b"zstd" and b"9" in field.metadata.values()
        for field in lance_sql.open(path).schema
    )
    save(rows(spark, 5), path)
    assert lance_sql.open(path).count_rows() == 15


def test_appending_and_overwriting(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 10), path, fileVersion="2.1", stableRowIds="false", maxRowsPerFile="2")
    table = lance_sql.open(path)
    assert not table.snapshot.manifest.has_stable_row_ids
    assert all(
        fragment.physical_rows <= 2 and fragment.files[0].file_version == (2, 1)
        for fragment in table.snapshot.manifest.fragments
    )
    save(rows(spark, 5), path)
    assert lance_sql.open(path).count_rows() == 15
    save(rows(spark, 3), path, "overwrite")
    assert content(path) == expected(3)
    assert lance_sql.open(path, version=2).count_rows() == 15


def test_time_travel_columns_and_system_columns(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 10), path)
    lance_sql.open(path).update({"v": -1}, "id < 3")
    lance_sql.open(path).tags.create("now", 2)
    assert load(spark, path, version="1").where("v < 0").count() == 0
    assert load(spark, path, tag="now").where("v < 0").count() == 3
    assert load(spark, path, columns="s, v").columns == ["s", "v"]
    hidden = load(spark, path, systemColumns="true")
    assert hidden.columns[3:] == list(lance_sql.open(path).system_columns)
    assert hidden.where("_row_last_updated_at_version > 1").select("id").orderBy("id").collect() == [(0,), (1,), (2,)]
    assert spark.read.format("lance").schema("s string").load(str(path)).count() == 10


def test_sql_over_a_view_and_a_registered_name(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 10), path)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING lance OPTIONS (path '{path}', version '1')")
    assert spark.sql("SELECT sum(v) FROM v WHERE id >= 8").collect() == [(34,)]
    lance_sql.register(spark, "named", path)
    assert spark.sql("SELECT count(*) FROM named").collect() == [(10,)]


CONDITIONS = (
    "v = 6",
    "v <> 6",
    "v > 6 AND v <= 14",
    "v IN (2, 4, 7)",
    "NOT (v > 6)",
    "v IS NULL",
    "v IS NOT NULL",
    "s LIKE 'x1%'",
    "f = double('NaN')",
    "f > 1.0",
    "f = 0.0",
    "d = date'2026-01-02'",
    "t > timestamp'2026-01-02 00:00:01'",
    "u > 200",
    "n > 3.5",
    "b = true",
    "NOT b",
    "v = 6 OR s = 'x1'",
)


def test_conditions_mean_what_they_mean_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = pa.table(
        {
            "id": range(8),
            "v": [0, 2, 4, 6, 8, 14, 20, None],
            "s": ["x", "x1", "x12", None, "", "y", "X1", "x1"],
            "f": [0.0, -0.0, 1.5, float("nan"), None, float("inf"), -1.0, 2.0],
            "d": pa.array([20453, 20454, 20455, None, 0, 1, 2, 3], pa.int32()).cast(pa.date32()),
            "t": pa.array([1767312001000000 + 500000 * i for i in range(8)], pa.timestamp("us", "UTC")),
            "u": pa.array([0, 100, 200, 201, 255, None, 1, 2], pa.uint8()),
            "n": [Decimal(number) for number in ("0.0", "3.5", "3.6", "-1.0", "4.0", "5.0", "6.0", "7.0")],
            "b": [True, False, None, True, False, True, False, True],
        }
    )
    lance_sql.write(table, path)
    loaded = load(spark, path)
    memory = spark.createDataFrame(loaded.collect(), loaded.schema)
    # Spark itself evaluates them, on the rows that it was given: one read is enough for all
    found, wanted = (
        frame.selectExpr("id", *(f"({condition}) AS `{condition}`" for condition in CONDITIONS)).orderBy("id").collect()
        for frame in (loaded, memory)
    )
    assert found == wanted
    assert all(any(row[condition] for row in wanted) for condition in CONDITIONS)


@pytest.mark.slow
def test_a_filter_of_one_query_stays_with_it(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 100), path)

    def counts(view: str) -> list[int]:
        return [spark.sql(f"SELECT * FROM {view} {where}").count() for where in ("", "WHERE id < 10", "")]

    frame = load(spark, path)
    assert (frame.count(), frame.where("id < 10").count(), frame.count()) == (100, 10, 100)
    frame.createOrReplaceTempView("again")
    assert counts("again") == [100, 10, 100]
    lance_sql.register(spark, "named", path)
    assert counts("named") == [100, 10, 100]
    cached = load(spark, path).cache()
    assert (cached.where("id < 10").count(), cached.count(), cached.where("id >= 10").count()) == (10, 100, 90)
    both = frame.where("id < 10").union(frame.where("id > 97"))
    assert (both.count(), frame.join(frame.where("id = 3"), "id").count(), frame.count()) == (12, 1, 100)


def test_registering_leaves_pushdown_as_it_is(spark: SparkSession) -> None:
    setting = "spark.sql.python.filterPushdown.enabled"
    assert lance_sql.register(spark).conf.get(setting) == "false"
    assert "pushFilters" not in vars(LanceReader)


def test_filters_and_columns_are_options(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 100), path)
    frame = load(spark, path, filter="id < 10 AND s <> 'x3'", columns="s, id")
    assert (frame.columns, frame.count(), frame.where("id > 5").count(), frame.count()) == (["s", "id"], 9, 4, 9)
    with pytest.raises(Exception, match="No column 'idd'"):
        load(spark, path, filter="idd < 10").count()
    with pytest.raises(Exception, match="not a JSON array"):
        load(spark, path, columns="[1]").count()
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW v USING lance OPTIONS (path '{path}', filter 'id >= 98')")
    assert spark.sql("SELECT id FROM v ORDER BY id").collect() == [(98,), (99,)]


def test_reading_some_columns_and_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"id": range(10), "a, b": [f"x{i}" for i in range(10)]}), path)
    lance_sql.open(path).delete("id = 9")
    frame = lance_sql.read_spark(spark, path, ["a, b", "_rowid"], "id >= 7")
    assert sorted(map(tuple, frame.collect())) == [("x7", 7), ("x8", 8)]
    assert lance_sql.read_spark(spark, path, filter="id >= 7", version=1).count() == 3
    assert lance_sql.read_spark(spark, lance_sql.open(path, version=1)).count() == 10
    with pytest.raises(ColumnNotFound, match="No column 'idd'"):
        lance_sql.read_spark(spark, path, filter="idd >= 7")
    with pytest.raises(InvalidArgument, match="needs a SparkSession, not a str"):
        lance_sql.read_spark("local", path)


def test_a_frame_is_a_source_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = lance_sql.write(rows(spark, 10), path)
    merged = table.merge(spark.sql("SELECT id, -1 AS v, 'y' AS s FROM range(8, 12)"), on="id")
    assert merged.scan(["id", "v", "s"], "v = -1").to_table().sort_by("id").to_pylist() == [
        {"id": 8, "v": -1, "s": "y"},
        {"id": 9, "v": -1, "s": "y"},
        {"id": 10, "v": -1, "s": "y"},
        {"id": 11, "v": -1, "s": "y"},
    ]


def test_types_that_spark_lacks_are_widened_and_narrowed(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "u8": pa.array([255, None], pa.uint8()),
            "u64": pa.array([2**64 - 1, None], pa.uint64()),
            "half": pa.array([1.5, None], pa.float16()),
            "dict": pa.array(["a", None]).dictionary_encode(),
            "large": pa.array(["a", None], pa.large_string()),
            "time": pa.array([3600, None], pa.time32("s")),
            "vector": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
            "nanos": pa.array([1_767_312_001_000_001_000, None], pa.timestamp("ns")),
            "inside": pa.array([{"u": 7}, None], pa.struct([("u", pa.uint16())])),
            "listed": pa.array([[{"v": [1.0, 2.0]}], None], pa.list_(pa.struct([("v", pa.list_(pa.float32(), 2))]))),
        }
    )
    lance_sql.write(table, path)
    frame = load(spark, path)
    assert str(frame.schema["u64"].dataType) == "DecimalType(20,0)"
    row = frame.orderBy("id").first()
    assert (row.u8, row.u64, row.half, row.dict, row.large, row.vector) == (255, 2**64 - 1, 1.5, "a", "a", [1.0, 2.0])
    assert row.inside.u == 7
    save(frame, path)
    assert lance_sql.open(path).to_table().slice(2).to_pylist() == table.to_pylist()


def test_a_value_that_does_not_fit_fails_the_job(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"u": pa.array([1], pa.uint8())}), path)
    with pytest.raises(Exception, match="does not fit uint8"):
        save(spark.sql("SELECT cast(300 AS smallint) AS u"), path)
    assert lance_sql.open(path).version == 1


def test_wrong_options_are_named(spark: SparkSession, tmp_path: Path) -> None:
    save(rows(spark, 1), tmp_path / "t.lance")
    with pytest.raises(Exception, match="no option 'verison'"):
        load(spark, tmp_path / "t.lance", verison="1").count()
    with pytest.raises(Exception, match="No Lance table at"):
        load(spark, tmp_path / "nothing.lance").count()
    with pytest.raises(Exception, match="do not fit"):
        save(spark.range(3).selectExpr("'text' AS id"), tmp_path / "t.lance")


def test_the_format_is_found_without_registration(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark_lance import DefaultSource

    assert DefaultSource.name() == "lance"
    lance_sql.write(pa.table({"id": [1]}), tmp_path / "t.lance")
    source = DefaultSource({"path": str(tmp_path / "t.lance")})
    assert source.schema() == StructType.fromDDL("id bigint")


def test_empty_tables(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    save(rows(spark, 0), path)
    assert load(spark, path).collect() == []
    assert load(spark, path).where("id > 0").count() == 0


def test_the_examples_of_the_document(spark: SparkSession, tmp_path: Path) -> None:
    blocks = [block for block in examples(ROOT / "docs" / "pyspark.md") if block.kind == "python"]
    run_python(blocks, spark=spark, path=str(tmp_path / "t.lance"))
