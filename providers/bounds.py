"""Bounds of a change feed as values of an engine."""

from __future__ import annotations

from datetime import date, datetime
from typing import TypeAlias

from lance_sql.errors import InvalidArgument
from lance_sql.table.version_names import as_version

Bound: TypeAlias = int | str | datetime | date | None


def bound(value: Bound) -> Bound:
    """Converts a bound of a range, whose number may be text.

    raises: InvalidArgument for a value that cannot be a bound
    """
    number = as_version(value) if isinstance(value, str) and value.isascii() else None
    if number is not None:
        return number
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | str | datetime | date)):
        raise InvalidArgument(f"{value!r} is not a version, a tag or a time")
    return value
