"""From what a user calls a place to the store there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from lance_sql.store.contract import Store
from lance_sql.store.fsspec import FsspecStore
from lance_sql.store.local import LocalStore

# Two letters at least: "C:\tables" is a path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def open_store(uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Store:
    """The store at a path or URI: local for plain paths and file://, fsspec's for every other scheme.

    raises: InvalidArgument when there is no file system for the scheme
    """
    text = os.fspath(uri)
    path = local_path(text)
    if path is not None:
        return LocalStore(path, text)
    return FsspecStore(text, storage_options)


def local_path(uri: str) -> str | None:
    """The path on this machine that a URI names, or None."""
    if uri.startswith("file://"):
        return unquote(uri.removeprefix("file://").removeprefix("localhost"))
    return None if _SCHEME.match(uri) else uri
