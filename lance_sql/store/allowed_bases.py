"""Check of the places outside a table's own store that may hold its files.

A manifest names base paths. Opening a stranger's table must not send requests with the user's credentials to any host
that it names. Places other than the table's own store are therefore read only if they are allowed.

    table                  base path              read
    /data/t.lance          /archive/old.lance     yes: the same machine
    s3://a/t.lance         s3://a/old.lance       yes: the same bucket
    s3://a/t.lance         s3://b/old.lance       if allowed
    /data/t.lance          http://host/x          if allowed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lance_sql.errors import ForeignBase
from lance_sql.store.access import ALLOW_BASES
from lance_sql.store.open import files_uri, local_path

_FAMILIES: Final = {"s3a": "s3", "gcs": "gs", "abfs": "az", "abfss": "az"}


def check(base: str, table: str, allow_bases: Iterable[str]) -> None:
    """Makes sure that a table may have files at a place.

    base: a path or URI that its manifest names
    table: the table's own path or URI
    allow_bases: URI prefixes of other places
    raises: ForeignBase
    """
    if _host_of(base) == _host_of(table):
        return
    for allowed in allow_bases:
        if f"{base.rstrip('/')}/".startswith(f"{allowed.rstrip('/')}/"):
            return
    raise ForeignBase(
        f"files of the table are at {base[:500]!r}, outside its own place: if you trust it, pass"
        f" allow_bases=[{_beginning(base)!r}], or set {ALLOW_BASES}"
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
