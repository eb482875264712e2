"""Opens the store of a path or URI."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from lance_sql.errors import InvalidArgument
from lance_sql.store.access import Access
from lance_sql.store.cached import with_cache
from lance_sql.store.compared import ComparedStore
from lance_sql.store.contract import Store
from lance_sql.store.dynamodb import DynamoDbManifestStore
from lance_sql.store.external import ExternalManifests
from lance_sql.store.fsspec import FsspecStore
from lance_sql.store.local import LocalStore
from lance_sql.store.object_store import SCHEMES, ObjectStore
from lance_sql.values.local_paths import checked, expanded, place_text

# At least two letters: "C:\tables" is a path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


_DYNAMODB: Final = "s3+ddb://"


def open_store(uri: str | os.PathLike[str], access: Access | None = None) -> Store:
    """Opens the store at a path or URI: local for plain paths and file://, an object store for S3, Google Cloud Storage
    and Azure, and fsspec for every other scheme. It has a manifest store for s3+ddb:// or if one is given, and a disk
    cache and a comparison of checksums if they are wanted.

    access: by default, that of `Access.of`
    raises: InvalidArgument if no file system supports the scheme, and for unknown options
    """
    text = place_text(uri)
    access = Access.of() if access is None else access
    options = dict(access.options)
    manifests = access.manifest_store
    file_uri = files_uri(text)
    if file_uri != text:
        if manifests is not None:
            raise InvalidArgument(f"{text!r} names its manifest store: leave manifest_store out")
        manifests = DynamoDbManifestStore(_dynamodb_table(text), options)
    store = with_cache(_open_files(file_uri, options), access.cache, access.cache_bytes)
    if access.checksums:
        store = ComparedStore(store)
    if manifests is None:
        return store
    path = local_path(file_uri)
    return ExternalManifests(store, manifests, text, manifests.key(os.path.abspath(path) if path else file_uri))


def files_uri(uri: str) -> str:
    """Returns the URI of a table's files: its URI without the part that names a manifest store."""
    if not uri.startswith(_DYNAMODB):
        return uri
    return "s3://" + uri.removeprefix(_DYNAMODB).partition("?")[0]


def absolute(uri: str | os.PathLike[str]) -> str:
    """Returns an absolute path or URI, which stays valid when the process changes its folder. All spellings of a local
    place become one path; other URIs stay as they are.

    raises: InvalidArgument for text that cannot be a path
    """
    text = place_text(uri)
    path = local_path(text)
    return text if path is None else os.path.abspath(path)


def below(uri: str, path: str) -> str:
    """Returns the URI of a place below another one."""
    if not uri.startswith(_DYNAMODB):
        return f"{uri.rstrip('/')}/{path}"
    base, mark, query = uri.partition("?")
    return f"{base.rstrip('/')}/{path}{mark}{query}"


def _open_files(uri: str, options: Mapping[str, Any]) -> Store:
    path = local_path(uri)
    if path is not None:
        return LocalStore(path, uri)
    if uri.partition("://")[0] in SCHEMES:
        return ObjectStore(uri, options)
    return FsspecStore(uri, options)


def _dynamodb_table(uri: str) -> str:
    query = parse_qs(uri.partition("?")[2])
    names = query.pop("ddbTableName", [])
    if len(names) != 1 or query:
        raise InvalidArgument(f"{uri!r}: write s3+ddb://bucket/path/to/table?ddbTableName=NAME")
    return names[0]


def local_path(uri: str) -> str | None:
    """Returns the local path that a URI names, or None; "~" is the user's home folder."""
    if uri.startswith("file://"):
        return checked(unquote(uri.removeprefix("file://").removeprefix("localhost")))
    return None if _SCHEME.match(uri) else expanded(uri)
