"""From what a user calls a place to the store there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from lance_sql.errors import InvalidArgument
from lance_sql.store.cached import CACHE, CACHE_BYTES, with_cache
from lance_sql.store.contract import Store
from lance_sql.store.dynamodb import DynamoDbManifestStore
from lance_sql.store.external import ExternalManifests
from lance_sql.store.fsspec import FsspecStore
from lance_sql.store.local import LocalStore
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.store.object_store import SCHEMES, ObjectStore
from lance_sql.values.local_paths import checked, expanded

# Two letters at least: "C:\tables" is a path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


_DYNAMODB: Final = "s3+ddb://"
_MANIFEST_STORE: Final = "manifest_store"
ALLOWED_BASES: Final = "allow_bases"
"""The storage option with the places that a table may have files in; see `allowed_bases`."""


def open_store(uri: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> Store:
    """The store at a path or URI: local for plain paths and file://, that of S3, Google Cloud Storage and Azure for
    theirs, and fsspec's for every other scheme; with a manifest store where one is given, and for s3+ddb://; with a
    cache on disk where one is asked for.

    raises: InvalidArgument when there is no file system for the scheme, and for options that it does not have
    """
    text = os.fspath(uri)
    options = dict(storage_options or {})
    manifests: ManifestStore | None = options.pop(_MANIFEST_STORE, None)
    options.pop(ALLOWED_BASES, None)
    file_uri = files_uri(text)
    if file_uri != text:
        if manifests is not None:
            raise InvalidArgument(f"{text!r} names its manifest store: leave manifest_store out")
        manifests = DynamoDbManifestStore(_dynamodb_table(text), options)
    asked: dict[str, Any] = {name: options.pop(name) for name in (CACHE, CACHE_BYTES) if name in options}
    store = with_cache(_open_files(file_uri, options), asked)
    if manifests is None:
        return store
    path = local_path(file_uri)
    return ExternalManifests(store, manifests, text, manifests.key(os.path.abspath(path) if path else file_uri))


def with_manifest_store(
    storage_options: Mapping[str, Any] | None, manifest_store: ManifestStore | None
) -> Mapping[str, Any] | None:
    """Storage options that bring a manifest store along wherever they go."""
    if manifest_store is None:
        return storage_options
    return {**(storage_options or {}), _MANIFEST_STORE: manifest_store}


def with_cache_folder(
    storage_options: Mapping[str, Any] | None, cache: str | os.PathLike[str] | bool | None
) -> Mapping[str, Any] | None:
    """Storage options that bring a cache along wherever they go; see `store.cached`."""
    if cache is None:
        return storage_options
    return {**(storage_options or {}), CACHE: cache if isinstance(cache, bool) else os.fspath(cache)}


def files_uri(uri: str) -> str:
    """Where the files of a table are: its URI without what says who keeps its manifests."""
    if not uri.startswith(_DYNAMODB):
        return uri
    return "s3://" + uri.removeprefix(_DYNAMODB).partition("?")[0]


def absolute(uri: str | os.PathLike[str]) -> str:
    """The path or URI of a place that stays the same when the process changes its folder: one path for all ways to
    write a place on this machine; other URIs as they are.

    raises: InvalidArgument for what no path can be
    """
    text = os.fspath(uri)
    path = local_path(text)
    return text if path is None else os.path.abspath(path)


def below(uri: str, path: str) -> str:
    """The URI of a place below another one."""
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
    """The path on this machine that a URI names, or None; "~" is the user's own folder."""
    if uri.startswith("file://"):
        return checked(unquote(uri.removeprefix("file://").removeprefix("localhost")))
    return None if _SCHEME.match(uri) else expanded(uri)
