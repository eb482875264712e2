"""The extension types of fields, which tables expose as storage with metadata.

fixed_size_binary[16], ARROW:extension:name = arrow.uuid      extension<arrow.uuid>
binary, ARROW:extension:name = geoarrow.wkb                   an opaque type of that name
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.format.schema.field import EXTENSION_NAME
from lance_sql.values import kinds

_UUID_BYTES = 16


def extension_type(field: pa.Field) -> pa.DataType:
    """Returns the type of a field's values: an extension type if the metadata names one of bytes, else the field's
    own."""
    type, metadata = field.type, field.metadata
    if not metadata or isinstance(type, pa.BaseExtensionType):
        return type
    name = metadata.get(EXTENSION_NAME.encode())
    if name is None or not kinds.is_bytes(type):
        return type
    if name == b"arrow.uuid" and type == pa.binary(_UUID_BYTES):
        return pa.uuid()
    return pa.opaque(type, name.decode(), "")


def with_extensions(field: pa.Field) -> pa.Field:
    """Returns the field with the extension types of its members, at any depth."""
    type = extension_type(field)
    members = [with_extensions(member) for member in kinds.members(type)]
    return pa.field(field.name, kinds.with_members(type, members), field.nullable)
