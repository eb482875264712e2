"""The change feed in PySpark: batch reads by Delta's options, by Spark's and by ours."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, VersionNotFound

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession

import lance_sql.spark
from lance_sql.providers.spark.change_options import ChangesOptions
from lance_sql.providers.spark.data_source import LanceDataSource

pytestmark = pytest.mark.filterwarnings("ignore")

CHANGES = ["_change_type", "_commit_version", "_commit_timestamp", "_rowid"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> lance_sql.Dataset:
    """Insert, update, an update that changes nothing, delete, insert, restore of 4, compaction (two versions)."""
    path = tmp_path_factory.mktemp("feed") / "t.lance"
    made = lance_sql.write(pa.table({"id": range(20), "s": [f"x{n}" for n in range(20)]}), path)
    made = made.update({"s": "'new'"}, "id IN (3, 4)").update({"s": "s"}, "id = 5").delete("id = 7")
    made.tags.create("audited")
    made = lance_sql.write(pa.table({"id": [20, 21], "s": ["a", "b"]}), path, mode="append")
    return made.restore(4).maintenance.compact()


def load(spark: SparkSession, table: lance_sql.Dataset, **options: object) -> Any:
    texts = {name: str(value) for name, value in options.items()}
    return spark.read.format("lance").option("readChangeFeed", "true").options(**texts).load(table.uri)


def told(rows: list[Any]) -> list[tuple[object, ...]]:
    return sorted((row["id"], row["_change_type"], row["_commit_version"], row["s"]) for row in rows)


def expected(table: lance_sql.Dataset, *bounds: Any, **arguments: Any) -> list[tuple[object, ...]]:
    return told(table.changes(*bounds, **arguments).scan().to_table().to_pylist())


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"startingVersion": 2}, {"start": 2}),
        ({"startingVersion": 2, "endingVersion": 4}, {"start": 2, "end": 4}),
        ({"startingVersion": "audited"}, {"start": 4}),
        ({"since": 3}, {"since": 3}),
        ({"startingVersion": 2, "startingBoundInclusive": "false"}, {"since": 2}),
        ({"startingVersion": 2, "endingVersion": 4, "endingBoundInclusive": "false"}, {"start": 2, "end": 3}),
        ({"startingVersion": 2, "deduplicationMode": "netChanges"}, {"start": 2, "mode": "net"}),
        ({"startingVersion": 2, "deduplicationMode": "dropCarryovers"}, {"start": 2, "drop_unchanged": True}),
        ({"startingVersion": 2, "deduplicationMode": "none"}, {"start": 2}),
        ({"mode": "insert_only"}, {"mode": "insert_only"}),
        ({"startingVersion": 2, "dropUnchanged": "true"}, {"start": 2, "drop_unchanged": True}),
        (
            {"startingVersion": 2, "endingVersion": 6, "key": "id", "mode": "net"},
            {"start": 2, "key": "id", "mode": "net"},
        ),
        ({"startingVersion": 9}, {"start": 9}),
    ],
    ids=str,
)
def test_every_option_means_what_it_does_elsewhere(
    table: lance_sql.Dataset, options: dict[str, object], arguments: dict[str, Any]
) -> None:
    """Without Spark: what a worker would read."""
    given = {"path": table.uri, "readChangeFeed": "true"} | {name: str(value) for name, value in options.items()}
    source = LanceDataSource(given)
    reader = source.reader(source.schema())
    parts = [pickle.loads(pickle.dumps(part)) for part in reader.partitions()]
    rows = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
    assert told(rows) == expected(table, **arguments)


def test_times_are_bounds(table: lance_sql.Dataset) -> None:
    times = {info.version: info.timestamp for info in table.versions()}

    def feed(**options: str) -> tuple[int, int]:
        found = ChangesOptions({"path": table.uri, "readChangeFeed": "true", **options}).open_feed()
        return found.start, found.end

    assert feed(startingTimestamp=str(times[3]), endingTimestamp=str(times[5])) == (3, 5)
    assert feed(startingTimestamp=str(times[3]), startingBoundInclusive="false") == (4, 8)
    assert feed(startingVersion="1", endingTimestamp=str(times[5]), endingBoundInclusive="false") == (1, 4)


def test_spark_reads_the_feed(spark: SparkSession, table: lance_sql.Dataset) -> None:
    frame = load(spark, table, startingVersion=1)
    assert frame.columns == ["id", "s", *CHANGES]
    types = dict(frame.dtypes)
    assert [types[name] for name in CHANGES] == ["string", "bigint", "timestamp", "bigint"]
    assert told(frame.collect()) == expected(table, 1)
    counts = {row["_change_type"]: row["count"] for row in frame.groupBy("_change_type").count().collect()}
    assert counts == {"insert": 22, "update_preimage": 3, "update_postimage": 3, "delete": 3}
    few = load(spark, table, startingVersion=2, columns="id, _commit_version", filter="_change_type = 'delete'")
    assert sorted(map(tuple, few.collect())) == [(7, 4), (20, 6), (21, 6)]
    assert load(spark, table, startingVersion=2, partitions=3).rdd.getNumPartitions() <= 3
    assert len(load(spark, table, startingVersion=1, systemColumns="true").columns) == len(frame.columns) + 2


def test_updates_as_deletes_and_inserts(spark: SparkSession, table: lance_sql.Dataset) -> None:
    frame = load(spark, table, startingVersion=2, endingVersion=2, computeUpdates="false")
    assert told(frame.collect()) == [
        (3, "delete", 2, "x3"),
        (3, "insert", 2, "new"),
        (4, "delete", 2, "x4"),
        (4, "insert", 2, "new"),
    ]


def test_the_function_stays_at_its_range(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    made = lance_sql.write(pa.table({"id": [1, 2]}), path)
    frame = lance_sql.spark.read_changes(spark, path, columns=["id", "_commit_version"])
    keyed = lance_sql.spark.read_changes(spark, made, 1, 1, mode="net", key="id", drop_unchanged=True)
    lance_sql.write(pa.table({"id": [3]}), path, mode="append")
    assert sorted(map(tuple, frame.collect())) == [(1, 1), (2, 1)]
    assert keyed.count() == 2
    assert lance_sql.spark.read_changes(spark, path, since=1, filter="id > 0").count() == 1
    assert lance_sql.spark.read_changes(spark, path, since=2).count() == 0
    with pytest.raises(VersionNotFound, match="neither a tag"):
        lance_sql.spark.read_changes(spark, path, "nothing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingVersion": "1"}, r"'startingversion' needs readChangeFeed=true"),
        ({"readChangeFeed": "yes"}, "neither true nor false"),
        ({"readChangeFeed": "true", "version": "3"}, "no option 'version': pass endingVersion"),
        ({"readChangeFeed": "true", "startingVersion": "1", "startingTimestamp": "2026-01-01"}, "Pass one of"),
        ({"readChangeFeed": "true", "startingVersion": "1", "since": "1"}, "since .exclusive."),
        ({"readChangeFeed": "true", "startingTimestamp": "soon"}, "not a time"),
        ({"readChangeFeed": "true", "startingBoundInclusive": "false"}, "needs startingVersion"),
        ({"readChangeFeed": "true", "endingBoundInclusive": "false"}, "needs a number"),
        ({"readChangeFeed": "true", "deduplicationMode": "some"}, "not none, dropCarryovers or netChanges"),
        ({"readChangeFeed": "true", "deduplicationMode": "none", "mode": "net"}, "Pass one of"),
        ({"readChangeFeed": "true", "mode": "nett"}, "is not one of 'all'"),
        ({"readChangeFeed": "true", "computeUpdates": "false", "filter": "id > 1"}, "leave it out"),
        ({"readChangeFeed": "true", "startingVersions": "1"}, "no option 'startingversions'"),
    ],
    ids=str,
)
def test_wrong_options_are_named(table: lance_sql.Dataset, options: dict[str, str], message: str) -> None:
    source = LanceDataSource({"path": table.uri, **options})
    with pytest.raises(InvalidArgument, match=message):
        source.reader(source.schema())


def test_a_range_that_was_cleaned_up_names_the_oldest_start(spark: SparkSession, tmp_path: Path) -> None:
    made = lance_sql.write(pa.table({"id": [1]}), tmp_path / "t.lance")
    for number in range(2, 5):
        made = lance_sql.write(pa.table({"id": [number]}), made.uri, mode="append")
    made.maintenance.cleanup(retain_versions=2)
    with pytest.raises(Exception, match=r"Start at version 4 \(since=3\)"):
        load(spark, made, startingVersion=1).count()
    assert load(spark, made, startingVersion=4).count() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingVersion": 3, "endingVersion": 1}, "ends before it begins: start is 3, end is 1"),
        ({"startingVersion": 99}, "start=99 does not exist yet"),
        ({"since": 99}, "since=99 does not exist yet"),
        ({"startingTimestamp": "2999-01-01"}, "is in the future"),
    ],
    ids=str,
)
def test_ranges_that_can_only_be_a_mistake_are_refused(
    table: lance_sql.Dataset, options: dict[str, object], message: str
) -> None:
    given = {"path": table.uri, "readChangeFeed": "true"} | {name: str(value) for name, value in options.items()}
    source = LanceDataSource(given)
    with pytest.raises((InvalidArgument, VersionNotFound), match=message):
        source.reader(source.schema()).partitions()


def test_the_job_of_commits_is_a_column_on_request(
    spark: SparkSession, table: lance_sql.Dataset, tmp_path: Path
) -> None:
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance", job="load").delete("id = 1", job="nightly")
    rows = load(spark, made, origin="true").orderBy("_commit_version").collect()
    assert [(row["_change_type"], row["_commit_job"]) for row in rows] == [("insert", "load"), ("delete", "nightly")]
    frame = lance_sql.spark.read_changes(spark, made, since=1, origin=True, filter="_commit_job = 'nightly'")
    assert [row["_commit_job"] for row in frame.collect()] == ["nightly"]
    assert load(spark, made).columns == ["id", *CHANGES]
