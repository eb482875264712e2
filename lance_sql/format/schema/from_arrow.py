"""Conversion of Arrow schemas to fields with ids and logical types: the inverse of `types`.

    json text, extension arrow.json           "json", extension lance.json
    large_binary, lance-encoding:blob         a struct with the extension lance.blob.v2 (file version 2.2)
    string_view, binary_view                  "string", "binary"
    fixed_size_list<bfloat16>[8]              "fixed_size_list:lance.bfloat16:8"

Extension types become their storage, with their name and parameters in the metadata of the field.

Source: Field.logical_type; table format, logical types and extension types.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from lance_sql.errors import InvalidArgument, LanceError, UnsupportedFeature
from lance_sql.format import file_versions
from lance_sql.format.schema.extension_parameters import extension_parameters
from lance_sql.format.schema.field import EXTENSION_NAME, Field
from lance_sql.format.schema.fields import MAX_DEPTH, Schema
from lance_sql.format.schema.types import leaf_type
from lance_sql.values import kinds, names

EXTENSION_METADATA = "ARROW:extension:metadata"
BLOB_KEY = "lance-encoding:blob"

STORED_EXTENSIONS = ("arrow.json", "lance.json", "lance.bfloat16", "lance.blob.v2")
"""Extension types with a form of their own in data files."""

_RESERVED = ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
_JSON = (b"arrow.json", b"lance.json")
_BFLOAT16 = b"lance.bfloat16"
_BLOB_V2 = b"lance.blob.v2"
_COLONS_OF_DICTIONARY = 3

_PLAIN: Mapping[pa.DataType, str] = {
    pa.null(): "null",
    pa.bool_(): "bool",
    pa.int8(): "int8",
    pa.int16(): "int16",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.uint8(): "uint8",
    pa.uint16(): "uint16",
    pa.uint32(): "uint32",
    pa.uint64(): "uint64",
    pa.float16(): "halffloat",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.string_view(): "string",
    pa.large_string(): "large_string",
    pa.binary(): "binary",
    pa.binary_view(): "binary",
    pa.large_binary(): "large_binary",
    pa.date32(): "date32:day",
    pa.date64(): "date64:ms",
    pa.time32("s"): "time32:s",
    pa.time32("ms"): "time32:ms",
    pa.time64("us"): "time64:us",
    pa.time64("ns"): "time64:ns",
    pa.duration("s"): "duration:s",
    pa.duration("ms"): "duration:ms",
    pa.duration("us"): "duration:us",
    pa.duration("ns"): "duration:ns",
}


def from_arrow(schema: pa.Schema, *, file_version: str = file_versions.DEFAULT.name) -> Schema:
    """Returns the schema of a new table with these columns; ids count from 0, a field before its children.

    file_version: of the data files; determines the kind of blob columns
    raises: InvalidArgument for names that are empty, reserved, dotted, or equal up to case; UnsupportedFeature for
        types without a logical type, by name, and for more than 64 levels; InvalidArgument for blobs of other types
        than bytes
    """
    metadata = {key.decode(): value for key, value in (schema.metadata or {}).items()}
    return extend(Schema((), metadata), schema, 0, file_version=file_version)


def of_index_file(schema: pa.Schema) -> Schema:
    """Returns the schema of an index file, whose columns may have any names.

    raises: UnsupportedFeature for types without a logical type
    """
    ids = itertools.count()
    return Schema(tuple(_field(field, ids, -1, (), blob_v2=False) for field in schema))


def extend(
    schema: Schema, fields: Iterable[pa.Field], first_id: int, *, file_version: str = file_versions.DEFAULT.name
) -> Schema:
    """Appends columns to the schema, whose ids count from `first_id`.

    raises: as `from_arrow`
    """
    ids = itertools.count(first_id)
    version = file_versions.by_name(file_version)
    blob_v2 = version is not None and version.columns.blob_v2
    added = tuple(_field(field, ids, -1, (), blob_v2=blob_v2) for field in fields)
    check_top_names(added)
    check_names([*schema.fields, *added])
    return Schema((*schema.fields, *added), schema.metadata)


def check_top_names(fields: Iterable[Field]) -> None:
    """Makes sure that a table may have columns with these names.

    raises: InvalidArgument for names of system columns, and for names with a dot
    """
    for field in fields:
        if field.name.lower() in _RESERVED:
            raise InvalidArgument(
                f"The column name {field.name!r} is reserved: leave the column out, as lance_table(...) and "
                "Dataset.scan() without names do, or rename it"
            )
        if "." in field.name:
            raise InvalidArgument(
                f"The column name {field.name!r} contains a dot, which separates members of structs: rename it"
            )


def storage(arrow: pa.Field) -> tuple[pa.DataType, dict[str, bytes]]:
    """Returns the type under extension types, and the metadata of the field with the extension's name and
    parameters."""
    metadata = {key.decode(): value for key, value in (arrow.metadata or {}).items()}
    type = arrow.type
    while isinstance(type, pa.BaseExtensionType):
        metadata.setdefault(EXTENSION_NAME, type.extension_name.encode())
        metadata.setdefault(EXTENSION_METADATA, extension_parameters(type))
        type = type.storage_type
    return type, metadata


def logical_type(arrow: pa.Field) -> str | None:
    """Returns the logical type of a field without children, or None if there is none."""
    type, metadata = storage(arrow)
    if metadata.get(EXTENSION_NAME) in _JSON and _is_bytes(type):
        return "json"
    try:
        return _leaf(type)
    except UnsupportedFeature:
        return None


def _field(arrow: pa.Field, ids: Iterator[int], parent: int, path: tuple[str, ...], *, blob_v2: bool) -> Field:
    if len(path) >= MAX_DEPTH:
        raise UnsupportedFeature(f"Column {path[0]!r} is nested more than {MAX_DEPTH} levels deep")
    # extension types defined in Python are not hashable
    is_bare = not arrow.metadata and not isinstance(arrow.type, pa.BaseExtensionType)
    plain = _PLAIN.get(arrow.type) if is_bare else None
    if plain is not None:
        return Field(arrow.name, next(ids), parent, plain, arrow.nullable)
    path = (*path, arrow.name)
    type, metadata = storage(arrow)
    id = next(ids)
    if _is_variant(type, metadata):
        raise UnsupportedFeature(
            f"Column {'.'.join(path)!r}: VARIANT is not supported: convert it to JSON text (CAST(v AS JSON) in DuckDB,"
            " to_json(v) in Spark)"
        )
    if metadata.get(EXTENSION_NAME) in _JSON and _is_bytes(type):
        return Field(arrow.name, id, parent, "json", arrow.nullable, (), {**metadata, EXTENSION_NAME: b"lance.json"})
    if metadata.get(EXTENSION_NAME) == _BLOB_V2 and not pa.types.is_struct(type):
        metadata = {**metadata, BLOB_KEY: b"true"}
    if BLOB_KEY in metadata and type in (pa.binary(), pa.large_binary()):
        if not blob_v2:
            return Field(arrow.name, id, parent, "large_binary", arrow.nullable, (), metadata)
        metadata = {key: value for key, value in metadata.items() if key != BLOB_KEY} | {EXTENSION_NAME: _BLOB_V2}
        parts: list[pa.Field] = [pa.field("data", pa.large_binary()), pa.field("uri", pa.string())]
        kind = "struct"
    elif BLOB_KEY in metadata:
        raise InvalidArgument(
            f"Column {'.'.join(path)!r} has {BLOB_KEY!r} in its metadata, and {type} cannot be a blob: remove it, or"
            " cast the column to large_binary"
        )
    else:
        kind, parts = _kind(type, path)
    children = tuple(_field(part, ids, id, path, blob_v2=blob_v2) for part in parts)
    check_names(children, path)
    if kind == "map" and (children[0].nullable or children[0].children[0].nullable):
        raise UnsupportedFeature(f"Column {'.'.join(path)!r}: a map with nullable keys is not supported")
    return Field(arrow.name, id, parent, kind, arrow.nullable, children, metadata)


def _kind(type: pa.DataType, path: tuple[str, ...]) -> tuple[str, list[pa.Field]]:
    """Returns the logical type, and the fields below it."""
    if pa.types.is_struct(type):
        return "struct", [type.field(i) for i in range(type.num_fields)]
    if kinds.is_list(type):
        name = "list" if pa.types.is_list(type) else "large_list"
        item, _ = storage(type.value_field)
        return (f"{name}.struct" if pa.types.is_struct(item) else name), [_item(type)]
    if pa.types.is_map(type):
        entries = pa.struct([type.key_field, type.item_field])
        return "map", [pa.field("entries", entries, nullable=False)]
    if pa.types.is_fixed_size_list(type) and pa.types.is_struct(storage(type.value_field)[0]):
        return f"fixed_size_list:struct:{type.list_size}", [_item(type)]
    try:
        kind = _leaf(type)
        leaf_type(kind)
        if kind.startswith("dict:") and kind.count(":") > _COLONS_OF_DICTIONARY:
            # the name of the item type contains colons, and other readers split it at the first one
            raise UnsupportedFeature(f"the type {type} is not supported")
    except LanceError:
        raise UnsupportedFeature(
            f"Column {'.'.join(path)!r}: the type {type} has no logical type: cast it first"
        ) from None
    return kind, []


def _is_variant(type: pa.DataType, metadata: Mapping[str, bytes]) -> bool:
    """Whether values are VARIANT: those of Parquet and DuckDB are an extension type, those of Spark have a mark."""
    if metadata.get(EXTENSION_NAME) == b"arrow.parquet.variant":
        return True
    members = list(type) if pa.types.is_struct(type) else []
    return any((member.metadata or {}).get(b"variant") == b"true" for member in members)


def _item(type: pa.DataType) -> pa.Field:
    """Returns the field of the items of a list, with Arrow's name for them if it has none, as in DuckDB."""
    field = type.value_field
    return field if field.name else field.with_name("item")


