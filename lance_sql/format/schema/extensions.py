"""The extension types of fields, which tables expose as storage with metadata.

fixed_size_binary[16], ARROW:extension:name = arrow.uuid      extension<arrow.uuid>
binary, ARROW:extension:name = geoarrow.wkb                   an opaque type of that name
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.schema.from_arrow import EXTENSION_NAME

_UUID_BYTES = 16


def extension_type(field: pa.Field) -> pa.DataType:
    """Returns the type of a field's values: an extension type if the metadata names one of bytes, else the field's
    own."""
    type, metadata = field.type, field.metadata
    if not metadata or isinstance(type, pa.BaseExtensionType):
        return type
    name = metadata.get(EXTENSION_NAME.encode())
    if name is None or not _is_bytes(type):
        return type
    if name == b"arrow.uuid" and type == pa.binary(_UUID_BYTES):
        return pa.uuid()
    return pa.opaque(type, name.decode(), "")


def with_extensions(field: pa.Field) -> pa.Field:
    """Returns the field with the extension types of its members, at any depth."""
    return pa.field(field.name, _nested(extension_type(field)), field.nullable)


def _nested(type: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type):
        return pa.struct([with_extensions(member) for member in type])
    if pa.types.is_list(type):
        return pa.list_(with_extensions(type.value_field))
    if pa.types.is_large_list(type):
        return pa.large_list(with_extensions(type.value_field))
    if pa.types.is_fixed_size_list(type):
        return pa.list_(with_extensions(type.value_field), type.list_size)
    if pa.types.is_map(type):
        return pa.map_(with_extensions(type.key_field), with_extensions(type.item_field))
    return type


def _is_bytes(type: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_binary(type) or kinds.is_large_binary(type) or kinds.is_fixed_size_binary(type))
