"""Lance tables in PySpark.

    spark.read.format("lance").option("version", 3).load("events.lance")
    frame.write.format("lance").mode("append").save("events.lance")

A read has one partition for each task of a scan. In a write every task writes data files, and the driver makes one
version of them: a task that fails, runs again or runs twice adds no row, and a job that fails leaves the table as it
was.

Options of both: `branch`, and `storage.<key>` for the file system of the path. For reading: `version`, `tag`, `asOf`;
`columns`, names with commas between them or a JSON array, and `filter`, a condition in SQL, which are applied while the
table is read; `systemColumns` ("true" adds them to the columns); `partitions`, about how many. For writing:
`fileVersion`, `stableRowIds`, `maxRowsPerFile`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

import lance_sql.dataset
from lance_sql import writing
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.scan.scan import ScanTask
from lance_sql.writing import Mode, NewFragments, WriteJob

from . import spark_types

_ROWS_PER_PARTITION: Final = 4 * 1024 * 1024
_READ_OPTIONS: Final = ("path", "version", "tag", "branch", "asof", "columns", "filter", "systemcolumns", "partitions")
_WRITE_OPTIONS: Final = ("path", "branch", "fileversion", "stablerowids", "maxrowsperfile")
_STORAGE: Final = "storage."


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
    reader = spark.read.format("lance").option("version", dataset.version)
    if dataset.branch is not None:
        reader = reader.option("branch", dataset.branch)
    if columns is not None:
        reader = reader.option("columns", json.dumps(list(columns)))
    if filter is not None:
        reader = reader.option("filter", filter)
    for key, value in (dataset.snapshot.storage_options or {}).items():
        reader = reader.option(f"{_STORAGE}{key}", value)
    return reader.load(dataset.uri)


class LanceDataSource(DataSource):
    """The format "lance"."""

    @classmethod
    def name(cls) -> str:
        return "lance"

    def schema(self) -> StructType:
        options = _ReadOptions(self.options)
        dataset = options.open()
        return spark_types.spark_schema(dataset.scan(options.names(dataset), options.filter).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        return LanceReader(_ReadOptions(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return LanceWriter(_begin(self.options, schema, overwrite=overwrite))


class LanceReader(DataSourceReader):
    """Reads one version of a table.

    schema: the columns that Spark wants, in its types
    """

    def __init__(self, options: _ReadOptions, schema: StructType) -> None:
        self._schema = spark_types.arrow_schema(schema)
        self._dataset = options.open()
        self._partitions = options.partitions
        self._filter = options.filter

    def partitions(self) -> Sequence[InputPartition]:
        scan = self._dataset.scan(self._schema.names, self._filter)
        count = self._partitions or max(os.cpu_count() or 1, scan.plan.num_candidates // _ROWS_PER_PARTITION)
        # Spark takes no empty list
        return [LancePartition(task) for task in scan.tasks(count)] or [LancePartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LancePartition)
        if partition.task is None:
            return
        for batch in partition.task.to_reader():
            yield spark_types.cast(batch, self._schema)


class LancePartition(InputPartition):
    """One part of the scan; None of a scan without rows."""

    def __init__(self, task: ScanTask | None) -> None:
        super().__init__(None)
        self.task = task


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


class _ReadOptions:
    """What `spark.read.option` may say; Spark gives some names in lower case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        found = _checked(options, _READ_OPTIONS)
        self._path = _path(found)
        version = found.get("version")
        self._time_travel: dict[str, Any] = {
            "version": None if version is None else _number("version", version),
            "tag": found.get("tag"),
            "branch": found.get("branch"),
            "as_of": found.get("asof"),
        }
        self._columns = found.get("columns")
        self.filter = found.get("filter")
        self._with_system_columns = _flag("systemColumns", found.get("systemcolumns", "false"))
        self.partitions = _number("partitions", found.get("partitions", "0"))
        self._storage_options = _storage_options(options)

    def open(self) -> Dataset:
        return lance_sql.dataset.open(self._path, storage_options=self._storage_options, **self._time_travel)

    def names(self, dataset: Dataset) -> list[str]:
        """The columns that are asked for."""
        names: list[str] = dataset.schema.names
        if self._columns is not None:
            names = _names(self._columns)
        if self._with_system_columns:
            names = [*names, *(name for name in dataset.system_columns if name not in names)]
        return names


def _begin(options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> _Begun:
    found = _checked(options, _WRITE_OPTIONS)
    path, storage_options, branch = _path(found), _storage_options(options), found.get("branch")
    rows = spark_types.arrow_schema(schema)
    mode: Mode = "overwrite"
    if not overwrite:
        try:
            table = lance_sql.dataset.open(path, branch=branch, storage_options=storage_options)
        except TableNotFound:
            # appending is what Spark has for a table that does not exist yet
            mode = "create"
        else:
            mode, rows = "append", _narrowed(rows, table.schema)
    arguments: dict[str, Any] = {"file_version": found.get("fileversion")}
    if "stablerowids" in found:
        arguments["stable_row_ids"] = _flag("stableRowIds", found["stablerowids"])
    if "maxrowsperfile" in found:
        arguments["max_rows_per_file"] = _number("maxRowsPerFile", found["maxrowsperfile"])
    job = writing.begin_write(path, rows, mode=mode, branch=branch, storage_options=storage_options, **arguments)
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


def _checked(options: Mapping[str, str], known: Sequence[str]) -> dict[str, str]:
    """The options by their names in lower case.

    raises: InvalidArgument for one that is not known
    """
    found = {name.lower(): value for name, value in options.items() if not name.lower().startswith(_STORAGE)}
    for name in found:
        if name not in known:
            raise InvalidArgument(f"The format lance has no option {name!r} here. Options: {', '.join(known)}")
    return found


def _path(found: Mapping[str, str]) -> str:
    if "path" not in found:
        raise InvalidArgument("Say where the table is: load(path) or save(path)")
    # Spark's catalog says file:/x where a URI is file:///x
    path = found["path"]
    return path.removeprefix("file:") if path.startswith("file:/") and not path.startswith("file://") else path


def _storage_options(options: Mapping[str, str]) -> dict[str, str] | None:
    found = {name[len(_STORAGE) :]: value for name, value in options.items() if name.lower().startswith(_STORAGE)}
    return found or None


def _names(text: str) -> list[str]:
    """The columns of the option: a JSON array, for names that have commas, or names with commas between them."""
    if not text.lstrip().startswith("["):
        return [name.strip() for name in text.split(",")]
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"The option columns={text!r} is not a JSON array of names")
    return names


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"The option {name}={text!r} is not a whole number") from None


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidArgument(f"The option {name}={text!r} is neither true nor false")
    return text.lower() == "true"
