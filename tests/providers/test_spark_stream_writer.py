"""Streams into a table: every batch once, over restarts, retries and other writers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from lance_sql.providers.spark import stream_writer
from lance_sql.providers.spark.data_source import LanceDataSource

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = StructType([StructField("id", LongType())])
TASK = {"sql.streaming.queryId": "query-1", "streaming.sql.batchId": "0"}


class Sink:
    """What Spark does with a writer, without Spark: one writes in the tasks, another one commits."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, **options: str) -> None:
        self.options = {"path": str(path), **options}
        self.task = dict(TASK)
        monkeypatch.setattr(stream_writer, "_property", lambda name: self.task.get(name))

    def writer(self, *, overwrite: bool = False) -> Any:
        return LanceDataSource(self.options).streamWriter(SCHEMA, overwrite)

    def write(self, batch: int, *parts: list[int], overwrite: bool = False) -> list[Any]:
        """The messages of the tasks of a batch."""
        self.task["streaming.sql.batchId"] = str(batch)
        writer = pickle.dumps(self.writer(overwrite=overwrite))
        batches = [pa.record_batch({"id": pa.array(keys, pa.int64())}) for keys in parts]
        return [pickle.loads(pickle.dumps(pickle.loads(writer).write(iter([each])))) for each in batches]

    def batch(self, number: int, *parts: list[int], overwrite: bool = False) -> None:
        self.writer(overwrite=overwrite).commit(self.write(number, *parts, overwrite=overwrite), number)


def content(path: Path) -> list[int]:
    found: list[int] = sorted(lance_sql.open(path).to_table().column("id").to_pylist())
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.lance"


@pytest.fixture
def sink(path: Path, monkeypatch: pytest.MonkeyPatch) -> Sink:
    return Sink(path, monkeypatch)


def test_a_batch_that_is_tried_again_is_there_once(sink: Sink, path: Path) -> None:
    sink.batch(0, [1, 2], [3])
    sink.batch(0, [1, 2], [3])
    sink.batch(1, [4])
    lance_sql.write({"id": [100]}, path, mode="append")
    lance_sql.open(path).maintenance.compact()
    sink.batch(1, [4])
    assert content(path) == [1, 2, 3, 4, 100]
    names = {file.path for each in lance_sql.open(path).snapshot.manifest.fragments for file in each.files}
    sink.batch(2, [5], [])
    assert content(path) == [1, 2, 3, 4, 5, 100]
    assert names <= {file.name for file in (path / "data").iterdir()}
    summary = lance_sql.open(path).versions()[-1].summary
    assert summary is not None
    assert (summary.txn_app_id, summary.txn_version) == ("query-1", 2)


def test_two_queries_write_one_table(sink: Sink, path: Path) -> None:
    sink.batch(0, [1])
    sink.task["sql.streaming.queryId"] = "query-2"
    sink.batch(0, [2])
    sink.batch(0, [2])
    assert content(path) == [1, 2]
    sink.options["txnAppId"] = "by name"
    sink.batch(0, [3])
    sink.task.pop("sql.streaming.queryId")
    sink.batch(0, [3])
    assert content(path) == [1, 2, 3]


def test_batches_of_another_checkpoint_under_one_name_are_refused(sink: Sink, path: Path) -> None:
    sink.options["txnAppId"] = "copy"
    for number in range(3):
        sink.batch(number, [number])
    sink.task["sql.streaming.queryId"] = "query-2"
    for number in (0, 2):
        with pytest.raises(InvalidArgument, match=r"has batch 2 of 'copy' from another query"):
            sink.batch(number, [9])
    assert content(path) == [0, 1, 2]


