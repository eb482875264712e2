"""Checks of arguments of public functions: names of columns, numbers, ages, texts and filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from lance_sql.errors import InvalidArgument
from lance_sql.values.durations import parse_age


def check_selection(where: object, verb: str) -> None:
    """Makes sure that a change of rows names the rows that it applies to.

    verb: what it does to them, such as "deletes"
    raises: InvalidArgument
    """
    if where is None:
        raise InvalidArgument(f"Pass a filter: where='true' {verb} all rows")
    if isinstance(where, str) and not where.strip():
        raise InvalidArgument(f"The filter is empty: give a condition in SQL; 'true' {verb} all rows")


def check_texts(values: object, what: str, *, may_be_none: bool = True) -> None:
    """Makes sure that an argument is a dict of texts.

    what: begins the message
    may_be_none: whether values may be None, which removes a key
    raises: InvalidArgument
    """
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"{what}: pass a dict, not {values!r}")
    for key, value in values.items():
        if not isinstance(key, str) or not (isinstance(value, str) or (value is None and may_be_none)):
            raise InvalidArgument(f"{what}: {key!r} is {value!r}")


def column_names(columns: Sequence[str] | None) -> list[str] | None:
    """Returns the names of columns as a list; None for all of them.

    raises: InvalidArgument for a text, whose letters would be used as names, and for values that are not lists of
        names
    """
    if columns is None:
        return None
    if isinstance(columns, str):
        raise InvalidArgument(f"columns={columns!r} is a string: pass a list of names, such as [{columns!r}]")
    if not isinstance(columns, Iterable):
        raise InvalidArgument(f"columns={columns!r} is not a list of names")
    names = list(columns)
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgument(f"columns= contains {name!r}: pass a list of names")
    return names


def check_number(name: str, value: int | None, *, least: int) -> None:
    """Makes sure that an argument is a whole number of at least `least`, or None.

    raises: InvalidArgument
    """
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(f"{name}={value!r} is not a whole number")
    if value < least:
        raise InvalidArgument(f"{name}={value} must be at least {least}")


def age(name: str, value: timedelta | str | None) -> timedelta | None:
    """Returns an age given as a timedelta, or as text such as "7d".

    raises: InvalidArgument
    """
    if isinstance(value, str):
        return parse_age(value)
    if not isinstance(value, timedelta | None):
        raise InvalidArgument(f"{name}={value!r} is not a timedelta, nor text such as '7d'")
    if value is not None and value < timedelta(0):
        raise InvalidArgument(f"{name} is negative: pass a positive one")
    return value
