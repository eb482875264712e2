"""Streams of changes: every commit once, over restarts at any moment, limits, and what a stream begins with."""

from __future__ import annotations

import json
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument, VersionNotFound

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession

from lance_sql.providers.spark.data_source import LanceDataSource

pytestmark = pytest.mark.filterwarnings("ignore")

Row = dict[str, Any]


class Stream:
    """What Spark does with a reader, without Spark: it keeps the ends of batches, as text, and forgets the rest.

    log: the checkpoint
    """

    def __init__(self, path: object, log: list[str] | None = None, **options: Any) -> None:
        given = {"path": str(path), **{name: str(value) for name, value in options.items()}}
        self.source = LanceDataSource(given)
        self.reader: Any = self.source.streamReader(self.source.schema())
        self.log = [] if log is None else log

    @property
    def _start(self) -> str:
        return self.log[-1] if self.log else json.dumps(self.reader.initialOffset())

    def plan(self) -> str | None:
        """The end of the next batch; None where there is none."""
        end = json.dumps(self.reader.latestOffset(json.loads(self._start), None))
        return None if end == self._start else end

    def rows_of(self, end: str) -> list[Row]:
        """The batch up to an end, read by workers."""
        parts = self.reader.partitions(json.loads(self._start), json.loads(end))
        reader, parts = pickle.loads(pickle.dumps((self.reader, parts)))
        return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]

    def batch(self) -> list[Row] | None:
        end = self.plan()
        if end is None:
            return None
        rows = self.rows_of(end)
        self.log.append(end)
        return rows

    def all(self) -> list[list[Row]]:
        found = []
        while (rows := self.batch()) is not None:
            found.append(rows)
        return found


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Version 1 has the rows 0 to 9, version 2 changes two of them, 3 deletes one, 4 adds two."""
    made = lance_sql.write(pa.table({"id": range(10), "s": ["a"] * 10}), tmp_path / "t.lance")
    made = made.update({"s": "'b'"}, "id IN (1, 2)").delete("id = 3")
    return lance_sql.write(pa.table({"id": [10, 11], "s": ["c", "c"]}), made.uri, mode="append")


def told(rows: list[Row]) -> list[tuple[object, ...]]:
    return sorted((row["_commit_version"], row["_change_type"], row["id"], row["s"]) for row in rows)


def applied(batches: list[list[Row]]) -> dict[int, str]:
    """The rows by key after all changes, each of which has to fit."""
    now: dict[int, str] = {}
    for rows in batches:
        for version in sorted({row["_commit_version"] for row in rows}):
            of_commit = [row for row in rows if row["_commit_version"] == version]
            for row in of_commit:
                if row["_change_type"] in ("delete", "update_preimage"):
                    assert now.pop(row["id"]) == row["s"]
            for row in of_commit:
                if row["_change_type"] in ("insert", "update_postimage"):
                    assert row["id"] not in now
                    now[row["id"]] = row["s"]
    return now


def content(path: object) -> dict[int, str]:
    return {row["id"]: row["s"] for row in lance_sql.open(str(path)).to_table().to_pylist()}


def test_a_stream_begins_with_all_rows_and_goes_on_with_changes(table: lance_sql.Dataset) -> None:
    stream = Stream(table.uri, readChangeFeed="true")
    (first,) = stream.all()
    assert {(row["_change_type"], row["_commit_version"]) for row in first} == {("insert", 4)}
    assert applied([first]) == content(table.uri)
    assert len({row["_rowid"] for row in first}) == len(first)
    lance_sql.open(table.uri).delete("id = 0").update({"s": "'z'"}, "id = 5")
    (second,) = stream.all()
    assert told(second) == [
        (5, "delete", 0, "a"),
        (6, "update_postimage", 5, "z"),
        (6, "update_preimage", 5, "a"),
    ]
    assert applied([first, second]) == content(table.uri)
    assert stream.batch() is None


def test_where_a_stream_begins(table: lance_sql.Dataset) -> None:
    def versions(**options: Any) -> set[int]:
        batches = Stream(table.uri, readChangeFeed="true", **options).all()
        return {row["_commit_version"] for rows in batches for row in rows}

    assert versions(startingVersion=1) == {1, 2, 3, 4}
    assert versions(startingVersion=3) == {3, 4}
    assert versions(since=3) == {4}
    assert versions(startingVersion="latest") == set()
    assert versions(startingVersion=5) == set()
    with pytest.raises(VersionNotFound, match="start=9 does not exist yet"):
        versions(startingVersion=9)
    assert versions(startingTimestamp="2020-01-01") == {1, 2, 3, 4}
    assert versions(startingVersion=2, startingBoundInclusive="false") == {3, 4}
    stream = Stream(table.uri, readChangeFeed="true", startingVersion="latest")
    assert stream.batch() == []
    lance_sql.open(table.uri).delete("id = 0")
    # the start is known from the checkpoint, whatever was newest when the stream was started again
    again = Stream(table.uri, stream.log, readChangeFeed="true", startingVersion="latest")
    assert told(again.batch() or []) == [(5, "delete", 0, "a")]


def test_inserted_rows_alone(table: lance_sql.Dataset) -> None:
    stream = Stream(table.uri)
    (first,) = stream.all()
    assert list(first[0]) == ["id", "s"]
    lance_sql.open(table.uri).merge({"id": [1, 20], "s": ["new", "new"]}, on="id").delete("id = 2")
    assert stream.batch() == [{"id": 20, "s": "new"}]
    assert [len(rows) for rows in Stream(table.uri, startingVersion=2).all()] == [0, 3]


def test_limits_cut_between_commits(table: lance_sql.Dataset) -> None:
    def sizes(**options: Any) -> list[list[int]]:
        batches = Stream(table.uri, readChangeFeed="true", startingVersion=1, **options).all()
        return [sorted({row["_commit_version"] for row in rows}) for rows in batches if rows]

    assert sizes(maxVersionsPerTrigger=1) == [[1], [2], [3], [4]]
    assert sizes(maxVersionsPerTrigger=3) == [[1, 2, 3], [4]]
    # 10, 4, 1 and 2 rows
    assert sizes(maxRowsPerTrigger=1) == [[1], [2], [3], [4]]
    assert sizes(maxRowsPerTrigger=5) == [[1], [2, 3], [4]]
    assert sizes(maxRowsPerTrigger=10) == [[1], [2, 3, 4]]
    assert sizes(maxRowsPerTrigger=1000) == [[1, 2, 3, 4]]
    assert sizes(maxRowsPerTrigger=1000, maxVersionsPerTrigger=2) == [[1, 2], [3, 4]]


@pytest.mark.parametrize("most", [1, 3, 4, 100])
def test_the_rows_that_a_stream_begins_with_come_in_parts(table: lance_sql.Dataset, most: int) -> None:
    stream = Stream(table.uri, readChangeFeed="true", maxRowsPerTrigger=most)
    found = [stream.batch() or []]
    lance_sql.open(table.uri).delete("id = 0").update({"s": "'z'"}, "id = 9")
    found += Stream(table.uri, stream.log, readChangeFeed="true", maxRowsPerTrigger=most).all()
    assert applied(found) == content(table.uri)
    assert max(len(rows) for rows in found) <= max(most, 2)


def test_learning_between_batches_moves_no_row(tmp_path: Path) -> None:
    ids = np.arange(400_000)
    # one half of the rows passes, which a scan that has read the column knows of most zones
    value = np.where(ids // 50_000 % 2 == 0, ids, -1)
    made = lance_sql.write(pa.table({"id": ids, "value": value}), tmp_path / "t.lance", file_version="2.1")
    stream = Stream(made.uri, maxRowsPerTrigger=60_000, filter="value >= 0")
    batches = [stream.batch()]
    assert pa.RecordBatchReader.from_stream(made.scan(["id"], "value >= 0")).read_all().num_rows == 200_000
    again = Stream(made.uri, stream.log, maxRowsPerTrigger=60_000, filter="value >= 0")
    batches += again.all()
    found = [row["id"] for batch in batches if batch for row in batch]
    assert sorted(found) == ids[value >= 0].tolist()


def test_all_that_is_there_and_no_more(table: lance_sql.Dataset) -> None:
    stream = Stream(table.uri, readChangeFeed="true", startingVersion=2, maxVersionsPerTrigger=1)
    stream.reader.prepareForTriggerAvailableNow()
    stream.batch()
    lance_sql.open(table.uri).delete("id = 0")
    assert [{row["_commit_version"] for row in rows} for rows in stream.all()] == [{2}, {3}, {4}]


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_restarts_at_any_moment_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    """Batches are planned, read, forgotten and read again while others commit, compact and restore."""
    chance = random.Random(seed)
    path = tmp_path / "t.lance"
    lance_sql.write(pa.table({"id": range(20), "s": ["a"] * 20}), path)
    options: dict[str, Any] = {"readChangeFeed": "true"}
    options |= chance.choice([{}, {"maxRowsPerTrigger": chance.randint(1, 12)}, {"maxVersionsPerTrigger": 2}])
    options |= chance.choice([{}, {"startingVersion": 1}])
    stream = Stream(path, **options)
    batches: list[list[Row]] = []
    next_key = 20

    def commit() -> None:
        nonlocal next_key
        table = lance_sql.open(path)
        keys = sorted(content(path))
        match chance.randrange(5):
            case 0:
                lance_sql.write(pa.table({"id": [next_key, next_key + 1], "s": ["n", "n"]}), path, mode="append")
                next_key += 2
            case 1:
                table.update({"s": f"'u{chance.randrange(99)}'"}, f"id % 5 = {chance.randrange(5)}")
            case 2:
                table.delete(f"id = {chance.choice(keys)}")
            case 3:
                table.maintenance.compact()
            case 4:
                table.restore(chance.randint(1, table.version))

    for _ in range(30):
        for _ in range(chance.randrange(3)):
            commit()
        end = stream.plan()
        if end is None:
            continue
        expected = told(stream.rows_of(end))
        if chance.random() < 0.4:
            # the batch was planned and perhaps read, and then the query was killed
            commit()
            stream = Stream(path, stream.log, **options)
        rows = stream.rows_of(end)
        assert told(rows) == expected
        stream.log.append(end)
        batches.append(rows)
        if chance.random() < 0.3:
            stream = Stream(path, stream.log, **options)
    batches += stream.all()
    assert applied(batches) == content(path)


def test_a_slow_reader_gets_an_error_for_cleaned_up_versions(table: lance_sql.Dataset) -> None:
    stream = Stream(table.uri, readChangeFeed="true", startingVersion=2, maxVersionsPerTrigger=1)
    stream.batch()
    table.maintenance.cleanup(retain_versions=1)
    with pytest.raises(VersionNotFound, match=r"are lost: .* Start at version"):
        stream.batch()


def test_another_table_in_its_place_is_noticed(table: lance_sql.Dataset, tmp_path: Path) -> None:
    stream = Stream(table.uri, readChangeFeed="true")
    stream.all()
    other = lance_sql.write(pa.table({"id": [1], "s": ["a"]}), tmp_path / "other.lance")
    with pytest.raises(InvalidArgument, match="is another commit now, or is missing"):
        Stream(other.uri, stream.log, readChangeFeed="true").batch()
    with pytest.raises(InvalidArgument, match="not an offset of the format lance"):
        Stream(table.uri, ['{"offset": 7}'], readChangeFeed="true").batch()


@pytest.mark.parametrize("added", [1, 3, 5])
@pytest.mark.parametrize("how", ["backup", "anew", "branch"])
@pytest.mark.parametrize("feed", ["true", "false"])
def test_commits_of_another_history_are_not_skipped(tmp_path: Path, how: str, added: int, feed: str) -> None:
    path = tmp_path / "t.lance"
    branch: dict[str, Any] = {"branch": "load"} if how == "branch" else {}

    def append(*ids: int) -> None:
        for number in ids:
            lance_sql.write({"id": [number]}, path, mode="append", branch=branch.get("branch"))

    lance_sql.write({"id": [0]}, path)
    if branch:
        lance_sql.open(path).branches.create("load")
    append(1)
    shutil.copytree(path, tmp_path / "backup")
    append(2, 3)
    stream = Stream(path, readChangeFeed=feed, startingVersion=1, **branch)
    assert [row["id"] for rows in stream.all() for row in rows] == [0, 1, 2, 3]
    if how == "branch":
        lance_sql.open(path).branches.delete("load")
        lance_sql.open(path).branches.create("load")
    else:
        shutil.rmtree(path)
        if how == "backup":
            shutil.copytree(tmp_path / "backup", path)
        else:
            lance_sql.write({"id": [11]}, path)
    append(*range(12, 12 + added))
    with pytest.raises(InvalidArgument, match="is another commit now, or is missing"):
        Stream(path, stream.log, readChangeFeed=feed, startingVersion=1, **branch).batch()


def test_a_table_without_stable_row_ids_streams_by_key(tmp_path: Path) -> None:
    made = lance_sql.write(pa.table({"id": [1, 2], "s": ["a", "a"]}), tmp_path / "t.lance", stable_row_ids=False)
    stream = Stream(made.uri, readChangeFeed="true", key="id", startingVersion=1)
    stream.all()
    made.update({"s": "'b'"}, "id = 1")
    assert [row["_change_type"] for row in stream.batch() or []] == ["update_preimage", "update_postimage"]
    with pytest.raises(InvalidArgument, match="enable_stable_row_ids"):
        Stream(made.uri, readChangeFeed="true")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"endingVersion": "3"}, "A stream has no end"),
        ({"mode": "net"}, "'mode' needs readChangeFeed=true"),
        ({"maxRowsPerTrigger": "0"}, "must be at least 1"),
        ({"maxVersionsPerTrigger": "many"}, "not a whole number"),
        ({"maxBytesPerTrigger": "1"}, "no option 'maxbytespertrigger'"),
    ],
    ids=str,
)
def test_wrong_options_are_named(table: lance_sql.Dataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Stream(table.uri, **options)


@pytest.mark.slow  # the document's examples stream as well, and the tests above restart at any moment
def test_spark_streams_the_feed(spark: SparkSession, table: lance_sql.Dataset, tmp_path: Path) -> None:
    source = spark.readStream.format("lance").option("readChangeFeed", "true").option("maxVersionsPerTrigger", "2")
    frame = source.option("startingVersion", "1").load(table.uri)
    assert frame.isStreaming
    batches: dict[int, list[tuple[object, ...]]] = {}

    def run() -> None:
        writer = frame.writeStream.foreachBatch(
            lambda rows, number: batches.update({number: told([row.asDict() for row in rows.collect()])})
        )
        query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
        assert query.awaitTermination(120)

    run()
    lance_sql.open(table.uri).delete("id = 0")
    run()
    found = [row for number in sorted(batches) for row in batches[number]]
    assert found == [*told(table.changes(1, 4).scan().to_table().to_pylist()), (5, "delete", 0, "a")]
