"""Columns whose field metadata selects a compression, for every Lance writer."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.values import kinds

KEY: Final = "lance-encoding:compression"
LEVEL_KEY: Final = "lance-encoding:compression-level"
SCHEMES: Final = ("zstd", "lz4")


def compressed(schema: pa.Schema, wanted: str | Mapping[str, str] | None, level: int | None = None) -> pa.Schema:
    """Returns the schema with compression options for its columns.

    wanted: "zstd" or "lz4" for all columns, or by column name; None: keep the fields' options
    level: of Zstandard
    raises: InvalidArgument for other compressions, for unknown columns, and for a level without zstd
    """
    by_name = dict.fromkeys(schema.names, wanted) if isinstance(wanted, str) else dict(wanted or {})
    for name, scheme in by_name.items():
        if name not in schema.names:
            raise InvalidArgument(f"No column {name!r} to compress")
        if scheme not in SCHEMES:
            raise InvalidArgument(f"The compression {scheme!r} of column {name!r} is not one of {', '.join(SCHEMES)}")
    if level is not None and "zstd" not in by_name.values():
        raise InvalidArgument("compression_level= needs compression='zstd'")
    if not by_name:
        return schema
    fields = [_asking(field, by_name[field.name], level) if field.name in by_name else field for field in schema]
    return pa.schema(fields, schema.metadata)


def _asking(field: pa.Field, scheme: str, level: int | None) -> pa.Field:
    type = field.type
    if pa.types.is_struct(type) or kinds.is_list(type):
        inner = [_asking(child, scheme, level) for child in kinds.members(type)]
        return field.with_type(kinds.with_members(type, inner))
    given: dict[bytes, bytes] = {**(field.metadata or {}), KEY.encode(): scheme.encode()}
    if level is not None and scheme == "zstd":
        given[LEVEL_KEY.encode()] = str(level).encode()
    return field.with_metadata(given)
