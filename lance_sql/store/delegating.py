"""A base class for stores that wrap another store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import pyarrow as pa

from lance_sql.store.contract import ByteRange, MappedFile, ObjectInfo, PutMode, Sink, Store

IMMUTABLE: Final = ("data/", "_deletions/", "_indices/")
"""Folders of files that are written once, under new names."""


class DelegatingStore:
    """The files of another store. Every method delegates to it unless a derived class overrides it.

    uri: in the user's spelling; defaults to that of the other store
    """

    def __init__(self, files: Store, uri: str | None = None) -> None:
        self.uri = files.uri if uri is None else uri
        self._files = files

    @property
    def gap(self) -> int:
        return self._files.gap

    @property
    def concurrency(self) -> int:
        return self._files.concurrency

    @property
    def lists_by_name(self) -> bool:
        return self._files.lists_by_name

    def local_path(self, path: str) -> str | None:
        return self._files.local_path(path)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        return self._files.get_ranges(path, ranges)

    def mapped(self, path: str) -> MappedFile | None:
        return self._files.mapped(path)

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        return self._files.tail(path, num_bytes, size=size)

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        return self._files.files(prefix)

    def names(self, prefix: str) -> list[str] | None:
        return self._files.names(prefix)

    def folders(self, prefix: str) -> Iterator[str]:
        return self._files.folders(prefix)

    def modified(self, path: str) -> datetime | None:
        return self._files.modified(path)

    def identity(self, path: str) -> str | None:
        return self._files.identity(path)

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        self._files.put(path, data, mode=mode)

    def create(self, path: str) -> Sink:
        return self._files.create(path)

    def delete(self, path: str) -> None:
        self._files.delete(path)
