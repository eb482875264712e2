"""Bytes by name: where the files of a table are, whatever holds them.

A store is rooted at a table's folder; every path is relative to it, with `/` between its parts.
"""

from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Sink, Store, check_path
from lance_sql.store.fsspec import FsspecStore
from lance_sql.store.local import LocalStore
from lance_sql.store.memory import MemoryStore
from lance_sql.store.open import open_store

__all__ = [
    "ByteRange",
    "FsspecStore",
    "LocalStore",
    "MemoryStore",
    "ObjectInfo",
    "PutMode",
    "Sink",
    "Store",
    "check_path",
    "open_store",
]