@pytest.mark.parametrize("lost", ["restore", "cleanup"])
def test_a_batch_that_is_tried_again_after_a_restore_or_a_cleanup(sink: Sink, path: Path, lost: str) -> None:
    sink.batch(0, [0])
    sink.batch(1, [1])
    if lost == "restore":
        lance_sql.open(path).restore(1)
    else:
        lance_sql.open(path).maintenance.compact().maintenance.cleanup(retain_versions=1)
    sink.batch(1, [1])
    assert content(path) == [0, 1]


def test_tasks_without_a_query_id_are_refused(sink: Sink, path: Path) -> None:
    sink.task.pop("sql.streaming.queryId")
    with pytest.raises(InvalidArgument, match="option\\('txnAppId'"):
        sink.batch(0, [1])
    assert not path.exists()


def test_a_batch_that_fails_leaves_nothing(sink: Sink, path: Path) -> None:
    sink.batch(0, [1])
    files = set((path / "data").iterdir())
    messages = sink.write(1, [2], [3])
    sink.writer().abort([*messages, None], 1)
    sink.writer().abort([None, None], 1)
    assert set((path / "data").iterdir()) == files
    sink.batch(1, [2], [3])
    assert content(path) == [1, 2, 3]


def test_batches_without_rows(sink: Sink, path: Path) -> None:
    sink.batch(0, [])
    assert (content(path), lance_sql.open(path).version) == ([], 1)
    sink.batch(1, [])
    sink.writer().commit([], 2)
    assert lance_sql.open(path).version == 1


def test_complete_results_replace_each_other(sink: Sink, path: Path) -> None:
    sink.batch(0, [1, 2], overwrite=True)
    sink.batch(1, [3], overwrite=True)
    sink.batch(0, [1, 2], overwrite=True)
    assert content(path) == [3]


def test_batch_writes_are_made_once_as_well(path: Path) -> None:
    options = {"path": str(path), "txnAppId": "nightly", "txnVersion": "3"}
    batch = pa.record_batch({"id": pa.array([1, 2], pa.int64())})
    for _ in range(2):
        writer: Any = LanceDataSource(options).writer(SCHEMA, overwrite=False)
        writer.commit([writer.write(iter([batch]))])
    assert content(path) == [1, 2]
    with pytest.raises(InvalidArgument, match="Pass both options txnAppId"):
        LanceDataSource({"path": str(path), "txnVersion": "3"}).writer(SCHEMA, overwrite=False)
    with pytest.raises(InvalidArgument, match="no option 'txnversion'"):
        LanceDataSource(options).streamWriter(SCHEMA, overwrite=False)


@pytest.mark.slow  # the document's examples stream from table to table as well
def test_spark_streams_from_table_to_table(spark: SparkSession, tmp_path: Path) -> None:
    source, target, checkpoint = (tmp_path / name for name in ("a.lance", "b.lance", "checkpoint"))
    lance_sql.write({"id": list(range(10))}, source)

    def run() -> None:
        frame = spark.readStream.format("lance").option("maxVersionsPerTrigger", "1").load(str(source))
        writer = frame.writeStream.format("lance").option("checkpointLocation", str(checkpoint))
        assert writer.trigger(availableNow=True).start(str(target)).awaitTermination(120)

    run()
    for key in (10, 11):
        lance_sql.write({"id": [key]}, source, mode="append")
    lance_sql.write({"id": [100]}, target, mode="append")
    run()
    assert content(target) == [*range(12), 100]
    # the last batch was written, and the query was killed before the checkpoint said so
    newest = max(int(file.name) for file in (checkpoint / "commits").iterdir() if file.name.isdecimal())
    for file in (checkpoint / "commits").glob(f"*{newest}*"):
        file.unlink()
    lance_sql.write({"id": [12]}, source, mode="append")
    run()
    assert content(target) == [*range(13), 100]
    summaries = [info.summary for info in lance_sql.open(target).versions()]
    assert {each.txn_app_id for each in summaries if each is not None and each.txn_version is not None} == {
        (checkpoint / "metadata").read_text().partition('"id":"')[2].partition('"')[0]
    }
