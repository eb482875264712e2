"""JSON text of users in the form in which a table returns it: equal documents have equal texts then."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import LanceError
from lance_sql.format.schema import Field, jsonb
from lance_sql.format.schema.from_arrow import from_arrow, logical_type, storage
from lance_sql.format.schema.types import is_json
from lance_sql.values import kinds


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


def json_field(arrow: pa.Field) -> Field | None:
    """Returns the field of a column of users that has JSON, itself or inside; None for others."""
    if not _declares_json(arrow):
        return None
    try:
        (field,) = from_arrow(pa.schema([arrow.with_name("item")])).fields
    except LanceError:
        return None
    return field


def _declares_json(arrow: pa.Field) -> bool:
    type, _ = storage(arrow)
    inner = (type.field(number) for number in range(type.num_fields))
    return logical_type(arrow) == "json" or any(map(_declares_json, inner))


def text_as_returned(text: str) -> str:
    """Returns a document as a table returns it; text that is not JSON is returned unchanged."""
    try:
        returned: str = jsonb.to_text(jsonb.from_text(pa.array([text])))[0].as_py()
    except jsonb.InvalidJson:
        return text
    return returned


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
    if kinds.is_list(type):
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
