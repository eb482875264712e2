"""Checks of arguments of public functions: names of columns, numbers, ages, texts, and keywords."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.values.durations import parse_age

_OF_PYLANCE: Final = {
    "full_text_query": "search(text=..)",
    "limit": "scan(.., limit=..).to_table()",
    "nearest": "search(vector, column=.., k=..)",
    "offset": "scan(..).to_reader(), or OFFSET in SQL",
    "prefilter": "search(.., filter=..), which filters before it ranks",
    "with_row_address": "columns=['_rowaddr', ..]",
    "with_row_id": "columns=['_rowid', ..]",
}
"""Keywords of pylance's reads, and what to call instead."""

_OTHER_WORDS: Final = {
    "limit": "k",
    "where": "filter",
    "predicate": "filter",
    "condition": "filter",
    "select": "columns",
}


def check_keywords(function: str, given: Iterable[str], known: Sequence[str], *, also: Sequence[str] = ()) -> None:
    """Makes sure that a function has every additional keyword.

    known: the keywords to name in the message; also: others that are accepted
    raises: TypeError
    """
    for name in given:
        if name in known or name in also:
            continue
        close = _OTHER_WORDS.get(name) or next(iter(difflib.get_close_matches(name, known, n=1)), None)
        if "filter" in known and name in _OF_PYLANCE:
            hint = f". Use {_OF_PYLANCE[name]}"
        elif close in known:
            hint = f". Did you mean {close!r}?"
        else:
            hint = f"; it has {', '.join(known)}"
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


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
