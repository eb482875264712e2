"""Selection of rows of Arrow data.

Arrow 26 takes and filters wrong rows of an array that is a slice of fixed-size lists whose items are fixed-size lists
too. Such slices are copied first here.
"""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def empty(schema: pa.Schema) -> pa.Table:
    """Returns a table without rows. Arrow's own supports no nested extension types and few kinds of dictionaries."""
    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def take(rows: Rows, indices: pa.Array) -> Rows:
    """Returns the rows at these positions, in this order."""
    return _unsliced(rows).take(indices)


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Returns a column in one piece."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.nulls(0, column.type)])


def filter(rows: Rows, mask: pa.BooleanArray) -> Rows:
    """Returns the rows where the mask is true."""
    return _unsliced(rows).filter(mask)


def filter_array(array: pa.Array, mask: pa.BooleanArray) -> pa.Array:
    """Returns the values where the mask is true."""
    return unsliced(array).filter(mask)


def unsliced(array: pa.Array) -> pa.Array:
    """Returns the array, copied if Arrow would select wrong values of it."""
    if array.offset == 0 or not _is_doubly_fixed(array.type):
        return array
    return pa.concat_arrays([array.slice(0, 0), array])


def _unsliced(rows: Rows) -> Rows:
    nested = [type for type in rows.schema.types if type.num_fields]
    if not any(map(_is_doubly_fixed, nested)):
        return rows
    columns = []
    for column in rows.columns:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        whole = [unsliced(chunk) for chunk in chunks]
        columns.append(pa.chunked_array(whole, column.type) if isinstance(column, pa.ChunkedArray) else whole[0])
    result: Rows = type(rows).from_arrays(columns, schema=rows.schema)
    return result


def _is_doubly_fixed(type: pa.DataType) -> bool:
    return isinstance(type, pa.FixedSizeListType) and isinstance(type.value_type, pa.FixedSizeListType)


def matching(batch: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    """Returns the rows where the mask is true. Returns the batch itself, without a copy, if it is true for all."""
    if mask.true_count == len(mask):
        return batch
    return filter(batch, mask) if mask.true_count else batch.slice(0, 0)
