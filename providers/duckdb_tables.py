"""Tables in the types of DuckDB."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature

from .arrow import EngineDataset, Relation

_MAX_DIGITS = 38


def table(dataset: Relation, *, with_system_columns: bool = False) -> EngineDataset:
    """A relation that DuckDB can bind, whatever the types of its columns.

    raises: UnsupportedFeature, naming the column, for a type that DuckDB has no counterpart for
    """
    return EngineDataset(dataset, widen, with_system_columns=with_system_columns, compact=True)


def widen(type: pa.DataType) -> pa.DataType:
    """The type in which DuckDB takes the values of a type: itself, or one that holds them exactly.

    Decimals of more than 38 digits are handed over with 38; a value that needs more fails the query.

    raises: UnsupportedFeature for decimals with more than 38 digits after the point
    """
    if pa.types.is_float16(type):
        return pa.float32()
    if pa.types.is_decimal256(type):
        if type.scale > _MAX_DIGITS:
            raise UnsupportedFeature(f"DuckDB has no type for {type}: it allows {_MAX_DIGITS} digits")
        return pa.decimal128(min(type.precision, _MAX_DIGITS), type.scale)
    return type
