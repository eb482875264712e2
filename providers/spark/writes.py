"""Writes that Spark has begun: their options, and Spark's rows in the types of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.types import StructType

import lance_sql.opening
from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.jobs import writing
from lance_sql.jobs.write_job import WriteJob
from lance_sql.jobs.writing import Mode
from lance_sql.values.nullability import nullable

from . import options as spark_options
from . import types as spark_types
from .options import checked, flag, number, storage_options

_OPTIONS: Final = (
    "path",
    "branch",
    "fileversion",
    "stablerowids",
    "maxrowsperfile",
    "compression",
    "compressionlevel",
    "txnappid",
)
_BATCH: Final = ("txnversion", "mergeschema")
_STREAM: Final = ("checkpointlocation",)


@dataclass(frozen=True)
class Begun:
    """A write that has begun.

    schema: of the batches that the job accepts
    """

    job: WriteJob
    schema: pa.Schema

    def reader(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
        """Converts batches of Spark to the job's types.

        raises: InvalidArgument for values that do not fit, while it is read
        """
        cast = (spark_types.cast(batch, self.schema) for batch in batches)
        return pa.RecordBatchReader.from_batches(self.schema, cast)


def begin(options: Mapping[str, str], schema: StructType, *, overwrite: bool, is_stream: bool = False) -> Begun:
    """Begins a write, and raises errors as early as possible.

    raises: InvalidArgument for options, and for columns that do not fit the table; as `lance_sql.begin_write`
    """
    lowered = checked(options, (*_OPTIONS, *(_STREAM if is_stream else _BATCH)))
    path, storage, branch = spark_options.path(lowered), storage_options(options), lowered.get("branch")
    rows = spark_types.arrow_schema(schema)
    mode: Mode = "overwrite"
    try:
        table = lance_sql.opening.open(path, branch=branch, storage_options=storage)
    except TableNotFound:
        table = None
    if table is None:
        # Spark appends to a table that does not exist yet
        mode, rows = "overwrite" if overwrite else "create", _nullable(rows, ())
    elif overwrite:
        rows = _nullable(rows, [field.name for field in table.schema if not field.nullable])
    else:
        mode, rows = "append", _narrowed(rows, table.schema)
    arguments: dict[str, Any] = {"file_version": lowered.get("fileversion")}
    if "stablerowids" in lowered:
        arguments["stable_row_ids"] = flag("stableRowIds", lowered["stablerowids"])
    arguments["merge_schema"] = flag("mergeSchema", lowered.get("mergeschema", "false"))
    if "maxrowsperfile" in lowered:
        arguments["max_rows_per_file"] = number("maxRowsPerFile", lowered["maxrowsperfile"])
    if "compression" in lowered:
        arguments["compression"] = lowered["compression"].lower()
    if "compressionlevel" in lowered:
        arguments["compression_level"] = number("compressionLevel", lowered["compressionlevel"])
    if not is_stream and ("txnappid" in lowered or "txnversion" in lowered):
        if "txnappid" not in lowered or "txnversion" not in lowered:
            raise InvalidArgument(
                "Pass both options txnAppId (the application) and txnVersion (the number of its write)"
            )
        arguments["txn_app_id"] = lowered["txnappid"]
        arguments["txn_version"] = number("txnVersion", lowered["txnversion"])
    job = writing.begin_write(rows, path, mode=mode, branch=branch, storage_options=storage, **arguments)
    return Begun(job, rows)


def _nullable(rows: pa.Schema, never_null: Collection[str]) -> pa.Schema:
    """Makes Spark's columns nullable. A frame without NULLs, such as one that counts from 0, does not guarantee that
    later frames have none.

    never_null: columns of the table that stay not nullable
    """
    return pa.schema([nullable(field).with_nullable(field.nullable or field.name not in never_null) for field in rows])


def _narrowed(rows: pa.Schema, table: pa.Schema) -> pa.Schema:
    """Narrows columns of Spark to the table's types if they were only widened for Spark."""
    seen = spark_types.arrow_schema(spark_types.spark_schema(table))
    fields = []
    for field in rows:
        index = table.get_field_index(field.name)
        same = index >= 0 and seen.field(index).type == field.type
        fields.append(field.with_type(table.field(index).type) if same else field)
    return pa.schema(fields)
