"""Assignment of computed values to a column like in SQL: decimals are rounded, and nothing else changes silently."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.conversion import into


def assign(name: str, array: pa.Array, field: pa.Field) -> pa.Array:
    """Converts computed values to the type of their column.

    raises: InvalidArgument for a value that does not fit the column
    """
    try:
        return into(array, field, as_sql=True)
    except pa.ArrowException as error:
        raise InvalidArgument(f"A value for column {name!r} does not fit its type {field.type}: {error}") from error
