"""Lance tables in PySpark.

    spark.read.format("lance").option("version", 3).load("events.lance")
    spark.read.format("lance").option("readChangeFeed", "true").option("startingVersion", 3).load("events.lance")
    frame.write.format("lance").mode("append").save("events.lance")

A read has one partition for each task of a scan. In a write every task writes data files, and the driver makes one
version of them: a task that fails, runs again or runs twice adds no row, and a job that fails leaves the table as it
was. docs/pyspark.md lists the options.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

import lance_sql.dataset
from lance_sql import writing
from lance_sql.dataset import Dataset
from lance_sql.errors import TableNotFound
from lance_sql.writing import Mode, NewFragments, WriteJob

from . import spark_changes, spark_options, spark_types
from .spark_changes import LanceChangesReader
from .spark_options import (
    ChangesOptions,
    ReadOptions,
    StreamOptions,
    checked,
    flag,
    number,
    schema_options,
    storage_options,
    to_options,
    wants_changes,
)
from .spark_partitions import LancePartition, partition_count
from .spark_stream_reader import LanceStreamReader

_WRITE_OPTIONS: Final = ("path", "branch", "fileversion", "stablerowids", "maxrowsperfile")


def register(spark: SparkSession) -> SparkSession:
    """Makes the format "lance" known to a session; returns the session.

    Spark's own filter pushdown stays as it is, off: a reader that has taken filters serves later queries of the same
    frame as well, which then lose rows.
    """
    spark.dataSource.register(LanceDataSource)
    return spark


def register_table(spark: SparkSession, name: str, dataset: Dataset) -> None:
    """Makes one version of a table a temporary view."""
    read(spark, dataset).createOrReplaceTempView(name)


def read(
    spark: SparkSession, dataset: Dataset, columns: Sequence[str] | None = None, filter: str | None = None
) -> DataFrame:
    """One version of a table as a frame; `columns` and `filter` are applied while it is read."""
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
    """Changes of a table as a frame, which stays at the versions that the range means now.

    arguments: of `Dataset.changes`
    raises: as `Dataset.changes` and `ChangeFeed.scan`
    """
    feed = dataset.changes(**arguments)
    # what is wrong is said here, rather than by a worker of Spark
    _ = feed.scan(columns, filter).schema
    options = {"readChangeFeed": "true", "mode": feed.mode}
    options |= {"startingVersion": str(feed.start), "endingVersion": str(feed.end)}
    options["dropUnchanged"] = str(bool(arguments.get("drop_unchanged"))).lower()
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

    def schema(self) -> StructType:
        options = schema_options(self.options)
        if isinstance(options, ChangesOptions):
            return spark_changes.schema(options)
        dataset = options.open()
        return spark_types.spark_schema(dataset.scan(options.names(dataset), options.filter).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        if wants_changes(self.options):
            return LanceChangesReader(ChangesOptions(self.options), schema)
        return LanceReader(ReadOptions(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        return LanceStreamReader(StreamOptions(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return LanceWriter(_begin(self.options, schema, overwrite=overwrite))


class LanceReader(DataSourceReader):
    """Reads one version of a table.

    schema: the columns that Spark wants, in its types
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
    """What one task wrote."""

    fragments: NewFragments


class LanceWriter(DataSourceArrowWriter):
    """Writes data files in the tasks, and one version in the driver."""

    def __init__(self, begun: _Begun) -> None:
        self._begun = begun

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFragments:
        schema = self._begun.schema
        batches = (spark_types.cast(batch, schema) for batch in iterator)
        return WrittenFragments(self._begun.job.write_fragments(pa.RecordBatchReader.from_batches(schema, batches)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, WrittenFragments)]
        self._begun.job.commit(fragment for message in written for fragment in message.fragments)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._begun.job.abort()


@dataclass(frozen=True)
class _Begun:
    """A write that has begun.

    schema: of the batches that the job takes
    """

    job: WriteJob
    schema: pa.Schema


def _begin(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> _Begun:
    found = checked(options, _WRITE_OPTIONS)
    path, storage, branch = spark_options.path(found), storage_options(options), found.get("branch")
    rows = spark_types.arrow_schema(schema)
    mode: Mode = "overwrite"
    if not overwrite:
        try:
            table = lance_sql.dataset.open(path, branch=branch, storage_options=storage)
        except TableNotFound:
            # appending is what Spark has for a table that does not exist yet
            mode = "create"
        else:
            mode, rows = "append", _narrowed(rows, table.schema)
    arguments: dict[str, Any] = {"file_version": found.get("fileversion")}
    if "stablerowids" in found:
        arguments["stable_row_ids"] = flag("stableRowIds", found["stablerowids"])
    if "maxrowsperfile" in found:
        arguments["max_rows_per_file"] = number("maxRowsPerFile", found["maxrowsperfile"])
    job = writing.begin_write(path, rows, mode=mode, branch=branch, storage_options=storage, **arguments)
    return _Begun(job, rows)


def _narrowed(rows: pa.Schema, table: pa.Schema) -> pa.Schema:
    """The columns that Spark gives, in the table's types where those only were widened for Spark."""
    seen = spark_types.arrow_schema(spark_types.spark_schema(table))
    fields = []
    for field in rows:
        index = table.get_field_index(field.name)
        same = index >= 0 and seen.field(index).type == field.type
        fields.append(field.with_type(table.field(index).type) if same else field)
    return pa.schema(fields)
