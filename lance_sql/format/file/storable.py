"""Check that a version of data files supports a schema.

Source: data files 2.0, 2.1 and 2.2, types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.format.file_versions import FileVersion
from lance_sql.format.schema import Field, Schema, storage_type
from lance_sql.format.schema.types import plain_type

_NO_BYTES: Final = "fixed_size_binary:0"


def check_storable(schema: Schema, version: FileVersion) -> None:
    """Makes sure that files of a version support the columns.

    raises: UnsupportedFeature with the column and the unsupported feature
    """
    for field in schema.fields:
        if plain_type(field) is None:
            _check(field, (field,), version)


def _check(field: Field, path: Sequence[Field], version: FileVersion) -> None:
    reason = _reason(field, path[:-1], version)
    if reason is not None:
        name = ".".join(part.name for part in path)
        raise UnsupportedFeature(f"Column {name!r}: data files of version {version.name} cannot hold {reason}")
    if not field.is_blob_v2:
        for child in field.children:
            _check(child, (*path, child), version)


def _reason(field: Field, parents: Sequence[Field], version: FileVersion) -> str | None:
    """Returns the unsupported feature of the field, if any."""
    kind = field.logical_type
    in_list = any(parent.is_list for parent in parents)
    is_fixed_list = bool(field.children) and kind.startswith("fixed_size_list:")
    can = version.columns
    if not can.maps:
        if kind == "map":
            return "maps; 2.2 can"
        if is_fixed_list:
            return "fixed-size lists of structs; 2.2 can"
    if field.is_blob_v2 and not can.blob_v2:
        return "blobs of the extension lance.blob.v2; 2.2 can"
    if field.is_blob_v1 and can.blob_v2:
        return "blobs of this kind; those of the extension lance.blob.v2 it can"
    if field.is_blob_v1 and in_list:
        return "blobs in lists"
    if is_fixed_list and in_list:
        return "fixed-size lists of structs in lists"
    if field.is_list and any(parent.logical_type.startswith("fixed_size_list:") for parent in parents):
        return "lists in fixed-size lists of structs"
    if kind == "struct" and not field.children and in_list:
        return "structs without members in lists"
    if re.search(r"\bfixed_size_binary:0\b", kind) and (not can.empty_binaries or kind != _NO_BYTES):
        # pylance reads them from one layout only
        where = "; 2.2 can" if kind == _NO_BYTES else ""
        return f"{kind}: fixed-size binaries of no byte can be stored by themselves only{where}"
    if field.is_packed:
        return _packed_reason(field, version)
    return None


def _packed_reason(field: Field, version: FileVersion) -> str | None:
    for child in field.children:
        type = storage_type(child)
        if child.children or pa.types.is_dictionary(type) or pa.types.is_null(type):
            return f"packed structs with a member of type {child.logical_type}"
        if pa.types.is_fixed_size_list(type) and not version.columns.packed_lists:
            return "packed structs with a member that is a list; 2.2 can"
        while pa.types.is_fixed_size_list(type):
            type = type.value_type
        if pa.types.is_boolean(type):
            return "packed structs with booleans"
        if child.logical_type == _NO_BYTES:
            return f"packed structs with a member of type {_NO_BYTES}"
        is_variable = child.logical_type in ("string", "large_string", "binary", "large_binary", "json")
        if is_variable and not version.columns.packed_strings:
            return f"packed structs with a member of type {child.logical_type}; 2.2 can"
    return None
