"""Stores: named bytes, wherever the files of a table are.

A store is rooted at a table's folder; every path is relative to it, with `/` between its parts.
"""

from lance_sql.store.contract import ByteRange, MappedFile, ObjectInfo, PutMode, Sink, Store, check_path
from lance_sql.store.dynamodb import DynamoDbManifestStore
from lance_sql.store.external import ExternalManifests
from lance_sql.store.fsspec import FsspecStore
from lance_sql.store.local import LocalStore, release_memory
from lance_sql.store.manifest_store import ManifestEntry, ManifestStore, SqliteManifestStore
from lance_sql.store.memory import MemoryStore
from lance_sql.store.object_store import ObjectStore
from lance_sql.store.open import open_store
from lance_sql.store.requests import concurrently, innermost

__all__ = [
    "ByteRange",
    "DynamoDbManifestStore",
    "ExternalManifests",
    "FsspecStore",
    "LocalStore",
    "ManifestEntry",
    "ManifestStore",
    "MappedFile",
    "MemoryStore",
    "ObjectInfo",
    "ObjectStore",
    "PutMode",
    "Sink",
    "SqliteManifestStore",
    "Store",
    "check_path",
    "concurrently",
    "innermost",
    "open_store",
    "release_memory",
]
