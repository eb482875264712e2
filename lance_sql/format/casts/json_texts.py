"""JSON text of users in the form in which a table returns it: equal documents have equal texts then."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.schema import Field, jsonb
from lance_sql.format.schema.types import is_json


def has_json(field: Field) -> bool:
    """Whether a column has JSON, itself or inside."""
    return is_json(field) or any(map(has_json, field.children))


def as_returned(field: Field, values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Returns values of a column with texts as the table returns them, in the same types. Without any change, if one
    of them is not JSON: writing it raises the error."""
    if not has_json(field):
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_converted(field, chunk) for chunk in values.chunks], values.type)
    return _converted(field, values)


def _converted(field: Field, values: pa.Array) -> pa.Array:
    type = values.type
    if is_json(field):
        try:
            return jsonb.to_text(jsonb.from_text(values)).cast(type)
        except jsonb.InvalidJson:
            return values
    if pa.types.is_struct(type):
        return _around(
            values, [as_returned(child, values.field(number)) for number, child in enumerate(field.children)]
        )
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return _around(values, [as_returned(field.children[0], values.values)])
    # maps and fixed-size lists keep the texts that are given
    return values


def _around(values: pa.Array, children: list[pa.Array]) -> pa.Array:
    """Returns a struct or list with other children."""
    if pa.types.is_struct(values.type):
        # the children of a slice are sliced
        return pa.StructArray.from_arrays(children, fields=list(values.type), mask=values.is_null())
    buffers = values.buffers()[:2]
    return pa.Array.from_buffers(values.type, len(values), buffers, values.null_count, values.offset, children)
