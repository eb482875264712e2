"""Names of types in the SQL of filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

_TYPES: Final[Mapping[Any, pa.DataType]] = {
    exp.DataType.Type.BOOLEAN: pa.bool_(),
    exp.DataType.Type.TINYINT: pa.int8(),
    exp.DataType.Type.SMALLINT: pa.int16(),
    exp.DataType.Type.INT: pa.int32(),
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.INT128: pa.decimal128(38, 0),
    exp.DataType.Type.UTINYINT: pa.uint8(),
    exp.DataType.Type.USMALLINT: pa.uint16(),
    exp.DataType.Type.UINT: pa.uint32(),
    exp.DataType.Type.UBIGINT: pa.uint64(),
    exp.DataType.Type.FLOAT: pa.float32(),
    exp.DataType.Type.DOUBLE: pa.float64(),
    exp.DataType.Type.TEXT: pa.string(),
    exp.DataType.Type.VARCHAR: pa.string(),
    exp.DataType.Type.VARBINARY: pa.binary(),
    exp.DataType.Type.UUID: pa.uuid(),
    exp.DataType.Type.DATE: pa.date32(),
    exp.DataType.Type.TIME: pa.time64("us"),
    exp.DataType.Type.TIMESTAMP: pa.timestamp("us"),
    exp.DataType.Type.TIMESTAMPNTZ: pa.timestamp("us"),
    exp.DataType.Type.TIMESTAMP_S: pa.timestamp("s"),
    exp.DataType.Type.TIMESTAMP_MS: pa.timestamp("ms"),
    exp.DataType.Type.TIMESTAMP_NS: pa.timestamp("ns"),
    exp.DataType.Type.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
}


def arrow_type(data_type: exp.DataType) -> pa.DataType | None:
    """Returns the Arrow type of a SQL type name; None for an unsupported one."""
    kind = data_type.this
    if kind == exp.DataType.Type.DECIMAL:
        parameters = [int(parameter.name) for parameter in data_type.expressions] or [18, 3]
        precision, scale = [*parameters, 0][:2]
        return pa.decimal128(precision, scale) if 0 < precision <= 38 and scale <= precision else None
    return None if data_type.expressions else _TYPES.get(kind)
