"""Logical type strings and their Arrow types.

    "int32"                          int32
    "timestamp:us:+05:30"            timestamp[us, tz=+05:30]
    "fixed_size_list:float:8"        fixed_size_list<float>[8]
    "dict:string:int16:false"        dictionary<int16, string>

A field has two Arrow types: the storage type that decoding returns, and the one for users. They differ
for JSON, which is stored in a binary form and returned as text.

Source: Field.logical_type; table format, logical types and extension types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.schema.field import LISTS, Field

PLAIN: Final[Mapping[str, pa.DataType]] = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "halffloat": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "json": pa.large_binary(),
    "date32:day": pa.date32(),
    "date64:ms": pa.date64(),
    "time32:s": pa.time32("s"),
    "time32:ms": pa.time32("ms"),
    "time64:us": pa.time64("us"),
    "time64:ns": pa.time64("ns"),
    "duration:s": pa.duration("s"),
    "duration:ms": pa.duration("ms"),
    "duration:us": pa.duration("us"),
    "duration:ns": pa.duration("ns"),
}

_SHOWN: Final = {name: data_type for name, data_type in PLAIN.items() if name != "json"}
"""The plain types whose stored values users see unchanged."""

_FIXED_SIZE_LIST = "fixed_size_list:"
_BFLOAT16 = "lance.bfloat16"
_MAX_INT32 = 2**31 - 1
# Enough for any real type, and a limit for the work that a hostile string can cause.
_MAX_TYPE_LENGTH = 1024
_MAX_LIST_LEVELS = 16


def plain_type(field: Field) -> pa.DataType | None:
    """Returns the type of a field without metadata whose values users see as stored, or None for others."""
    return None if field.metadata else _SHOWN.get(field.logical_type)


def storage_type(field: Field) -> pa.DataType:
    """Returns the type that decoding this field produces.

    JSON and blobs, of either version, are large_binary.
    """
    return _data_type(field, _storage_field, _stored)


def arrow_fields(fields: Iterable[Field]) -> list[pa.Field]:
    """Returns fields in the form for users; see `arrow_field`."""
    # inlined for tables with thousands of plain columns
    shown, make = _SHOWN.get, pa.field
    return [
        arrow_field(field)
        if (plain := shown(field.logical_type)) is None or field.metadata
        else make(field.name, plain, field.nullable)
        for field in fields
    ]


def arrow_field(field: Field) -> pa.Field:
    """Returns the field for users: JSON is text, blobs are bytes, and other extensions are storage with metadata."""
    plain = plain_type(field)
    if plain is not None:
        return pa.field(field.name, plain, field.nullable)
    metadata = field.metadata
    if is_json(field) or field.is_blob_v2:
        # The values no longer have the extension type.
        metadata = {key: value for key, value in metadata.items() if not key.startswith("ARROW:extension:")}
    return _shown(field, arrow_field, metadata)


def declared_field(field: Field) -> pa.Field:
    """Returns the field in the form that declares an equal one for a new table: as for users, but JSON and blobs have
    the names of their extension types."""
    metadata = {**field.metadata, "ARROW:extension:name": b"lance.json"} if is_json(field) else field.metadata
    return _shown(field, declared_field, metadata)


def _shown(field: Field, child: Callable[[Field], pa.Field], metadata: Mapping[str, bytes]) -> pa.Field:
    data_type = _data_type(field, child, lambda leaf: pa.string() if is_json(leaf) else _stored(leaf))
    return pa.field(field.name, data_type, field.may_be_null, metadata=dict(metadata) or None)


def is_json(field: Field) -> bool:
    """Whether the stored values are JSONB, see `jsonb`."""
    return field.logical_type == "json" or (
        field.extension_name == "lance.json" and field.logical_type in ("binary", "large_binary")
    )


def check(field: Field) -> None:
    """Makes sure that a field with valid children has a type.

    raises: CorruptFile, UnsupportedFeature
    """
    kind = field.logical_type
    count = len(field.children)
    if kind in LISTS or _is_list_of_structs(kind):
        if count != 1:
            raise CorruptFile(f"a {kind} has one child, not {count}")
        if _is_list_of_structs(kind):
            list_size(kind)
            if field.children[0].logical_type != "struct":
                raise CorruptFile(f"the child of a {kind} is a {field.children[0].logical_type}")
    elif kind == "map":
        entries = field.children[0] if count == 1 else None
        if entries is None or entries.logical_type != "struct" or len(entries.children) != 2:
            raise CorruptFile("a map has one child, a struct of key and value")
    elif kind != "struct":
        leaf_type(kind)
        if count:
            raise CorruptFile(f"a {kind} has no children, but {field.children[0].name!r} is one")


def list_size(logical_type: str) -> int:
    """Returns the number of items of a "fixed_size_list:T:N".

    raises: CorruptFile
    """
    size = logical_type.rpartition(":")[2]
    return _integer(size, 1, _MAX_INT32, logical_type)


@lru_cache(maxsize=4096)
def leaf_type(logical_type: str) -> pa.DataType:
    """Returns the storage type of a logical type without children.

    raises: UnsupportedFeature for an unknown type, CorruptFile for a malformed one
    """
    plain = PLAIN.get(logical_type)
    if plain is not None:
        return plain
    if len(logical_type) > _MAX_TYPE_LENGTH:
        raise CorruptFile(f"a logical type of {len(logical_type)} characters: {logical_type[:60]!r}...")
    if logical_type.startswith(_FIXED_SIZE_LIST):
        return _fixed_size_list(logical_type)
    if logical_type.startswith("dict:"):
        return _dictionary(logical_type)
    if logical_type.startswith("timestamp:"):
        return _timestamp(logical_type)
    if match := re.fullmatch(r"decimal:(128|256):([^:]*):([^:]*)", logical_type):
        bits, precision, scale = match.groups()
        digits = _integer(precision, 1, 38 if bits == "128" else 76, logical_type)
        fraction_digits = _integer(scale, -76, 76, logical_type)
        return pa.decimal128(digits, fraction_digits) if bits == "128" else pa.decimal256(digits, fraction_digits)
    if match := re.fullmatch(r"fixed_size_binary:([^:]*)", logical_type):
        return pa.binary(_integer(match[1], 0, _MAX_INT32, logical_type))
    raise UnsupportedFeature(f"the logical type {logical_type!r} is not supported by this release")


def _data_type(field: Field, child: Callable[[Field], pa.Field], leaf: Callable[[Field], pa.DataType]) -> pa.DataType:
    """Returns the type of a field, given the types of its children and leaves. Its depth is already limited."""
    kind = field.logical_type
    if field.is_blob_v1 or field.is_blob_v2:
        return pa.large_binary()
    if kind == "struct":
        return pa.struct([child(part) for part in field.children])
    if kind in LISTS:
        item = child(field.children[0])
        return pa.large_list(item) if kind.startswith("large") else pa.list_(item)
    if kind == "map":
        key, value = (child(part) for part in field.children[0].children)
        return pa.map_(key.with_nullable(False), value)
    if _is_list_of_structs(kind):
        return pa.list_(child(field.children[0]), list_size(kind))
    return leaf(field)


def _storage_field(field: Field) -> pa.Field:
    return pa.field(field.name, storage_type(field), field.may_be_null)


def _stored(leaf: Field) -> pa.DataType:
    return leaf_type(leaf.logical_type)


def _is_list_of_structs(logical_type: str) -> bool:
    return logical_type.startswith("fixed_size_list:struct:") and logical_type.count(":") == 2


def _fixed_size_list(logical_type: str) -> pa.DataType:
    """Parses a nested list, whose outer size comes last: "fixed_size_list:fixed_size_list:float:2:3" is three by
    two."""
    sizes: list[int] = []
    item = logical_type
    num_values = 1
    while item.startswith(_FIXED_SIZE_LIST):
        item, _, last = item.removeprefix(_FIXED_SIZE_LIST).rpartition(":")
        sizes.append(_integer(last, 1, _MAX_INT32, logical_type))
        num_values *= sizes[-1]
        if len(sizes) > _MAX_LIST_LEVELS or num_values > _MAX_INT32:
            raise CorruptFile(f"the logical type {logical_type!r} has too many items")
    if item.startswith("dict:") or item in ("json", "null"):
        raise UnsupportedFeature(f"the logical type {logical_type!r} is not supported by this release")
    if item == _BFLOAT16:
        extension = {"ARROW:extension:name": _BFLOAT16, "ARROW:extension:metadata": ""}
        data_type = pa.list_(pa.field("item", pa.binary(2), metadata=extension), sizes.pop())
    else:
        data_type = leaf_type(item)
    while sizes:
        data_type = pa.list_(pa.field("item", data_type), sizes.pop())
    return data_type


def _dictionary(logical_type: str) -> pa.DataType:
    value, _, rest = logical_type.removeprefix("dict:").rpartition(":")
    value, _, index = value.rpartition(":")
    if rest not in ("true", "false") or not value:
        raise CorruptFile(f"malformed logical type {logical_type!r}")
    if value.startswith((_FIXED_SIZE_LIST, "dict:")):
        raise UnsupportedFeature(f"the logical type {logical_type!r} is not supported by this release")
    index_type = PLAIN.get(index)
    if index_type is None or not pa.types.is_integer(index_type):
        raise CorruptFile(f"malformed logical type {logical_type!r}: {index!r} is not an integer type")
    return pa.dictionary(index_type, leaf_type(value), ordered=rest == "true")


def _timestamp(logical_type: str) -> pa.DataType:
    # The zone may contain colons, as in "+05:30".
    parts = logical_type.split(":", 2)
    if len(parts) != 3 or parts[1] not in ("s", "ms", "us", "ns") or not parts[2]:
        raise CorruptFile(f"malformed logical type {logical_type!r}")
    return pa.timestamp(parts[1], tz=None if parts[2] == "-" else parts[2])


def _integer(text: str, least: int, most: int, logical_type: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,10}", text, re.ASCII):
        raise CorruptFile(f"malformed logical type {logical_type!r}: {text!r} is not a number")
    number = int(text)
    if not least <= number <= most:
        raise CorruptFile(f"malformed logical type {logical_type!r}: {number} is outside of {least} to {most}")
    return number
