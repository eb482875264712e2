"""Lance tables in Sail."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, LanceError, TableNotFound, UnsupportedFeature, VersionNotFound

pytest.importorskip("pysail", reason="Sail is not on the path: make engines installs it into .venv/sail")

from tests.contracts import test_providers as contract
from tests.testing.test_spark_pipeline import PIPELINE

table = contract.table

pytestmark = pytest.mark.filterwarnings("ignore")
ORDERS = str(Path("examples/orders.lance").absolute())


class TestContract(contract.Provider):
    """As for the other providers, through `lance_sql.sql(engine="sail")`."""

    @pytest.fixture(autouse=True)
    def _session(self, spark: Any) -> None:
        self.spark = spark
        self.views: list[str] = []

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        # Sail compares doubles with decimals as decimals, which fails where there is NaN
        return lance_sql.sql(sql.replace("1.5", "1.5D"), "sail").fetchall()

    def scan(self, path: str, version: int | None = None) -> str:
        return f"lance_scan('{path}'{'' if version is None else f', version => {version}'})"

    def named(self, name: str, dataset: lance_sql.Dataset) -> None:
        lance_sql.register(self.spark, name, dataset)


def load(spark: Any, path: str = ORDERS, **options: str) -> Any:
    return spark.read.format("lance").options(**options).load(path)


def test_reads_versions_columns_and_rows(spark: Any) -> None:
    assert load(spark).count() == 370
    assert (
        load(spark, version="4").where("status = 'open'").count()
        == load(spark, version="4", filter="status = 'open'").count()
    )
    rows = load(spark, columns="id,_rowid").orderBy("id").limit(2).collect()
    assert [tuple(row) for row in rows] == [(1, 0), (2, 1)]
    assert [tuple(row) for row in load(spark).groupBy("status").count().orderBy("status").collect()] == [
        ("cancelled", 18),
        ("open", 104),
        ("paid", 168),
        ("shipped", 80),
    ]


def test_reads_changes(spark: Any) -> None:
    feed = load(spark, readChangeFeed="true", startingVersion="5", endingVersion="6")
    kinds = {row["_change_type"]: row["count"] for row in feed.groupBy("_change_type").count().collect()}
    assert kinds == {"delete": 50, "insert": 12, "update_preimage": 12, "update_postimage": 12}
    (first,) = feed.where("_commit_version = 5").select("_commit_timestamp").distinct().collect()
    times = {entry.version: entry.timestamp for entry in lance_sql.open(ORDERS).history()}
    assert first[0].replace(tzinfo=datetime.UTC) == times[5]


def test_values_come_and_go_unchanged(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    query = """SELECT 1L AS id, timestamp'2026-03-01 10:00:00' AS moment, timestamp_ntz'2026-03-01 10:00:00' AS wall,
        date'2026-03-01' AS day, 1.50BD AS price, array(1, 2) AS list, named_struct('x', 1, 'y', 'z') AS record,
        map('k', 1) AS map, X'00ff' AS bytes, true AS flag, CAST(NULL AS STRING) AS nothing"""
    spark.sql(query).write.format("lance").mode("append").save(path)
    utc = datetime.UTC
    expected = {
        "id": 1,
        "moment": datetime.datetime(2026, 3, 1, 10, tzinfo=utc),
        "wall": datetime.datetime(2026, 3, 1, 10),
        "day": datetime.date(2026, 3, 1),
        "price": Decimal("1.50"),
        "list": [1, 2],
        "record": {"x": 1, "y": "z"},
        "map": [("k", 1)],
        "bytes": b"\x00\xff",
        "flag": True,
        "nothing": None,
    }
    assert lance_sql.open(path).to_table().to_pylist() == [expected]
    assert load(spark, path).toArrow().to_pylist() == [expected]


def test_writes_append_and_overwrite(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t.lance")
    for mode, ids in (("append", [1, 2]), ("append", [3]), ("overwrite", [9])):
        spark.createDataFrame([(number,) for number in ids], "id BIGINT").write.format("lance").mode(mode).save(path)
    assert [lance_sql.open(path, version=number).count_rows() for number in (1, 2, 3)] == [2, 3, 1]
    wide = spark.createDataFrame([(10, "new")], "id BIGINT, s STRING")
    wide.write.format("lance").mode("append").option("mergeSchema", "true").save(path)
    assert lance_sql.open(path).to_table().to_pylist() == [{"id": 9, "s": None}, {"id": 10, "s": "new"}]


def test_a_job_that_fails_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions

    broken = functions.udf(lambda number: number // 0, "BIGINT")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        spark.range(3).withColumn("x", broken("id")).write.format("lance").mode("append").save(
            str(tmp_path / "t.lance")
        )
    assert list(tmp_path.iterdir()) == []


def test_tables_are_merged_updated_deleted_and_compacted(spark: Any, tmp_path: Path) -> None:
    from lance_sql.spark import LanceTable

    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2, 3], "s": ["a", "b", "c"]}, path)
    table = LanceTable.for_path(spark, path)
    source = spark.createDataFrame(
        [(2, "B", False), (4, "D", False), (3, "", True)], "id BIGINT, s STRING, gone BOOLEAN"
    )
    merge = table.merge(source, on="id").when_matched_delete("source.gone")
    values = {"id": "source.id", "s": "source.s"}
    merge.when_matched_update(values).when_not_matched_insert(values, "NOT source.gone").execute()
    assert rows(path) == [(1, "a"), (2, "B"), (4, "D")]
    assert lance_sql.open(path).changes(since=1).count_rows() == 4
    table.update({"s": "lower(s)"}, "id > 1")
    table.delete("id = 1")
    lance_sql.write({"id": [5], "s": ["e"]}, path, mode="append")
    table.compact()
    assert rows(path) == [(2, "b"), (4, "d"), (5, "e")]
    assert [row["operation"] for row in table.history(3).collect()] == ["compact", "reserve_fragments", "insert"]
    assert table.changes(2, 3).count() == 8


def test_deltas_words_for_versions_and_keys(spark: Any, tmp_path: Path) -> None:
    from lance_sql.spark import LanceTable

    assert load(spark, versionAsOf="4").count() == 400
    assert load(spark, timestampAsOf="2026-11-21 04:35:31Z").count() == 300
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2], "s": ["a", "b"]}, path)
    source = spark.createDataFrame([(2, "B")], "id BIGINT, s STRING")
    LanceTable.forPath(spark, path).merge(source, "source.id = target.id").whenMatchedUpdateAll().execute()
    assert rows(path) == [(1, "a"), (2, "B")]


def rows(path: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lance_sql.open(path).to_table().to_pylist())


def test_one_sql(spark: Any, tmp_path: Path) -> None:
    text = f"SELECT count(*) AS n FROM '{ORDERS}' VERSION AS OF 4"
    assert lance_sql.sql(text, "sail").to_pylist() == [{"n": 400}]
    assert lance_sql.sql(text, session=spark).to_pylist() == [{"n": 400}]
    assert lance_sql.sql(f"SELECT max(version) AS v FROM lance_versions('{ORDERS}')", "sail").fetchall() == [(9,)]
    path = str(tmp_path / "t.lance")
    lance_sql.sql(f"CREATE TABLE '{path}' AS SELECT id, status FROM '{ORDERS}' WHERE id < 5", "sail")
    lance_sql.sql(f"UPDATE '{path}' SET status = upper(status) WHERE id = 1", "sail")
    lance_sql.sql(f"INSERT INTO '{path}' VALUES (7, 'x')", "sail")
    lance_sql.sql(f"ALTER TABLE '{path}' ADD COLUMN n DECIMAL(10, 2)", "sail")
    table = lance_sql.open(path)
    assert table.schema.field("n").type == pa.decimal128(10, 2)
    assert table.count_rows("status = 'x'") == 1


@pytest.mark.parametrize(
    ("path", "options", "kind", "message"),
    [
        ("/nowhere/x.lance", {}, TableNotFound, "no such folder"),
        (ORDERS, {"version": "99"}, VersionNotFound, "versions 1 to 9"),
        (ORDERS, {"verison": "1"}, InvalidArgument, "Did you mean 'version'"),
    ],
)
def test_mistakes_are_one_line(
    spark: Any, path: str, options: dict[str, str], kind: type[LanceError], message: str
) -> None:
    with pytest.raises(kind) as found, lance_sql.spark.short_errors():
        load(spark, path, **options).count()
    assert message in str(found.value)
    assert "\n" not in str(found.value)


def test_streams_are_refused_by_name(spark: Any, tmp_path: Path) -> None:
    read = spark.readStream.format("lance").load(ORDERS).writeStream.format("console")
    rate = spark.readStream.format("rate").load().writeStream.format("lance")
    write = rate.option("path", str(tmp_path / "t.lance")).option("checkpointLocation", str(tmp_path / "c"))
    for stream in (read, write):
        with pytest.raises(UnsupportedFeature, match="does not support streams"), lance_sql.spark.short_errors():
            stream.start().awaitTermination(10)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One without Java."""
    kept = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**kept, "PATH": os.path.dirname(sys.executable)}


def test_the_example_job_and_its_tests_pass_without_java(tmp_path: Path, environment: dict[str, str]) -> None:
    assert shutil.which("java", path=environment["PATH"]) is None
    days = ["2026-03-01", "2026-03-02", "2026-03-03"]
    job = [sys.executable, str(PIPELINE / "daily.py"), str(PIPELINE / "landing"), str(tmp_path / "lake"), *days]
    subprocess.run(job, env=environment, check=True, timeout=300)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(PIPELINE / "tests")]
    done = subprocess.run(
        command, env={**environment, "LAKE": str(tmp_path / "lake")}, capture_output=True, text=True, check=False
    )
    assert "9 passed" in done.stdout, done.stdout


def test_the_fixture_of_the_plugin_is_sail_where_java_is_not(tmp_path: Path, environment: dict[str, str]) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(f"def test_it(spark):\n    assert spark.read.format('lance').load({ORDERS!r}).count() == 370\n")
    for options, expected in (
        ([], "1 passed"),
        (["--lance-spark=sail"], "1 passed"),
        (["--lance-spark=spark"], "1 skipped"),
    ):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(test)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert expected in done.stdout, done.stdout
