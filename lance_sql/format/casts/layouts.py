"""List views and run-end encoded arrays as plain lists and arrays: Lance has no types for them."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.casts.nested import convert_members
from lance_sql.values import kinds


def plain(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Returns equal rows in plain types.

    raises: pa.ArrowInvalid, from the reader, for views outside of their items
    """
    fields = [field.with_type(_plain_type(field.type)) for field in reader.schema]
    schema = pa.schema(fields, reader.schema.metadata)
    if schema.types == reader.schema.types:
        return reader
    return pa.RecordBatchReader.from_batches(schema, (_plain_batch(batch, schema) for batch in reader))


def _plain_type(type: pa.DataType) -> pa.DataType:
    """Returns the type itself if it has no list views and no run ends."""
    if isinstance(type, pa.BaseExtensionType):
        return type
    if pa.types.is_run_end_encoded(type):
        return _plain_type(type.value_type)
    fields = kinds.members(type)
    if not fields:
        return type
    members = [field.with_type(_plain_type(field.type)) for field in fields]
    if pa.types.is_list_view(type):
        return pa.list_(members[0])
    if pa.types.is_large_list_view(type):
        return pa.large_list(members[0])
    return type if members == fields else kinds.with_members(type, members)


def _plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [_plain(array, type) for array, type in zip(batch.columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _plain(array: pa.Array, type: pa.DataType) -> pa.Array:
    import pyarrow.compute as pc

    if array.type == type:
        return array
    if pa.types.is_run_end_encoded(array.type):
        return _plain(pc.run_end_decode(array), type)
    if kinds.kind(array.type).family is kinds.Family.LIST and not kinds.is_list(array.type):
        # Arrow reads outside of the items otherwise
        array.validate(full=True)
    return convert_members(array, type, _plain)
