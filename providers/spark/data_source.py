"""Lance tables in PySpark.

    spark.read.format("lance").option("version", 3).load("events.lance")
    spark.read.format("lance").option("readChangeFeed", "true").option("startingVersion", 3).load("events.lance")
    frame.write.format("lance").mode("append").save("events.lance")

A read has one partition for each task of a scan. In a write every task writes data files, and the driver commits them
as one version. A task that fails, runs again or runs twice adds no row, and a failed job leaves the table
unchanged. docs/pyspark.md lists the options.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.jobs.write_job import NewFragments
from lance_sql.values.keywords import suggests_keywords

from . import changes as spark_changes
from . import types as spark_types
from . import workers as spark_workers
from .change_options import ChangesOptions, StreamOptions, schema_options, wants_changes
from .changes import LanceChangesReader
from .errors import short_errors, shorten
from .options import ReadOptions, to_options
from .partitions import LancePartition, partition_count
from .stream_reader import LanceStreamReader
from .stream_writer import LanceStreamWriter
from .writes import Begun, begin

_CHECKED: Final[WeakSet[SparkSession]] = WeakSet()
"""Remote sessions whose server has this package."""


@suggests_keywords
def register(spark: SparkSession) -> SparkSession:
    """Registers the format "lance" with a session, and returns the session.

    Spark's own filter pushdown stays off: a reader with pushed filters also serves later queries of the same
    frame, which then lose rows.

    raises: MissingDependency if Spark's workers, or the server of Spark Connect, run a Python without this package
    """
    spark_workers.check(spark)
    shorten()
    spark.dataSource.register(LanceDataSource)
    if spark_workers.is_remote(spark):
        _check_server(spark)
    return spark


def _check_server(spark: SparkSession) -> None:
    """Makes the server of a remote session read an option, once for each session. Otherwise a class that it cannot load
    would fail the first query with a Java trace.

    raises: MissingDependency
    """
    if spark in _CHECKED:
        return
    try:
        with short_errors():
            _ = spark.read.format("lance").option("partitions", "no number").load("nowhere").schema
    except InvalidArgument:
        # the server has read the option, and nothing else
        _CHECKED.add(spark)


def register_table(spark: SparkSession, name: str, dataset: Dataset) -> None:
    """Registers one version of a table as a temporary view."""
    read(spark, dataset).createOrReplaceTempView(name)


def read(
    spark: SparkSession, dataset: Dataset, columns: Sequence[str] | None = None, filter: str | None = None
) -> DataFrame:
    """Reads one version of a table as a frame. `columns` and `filter` are applied by the scan."""
    reader = spark.read.format("lance").option("version", dataset.version).options(**to_options(dataset))
    if columns is not None:
        reader = reader.option("columns", json.dumps(list(columns)))
    if filter is not None:
        reader = reader.option("filter", filter)
    return reader.load(dataset.uri)


def read_changes(
    spark: SparkSession,
    dataset: Dataset,
    columns: Sequence[str] | None,
    filter: str | None,
    arguments: Mapping[str, Any],
) -> DataFrame:
    """Reads changes of a table as a frame, which stays at the versions of the range as of now.

    arguments: of `Dataset.changes`
    raises: as `Dataset.changes` and `ChangeFeed.scan`
    """
    feed = dataset.changes(**arguments)
    # raises errors here, rather than in a worker of Spark
    _ = feed.scan(columns, filter).schema
    options = {"readChangeFeed": "true", "mode": feed.mode}
    options |= {"since": str(feed.start - 1), "endingVersion": str(feed.end)}
    options["dropUnchanged"] = str(bool(arguments.get("drop_unchanged"))).lower()
    options["trustSnapshots"] = str(bool(arguments.get("trust_snapshots"))).lower()
    options["origin"] = str(bool(arguments.get("origin"))).lower()
    key = arguments.get("key")
    lists = {"key": [key] if isinstance(key, str) else key, "columns": columns}
    options |= {name: json.dumps(list(names)) for name, names in lists.items() if names is not None}
    options |= {} if filter is None else {"filter": filter}
    return spark.read.format("lance").options(**options, **to_options(dataset)).load(dataset.uri)


class LanceDataSource(DataSource):
    """The format "lance"."""

    @classmethod
    def name(cls) -> str:
        return "lance"

    def schema(self) -> StructType | pa.Schema:
        options = schema_options(self.options)
        if isinstance(options, ChangesOptions):
            schema = spark_changes.schema(options)
        else:
            dataset = options.open()
            schema = spark_types.spark_schema(dataset.scan(options.names(dataset), options.filter).schema)
        # a later version read by the frame may have NULL where this one has none
        return spark_types.declared(schema.toNullable())

    def reader(self, schema: StructType) -> DataSourceReader:
        if wants_changes(self.options):
            return LanceChangesReader(ChangesOptions(self.options), spark_types.as_spark(schema))
        return LanceReader(ReadOptions(self.options), spark_types.as_spark(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return LanceStreamReader(StreamOptions(self.options), spark_types.as_spark(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return LanceWriter(begin(self.options, spark_types.as_spark(schema), overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802 - as above
        app_id = self.options.get("txnAppId")
        return LanceStreamWriter(
            begin(self.options, spark_types.as_spark(schema), overwrite=overwrite, is_stream=True), app_id
        )


class LanceReader(DataSourceReader):
    """Reads one version of a table.

    schema: the requested columns, in Spark's types
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._schema = spark_types.arrow_schema(schema)
        self._dataset = options.open()
        self._partitions = options.partitions
        self._filter = options.filter

    def partitions(self) -> Sequence[InputPartition]:
        scan = self._dataset.scan(self._schema.names, self._filter)
        count = self._partitions or partition_count(scan.plan.num_candidates)
        return [LancePartition(task) for task in scan.tasks(count)] or [LancePartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LancePartition)
        for batch in partition.batches():
            yield spark_types.cast(batch, self._schema)


@dataclass
class WrittenFragments(WriterCommitMessage):
    """Fragments that one task wrote."""

    fragments: NewFragments


class LanceWriter(DataSourceArrowWriter):
    """Writes data files in the tasks, and one version in the driver."""

    def __init__(self, begun: Begun) -> None:
        self._begun = begun

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        return WrittenFragments(self._begun.job.write_fragments(self._begun.reader(iterator)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, WrittenFragments)]
        self._begun.job.commit(fragment for message in written for fragment in message.fragments)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._begun.job.abort()
