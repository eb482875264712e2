"""The Lance tables that a name means: those whose name is a path, and those of catalogs that are attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

from lance_sql.version_names import split_name

SUFFIX: Final = ".lance"

Lookup: TypeAlias = Callable[[tuple[str, ...]], str | None]
"""The path of a table by the parts of its name; None for a table of the engine."""

_lookup: ContextVar[Lookup | None] = ContextVar("lookup", default=None)


@contextmanager
def looked_up_in(lookup: Lookup | None) -> Iterator[None]:
    """Names that are no paths are looked up there, too."""
    token = _lookup.set(lookup)
    try:
        yield
    finally:
        _lookup.reset(token)


def is_path(text: str) -> bool:
    """Whether a text is the path of a table, which a version may follow."""
    plain = split_name(text)[0].rstrip("/")
    return plain.lower().endswith(SUFFIX) and len(plain) > len(SUFFIX)


def path_of_name(parts: Sequence[str]) -> str | None:
    """The path of a table by the parts of its name; None for a table of the engine."""
    if len(parts) == 2 and parts[0].lower() == "lance":
        return parts[1]
    path = ".".join(parts)
    if is_path(path):
        return path
    lookup = _lookup.get()
    if lookup is None:
        return None
    *first, last = parts
    # a version may follow a name
    plain, version, tag = split_name(last)
    table_path = lookup((*first, plain))
    chosen = version if version is not None else tag
    return table_path if table_path is None or chosen is None else f"{table_path}@{chosen}"