def _leaf(type: pa.DataType) -> str:
    plain = _PLAIN.get(type)
    if plain is not None:
        return plain
    if pa.types.is_timestamp(type):
        return f"timestamp:{type.unit}:{type.tz or '-'}"
    if pa.types.is_decimal128(type) or pa.types.is_decimal256(type):
        return f"decimal:{type.bit_width}:{type.precision}:{type.scale}"
    if pa.types.is_fixed_size_binary(type):
        return f"fixed_size_binary:{type.byte_width}"
    if pa.types.is_dictionary(type):
        value = _leaf(type.value_type)
        if value.startswith("dict:"):
            raise UnsupportedFeature(f"the type {type} is not supported")
        return f"dict:{value}:{_leaf(type.index_type)}:false"
    if pa.types.is_fixed_size_list(type):
        item, metadata = storage(type.value_field)
        if metadata.get(EXTENSION_NAME) == _BFLOAT16 and item == pa.binary(2):
            return f"fixed_size_list:lance.bfloat16:{type.list_size}"
        value = _leaf(item)
        if _is_bytes(item):
            raise UnsupportedFeature(f"the type {type} is not supported")
        return f"fixed_size_list:{value}:{type.list_size}"
    raise UnsupportedFeature(f"the type {type} is not supported")


def _is_bytes(type: pa.DataType) -> bool:
    """Whether values are strings or bytes of any length."""
    return _PLAIN.get(type) in ("string", "large_string", "binary", "large_binary")


def check_names(siblings: Iterable[Field], path: tuple[str, ...] = ()) -> None:
    """Makes sure that sibling fields have distinct names.

    path: the names around them, for messages
    raises: InvalidArgument for empty names, names with NUL, and names that are equal up to case
    """
    where = f" in {'.'.join(path)!r}" if path else ""
    seen: dict[str, str] = {}
    for field in siblings:
        if not field.name:
            raise InvalidArgument(f"A column{where} has no name")
        names.check(field.name, "column")
        folded = field.name.lower()
        if folded in seen:
            how = "have the same name" if seen[folded] == field.name else "differ only in case"
            raise InvalidArgument(f"The columns {seen[folded]!r} and {field.name!r}{where} {how}")
        seen[folded] = field.name
