"""Computed values as a column's, as SQL assigns them: a decimal is rounded, and nothing else changes unnoticed."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.conversion import into


def assign(name: str, array: pa.Array, field: pa.Field) -> pa.Array:
    """Computed values in the type of the column that they are for.

    raises: InvalidArgument for a value that the column does not hold
    """
    try:
        return into(array, field, as_sql=True)
    except pa.ArrowException as error:
        raise InvalidArgument(f"A value for column {name!r} does not fit its type {field.type}: {error}") from error
