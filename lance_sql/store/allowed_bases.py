"""Check of the places outside a table's own store that may hold its files.

A manifest names base paths. Opening a stranger's table must not send requests with the user's credentials to any host
that it names. Places other than the table's own store are therefore read only if they are allowed.

    table                  base path              read
    /data/t.lance          /archive/old.lance     yes: the same machine
    s3://a/t.lance         s3://a/old.lance       yes: the same bucket
    s3://a/t.lance         s3://b/old.lance       if allowed
    /data/t.lance          http://host/x          if allowed

The allowed places are passed along in the storage options, as one text.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from lance_sql.errors import ForeignBase, InvalidArgument
from lance_sql.store.open import ALLOWED_BASES, files_uri, local_path

VARIABLE: Final = "LANCE_SQL_ALLOW_BASES"
"""The environment variable with places that are allowed in the process, separated by commas or spaces."""

_FAMILIES: Final = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az"}
_allowed: ContextVar[str] = ContextVar("allowed_bases", default="")


def with_allowed(
    storage_options: Mapping[str, Any] | None, allow_bases: str | Iterable[str] | None
) -> Mapping[str, Any] | None:
    """Returns storage options that include the allowed places, with those of the process.

    allow_bases: URI prefixes
    raises: InvalidArgument for values that are not text
    """
    given = [allow_bases] if isinstance(allow_bases, str) else list(allow_bases or ())
    if not all(isinstance(each, str) and each.strip() for each in given):
        raise InvalidArgument(f"allow_bases={allow_bases!r} is not a list of URIs, such as ['s3://archive/']")
    lists = [allowed_by(storage_options or {}), *given, _allowed.get(), os.environ.get(VARIABLE, "")]
    bases = dict.fromkeys(base for each in lists for base in _split(each))
    return {**(storage_options or {}), ALLOWED_BASES: ",".join(bases)} if bases else storage_options


def allowed_by(storage_options: Mapping[str, Any]) -> str:
    """Returns the places that storage options allow, separated by commas."""
    return str(storage_options.get(ALLOWED_BASES, ""))


@contextmanager
def allowing(allow_bases: str) -> Iterator[None]:
    """Allows places for tables that are opened inside the block.

    allow_bases: separated by commas
    """
    token = _allowed.set(allow_bases)
    try:
        yield
    finally:
        _allowed.reset(token)


def check(base: str, table: str, storage_options: Mapping[str, Any]) -> None:
    """Makes sure that a table may have files at a place.

    base: a path or URI that its manifest names
    table: the table's own path or URI
    raises: ForeignBase
    """
    if _host_of(base) == _host_of(table):
        return
    for allowed in _split(allowed_by(storage_options)):
        if f"{base.rstrip('/')}/".startswith(f"{allowed.rstrip('/')}/"):
            return
    raise ForeignBase(
        f"files of the table are at {base[:500]!r}, outside its own place: if you trust it, pass"
        f" allow_bases=[{_beginning(base)!r}], or set {VARIABLE}"
    )


def _host_of(uri: str) -> tuple[str, str]:
    """Returns the server of the files at a URI: the kind of store, and the host or bucket."""
    files = files_uri(uri)
    scheme, mark, rest = files.partition("://")
    if not mark or local_path(files) is not None:
        return "file", ""
    return _FAMILIES.get(scheme.lower(), scheme.lower()), rest.partition("/")[0]


def _beginning(uri: str) -> str:
    scheme, mark, rest = uri[:500].partition("://")
    return f"{scheme}{mark}{rest.partition('/')[0]}/" if mark else uri[:500]


def _split(text: str) -> list[str]:
    return [each for each in text.replace(",", " ").split() if each]
