"""Opens the store of a path or URI."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from lance_sql.errors import InvalidArgument
from lance_sql.store.cached import CACHE, CACHE_BYTES, with_cache
from lance_sql.store.compared import OPTION as CHECKSUMS
from lance_sql.store.compared import compared
from lance_sql.store.contract import Store
from lance_sql.store.dynamodb import DynamoDbManifestStore
from lance_sql.store.external import ExternalManifests
from lance_sql.store.fsspec import FsspecStore
from lance_sql.store.local import LocalStore
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.store.object_store import SCHEMES, ObjectStore
from lance_sql.store.process_options import with_process_options
from lance_sql.values.local_paths import checked, expanded, place_text

# At least two letters: "C:\tables" is a path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


_DYNAMODB: Final = "s3+ddb://"
_MANIFEST_STORE: Final = "manifest_store"
ALLOWED_BASES: Final = "allow_bases"
"""The storage option with the places that may hold files of a table; see `allowed_bases`."""


def open_store(uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Store:
    """Opens the store at a path or URI: local for plain paths and file://, an object store for S3, Google Cloud Storage
    and Azure, and fsspec for every other scheme. It has a manifest store for s3+ddb:// or if one is given, and a disk
    cache if the options name one. Options of the process are added.

    raises: InvalidArgument if no file system supports the scheme, and for unknown options
    """
    text = place_text(uri)
    options = with_process_options(storage_options)
    manifests: ManifestStore | None = options.pop(_MANIFEST_STORE, None)
    options.pop(ALLOWED_BASES, None)
    file_uri = files_uri(text)
    if file_uri != text:
        if manifests is not None:
            raise InvalidArgument(f"{text!r} names its manifest store: leave manifest_store out")
        manifests = DynamoDbManifestStore(_dynamodb_table(text), options)
    asked: dict[str, Any] = {name: options.pop(name) for name in (CACHE, CACHE_BYTES) if name in options}
    compares = {name: options.pop(name) for name in (CHECKSUMS,) if name in options}
    store = compared(with_cache(_open_files(file_uri, options), asked), compares)
    if manifests is None:
        return store
    path = local_path(file_uri)
    return ExternalManifests(store, manifests, text, manifests.key(os.path.abspath(path) if path else file_uri))


def with_manifest_store(
    storage_options: Mapping[str, Any] | None, manifest_store: ManifestStore | None
) -> Mapping[str, Any] | None:
    """Returns storage options that include a manifest store."""
    if manifest_store is None:
        return storage_options
    return {**(storage_options or {}), _MANIFEST_STORE: manifest_store}


def with_cache_folder(
    storage_options: Mapping[str, Any] | None, cache: str | os.PathLike[str] | bool | None
) -> Mapping[str, Any] | None:
    """Returns storage options that include a cache; see `store.cached`."""
    if cache is None:
        return storage_options
    return {**(storage_options or {}), CACHE: cache if isinstance(cache, bool) else os.fspath(cache)}


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
