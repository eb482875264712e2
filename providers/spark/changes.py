"""Changes of a table as a Spark source: a batch read of the change feed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from . import types as spark_types
from .change_options import ChangesOptions
from .partitions import LancePartition, partition_count

BIGINTS: Final = frozenset({"_commit_version"})
"""Columns of the feed that are bigint in Spark, besides system columns: Delta's users expect it."""

_CHANGE_TYPE: Final = "_change_type"
_AS_DELETES_AND_INSERTS: Final = {"update_preimage": "delete", "update_postimage": "insert"}


class LanceChangesReader(DataSourceReader):
    """Reads changes of a table.

    schema: the requested columns, in Spark's types
    """

    def __init__(self, options: ChangesOptions, schema: StructType) -> None:
        self._schema = spark_types.arrow_schema(schema)
        self._feed = options.open_feed()
        self._filter = options.filter
        self._partitions = options.partitions
        self._computes_updates = options.computes_updates

    def partitions(self) -> Sequence[InputPartition]:
        scan = self._feed.scan(self._schema.names, self._filter)
        rows = sum(task.num_candidates for task in scan.tasks(1))
        return [LancePartition(task) for task in scan.tasks(self._partitions or partition_count(rows))] or [
            LancePartition(None)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LancePartition)
        for batch in partition.batches():
            if not self._computes_updates:
                batch = without_updates(batch)
            yield spark_types.cast(batch, self._schema)


def schema(options: ChangesOptions) -> StructType:
    """Returns the columns of the requested changes, in Spark's types."""
    feed = options.open_empty_feed()
    return spark_types.spark_schema(feed.scan(options.names(feed), options.filter).schema, bigints=BIGINTS)


def without_updates(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replaces images of updates by deletes and inserts."""
    index = batch.schema.get_field_index(_CHANGE_TYPE)
    if index < 0:
        return batch
    kinds = batch.column(index)
    for kind, name in _AS_DELETES_AND_INSERTS.items():
        kinds = pc.if_else(pc.equal(kinds, kind), name, kinds)
    return batch.set_column(index, batch.schema.field(index), kinds)
