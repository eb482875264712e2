"""Conversion of users' values for files: the Arrow types that a field accepts, and the conversion of its values.

This is the rule of one file, for its writer; `table` first matches rows to the columns of a table.

Conversions lose nothing: views and large strings become the field's kind of string, dictionaries of a plain column are
decoded, extension types become their storage, JSON text becomes its binary form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument
from lance_sql.format.schema import Field, Schema, jsonb, storage_type
from lance_sql.format.schema.from_arrow import logical_type, storage
from lance_sql.format.schema.types import is_json, plain_type
from lance_sql.values import kinds

_STRINGS = ("string", "large_string")
_BYTES = ("binary", "large_binary")


def check_batch(schema: Schema, batch: pa.Schema) -> None:
    """Makes sure that the columns of a batch match the schema, in order.

    raises: InvalidArgument with the difference
    """
    if list(schema.names) != batch.names:
        expected, given = set(schema.names), set(batch.names)
        missing = [name for name in schema.names if name not in given]
        unknown = [name for name in batch.names if name not in expected]
        parts = [f"{', '.join(map(repr, missing))} missing"] * bool(missing)
        parts += [f"{', '.join(map(repr, unknown))} not in the table"] * bool(unknown)
        raise InvalidArgument(f"The columns differ: {'; '.join(parts) or 'another order, or a repeated name'}")
    for field, arrow, type in zip(schema.fields, batch, batch.types, strict=True):
        plain = plain_type(field)
        if plain is None or type != plain:
            _check_type(field, arrow, field.name)


def _check_type(field: Field, arrow: pa.Field, path: str) -> None:
    type, _ = storage(arrow)
    if not _fits(field, arrow, type):
        expected = "JSON text" if is_json(field) else storage_type(field)
        raise InvalidArgument(f"Column {path!r} is {expected}, not {arrow.type}: cast it")
    if field.is_blob_v1 or field.is_blob_v2:
        return
    if field.logical_type == "struct":
        names, given = [child.name for child in field.children], [part.name for part in type]
        if names != given:
            raise InvalidArgument(f"Column {path!r} is a struct of {', '.join(names)}, not of {', '.join(given)}")
        for child, part in zip(field.children, type, strict=True):
            _check_type(child, part, f"{path}.{child.name}")
    elif field.logical_type == "map":
        key, value = field.children[0].children
        _check_type(key, type.key_field, f"{path}.{key.name}")
        _check_type(value, type.item_field, f"{path}.{value.name}")
    elif field.children:
        _check_type(field.children[0], type.value_field, f"{path}.{field.children[0].name}")


def _fits(field: Field, arrow: pa.Field, type: pa.DataType) -> bool:
    """Whether values of the type can be converted to the field's, apart from those of its children."""
    kind = field.logical_type
    if field.is_blob_v1 or field.is_blob_v2:
        return logical_type(arrow) in _BYTES
    if is_json(field):
        return logical_type(arrow) in (*_STRINGS, "json", "large_binary")
    if kind == "struct":
        return bool(pa.types.is_struct(type))
    if kind == "map":
        return bool(pa.types.is_map(type))
    if field.is_list:
        return kinds.is_list(type)
    if field.children:
        return bool(pa.types.is_fixed_size_list(type) and type.list_size == storage_type(field).list_size)
    if pa.types.is_dictionary(type) and not kind.startswith("dict:"):
        type = type.value_type
    given = logical_type(arrow.with_type(type))
    return (
        given == kind
        or any(given in family and kind in family for family in (_STRINGS, _BYTES))
        # the extension of the items may have been lost before
        or (kind.startswith("fixed_size_list:lance.bfloat16:") and type.equals(storage_type(field)))
    )


def stored_values(field: Field, values: pa.Array, row: Callable[[int], int]) -> pa.Array:
    """Converts the values of a leaf to the form of its file.

    values: of a type that the field accepts
    row: maps a position to the row of the value, for messages
    raises: InvalidArgument for text that is not JSON, with its row, and for strings too long for their offsets
    """
    if field.is_blob_v1 or field.is_blob_v2:
        return values.cast(pa.large_binary())
    if is_json(field):
        return _json(field, values, row)
    expected = storage_type(field)
    if pa.types.is_dictionary(expected):
        return _dictionary(values, expected)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values.type.equals(expected):
        return values
    if pa.types.is_fixed_size_list(expected) or pa.types.is_struct(expected):
        return _without_extensions(values, expected)
    try:
        return values.cast(expected)
    except pa.ArrowInvalid as error:
        raise InvalidArgument(f"Column {field.name!r}: a batch cannot become {expected}: {error}") from None


def _json(field: Field, values: pa.Array, row: Callable[[int], int]) -> pa.Array:
    if kinds.is_bytes(values.type):
        try:
            jsonb.to_text(values)
        except CorruptFile as error:
            raise InvalidArgument(f"Column {field.name!r} holds stored JSON that is damaged: {error}") from error
        return values.cast(pa.large_binary())
    try:
        return jsonb.from_text(values)
    except jsonb.InvalidJson as error:
        message = f"Column {field.name!r} holds text that is not JSON in row {row(error.index)}: {error.reason}"
        raise InvalidArgument(message) from None


def _dictionary(values: pa.Array, expected: pa.DictionaryType) -> pa.Array:
    """Converts the values to a dictionary of the expected type. Does not preserve the order of items, and leaves out
    unused items if there are many."""
    items, indices = values.dictionary, values.indices
    if len(items) > len(indices):
        keys = indices.fill_null(0).to_numpy()
        used, positions = np.unique(keys, return_inverse=True)
        items = items.take(pa.array(used)) if len(keys) else items.slice(0, 0)
        indices = pa.array(positions, indices.type, mask=indices.is_null().to_numpy(zero_copy_only=False))
    if items.type != expected.value_type:
        items = items.cast(expected.value_type)
    return pa.DictionaryArray.from_arrays(indices, items, ordered=expected.ordered)


def _without_extensions(values: pa.Array, expected: pa.DataType) -> pa.Array:
    """Returns the buffers of the values with the storage types of nested types."""
    while isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    if pa.types.is_fixed_size_list(expected):
        children = [_without_extensions(values.values, expected.value_type)]
    elif pa.types.is_struct(expected):
        # the children of a slice are already sliced
        children = [_without_extensions(values.field(i), part.type) for i, part in enumerate(expected)]
        return _struct(values, children, expected)
    elif values.type == expected:
        return values
    else:
        return values.cast(expected)
    buffers = values.buffers()[:1]
    return pa.Array.from_buffers(expected, len(values), buffers, values.null_count, values.offset, children)


def _struct(values: pa.StructArray, children: list[pa.Array], expected: pa.StructType) -> pa.Array:
    mask = values.is_null() if values.null_count else None
    if not children:
        return values.cast(expected)
    return pa.StructArray.from_arrays(children, fields=list(expected), mask=mask)
