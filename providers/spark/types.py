"""Tables in the types of Spark.

Spark has no unsigned integers, half floats, views and nanoseconds. Such columns get the next larger type. Casts in both
directions fail rather than lose a value. docs/types.md lists all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.format.casts.conversion import convert
from lance_sql.reads.scan import system_columns

from ..arrow import widened_field

_MAX_DIGITS: Final = 38
_WIDER: Final = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time64("us"),
    pa.time32("ms"): pa.time64("us"),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}


def _widen(field: pa.Field) -> pa.Field:
    return field.with_type(widen(field.type))


def widen(type: pa.DataType) -> pa.DataType:
    """Returns the Arrow type that Spark uses for values of a type.

    raises: UnsupportedFeature for decimals with more than 38 digits after the point
    """
    if isinstance(type, pa.BaseExtensionType):
        return widen(type.storage_type)
    if pa.types.is_decimal256(type):
        if type.scale > _MAX_DIGITS:
            raise UnsupportedFeature(f"Spark has no type for {type}: it allows {_MAX_DIGITS} digits")
        return pa.decimal128(min(type.precision, _MAX_DIGITS), type.scale)
    if pa.types.is_dictionary(type):
        return widen(type.value_type)
    return _WIDER.get(type, type)


def spark_schema(schema: pa.Schema, *, bigints: Collection[str] = ()) -> StructType:
    """Converts columns to Spark's types.

    bigints: columns of unsigned 64-bit integers that are small enough for a bigint, beside system columns
    raises: UnsupportedFeature, naming the column, for a type without a counterpart in Spark
    """
    fields = []
    as_bigint = {*system_columns.NAMES, *bigints}
    for field in schema:
        try:
            # ids and versions count from 0, and Spark's users expect a bigint
            type = pa.int64() if field.name in as_bigint else widened_field(field, _widen).type
            fields.append(pa.field(field.name, type, field.nullable))
        except UnsupportedFeature as error:
            error.column = field.name
            raise
    return from_arrow_schema(pa.schema(fields))


def as_spark(schema: StructType | pa.Schema) -> StructType:
    """Converts the columns that an engine passes to a source to Spark's types: Sail passes Arrow's types."""
    return from_arrow_schema(schema) if isinstance(schema, pa.Schema) else schema


def declared(schema: StructType) -> StructType | pa.Schema:
    """Converts the columns of a source to the types of its engine: Arrow's for Sail, because it gives Spark's types no
    time zone."""
    return arrow_schema(schema) if "pysail" in sys.modules else schema


def arrow_schema(schema: StructType) -> pa.Schema:
    """Returns the Arrow schema of batches that are exchanged with Spark."""
    return to_arrow_schema(schema, timezone="UTC")


def cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Casts the columns of a batch, by position, to the types of a schema.

    raises: InvalidArgument for a value that does not fit the type
    """
    arrays = []
    for array, field in zip(batch.columns, schema, strict=True):
        try:
            arrays.append(convert(array, field.type, exact=True))
        except pa.ArrowException as error:
            raise InvalidArgument(f"Column {field.name!r} does not fit {field.type}: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
