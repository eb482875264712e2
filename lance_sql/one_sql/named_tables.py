"""Resolution of names to Lance tables: paths, and tables of attached catalogs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from lance_sql.errors import InvalidArgument
from lance_sql.providers.attached import Names, Place
from lance_sql.table.version_names import split_name

SUFFIX: Final = ".lance"
FORMAT: Final = "lance"
"""Prefix of a path in Spark, as in lance.`a/b.lance`."""

_OFFSET: Final = re.compile(r":\d\d(\.\d+)?\s*(Z|UTC|[+-]\d\d(:?\d\d)?)\s*$", re.IGNORECASE)

_names: ContextVar[Names | None] = ContextVar("names", default=None)


@contextmanager
def looked_up_in(names: Names) -> Iterator[None]:
    """Resolves names as on a connection, within a block."""
    token = _names.set(names)
    try:
        yield
    finally:
        _names.reset(token)


def is_path(text: str) -> bool:
    """Whether a text is the path of a table, optionally with a version."""
    plain = split_name(text)[0].rstrip("/")
    return plain.lower().endswith(SUFFIX) and len(plain) > len(SUFFIX)


def path_of_name(parts: Sequence[str], *, is_quoted: bool = False) -> str | None:
    """Returns the path of a table by the parts of its name; None for a table of the engine.

    Attached catalogs and schemas of the engine take precedence over paths.

    is_quoted: a part is in quotes
    """
    names = _names.get()
    if names is not None and names.has_catalogs:
        *first, last = parts
        path: str | None = names.path(parts)
        if path is not None:
            return path
        # a version, tag or branch may follow a name
        plain, _, chosen = last.rpartition("@")
        path = names.path((*first, plain)) if plain else None
        if path is not None:
            return f"{path}@{chosen}"
    whole = ".".join(parts)
    if len(parts) == 2 and parts[0].lower() == FORMAT and (is_quoted or is_path(parts[1])):
        whole = parts[1]
    elif not is_path(whole) or (is_quoted and len(parts) > 1):
        return None
    if len(parts) > 1 and names is not None and names.has_schema(parts[0]):
        return None
    return whole


def has_function(name: str) -> bool:
    """Whether the engine has a function of this name; False if that is unknown."""
    names = _names.get()
    return names is not None and names.has_function(name)


def is_catalog(name: str) -> bool:
    """Whether a catalog is attached under a name."""
    names = _names.get()
    return names is not None and names.is_catalog(name)


def is_parsed_by_engine(text: str) -> bool:
    """Whether a text is SQL for the engine; False if that is unknown."""
    names = _names.get()
    return names is not None and names.is_parsed(text)


def moment(text: str) -> str:
    """Converts a TIMESTAMPTZ text to one with an offset; a text without one is in the time zone of the DuckDB session.

    raises: InvalidArgument if there is no such session
    """
    names = _names.get()
    given = None if names is None else names.moment(text)
    if given is not None:
        return str(given)
    if _OFFSET.search(text) is None:
        raise InvalidArgument(f"TIMESTAMPTZ {text!r} has no offset: add one, as in '2026-11-20 12:00:00+00'")
    return text


def place_of_name(parts: Sequence[str]) -> Place | None:
    """Returns the place of a table name in an attached catalog, existing or not; None for every other name."""
    names = _names.get()
    return None if names is None else names.place(parts)
