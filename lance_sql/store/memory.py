"""A store of bytes objects."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from datetime import datetime
from threading import Lock
from typing import Final

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Sink, Unmapped, check_path, check_ranges

# One lock for all stores, because several may share a mapping.
_LOCK: Final = Lock()


class MemoryStore(Unmapped):
    """Files in a mapping from path to content; ranges are slices of them, nothing is copied.

    files: shared with the caller; a pickled store has a copy
    """

    def __init__(self, files: MutableMapping[str, bytes], uri: str = "memory") -> None:
        self.uri = uri
        self._files = files

    # reading over a gap copies nothing
    gap = 2**62
    concurrency = 1

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        content = self._content(path)
        with at(file=path):
            check_ranges(ranges, content.size)
        return [content.slice(start, end - start) for start, end in ranges]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        content = self._content(path)
        return content.size, content.slice(max(0, content.size - num_bytes))

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for path, content in dict(self._files).items():
            folder, _, _ = path.rpartition("/")
            if folder == prefix:
                yield ObjectInfo(path, len(content))

    def folders(self, prefix: str) -> Iterator[str]:
        start = prefix + "/" if prefix else ""
        inner = (path.removeprefix(start) for path in list(self._files) if path.startswith(start))
        yield from sorted({rest.partition("/")[0] for rest in inner if "/" in rest})

    def modified(self, path: str) -> datetime | None:
        self._content(path)
        return None

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        check_path(path)
        content = bytes(memoryview(data))
        with _LOCK:
            if mode in ("create", "next") and path in self._files:
                raise FileExistsError(path)
            self._files[path] = content

    def create(self, path: str) -> Sink:
        check_path(path)
        return MemorySink(self, path)

    def delete(self, path: str) -> None:
        check_path(path)
        with _LOCK:
            self._files.pop(path, None)

    def _content(self, path: str) -> pa.Buffer:
        check_path(path)
        content = self._files.get(path)
        if content is None:
            if any(other.startswith(path + "/") for other in self._files):
                raise IsADirectoryError(path)
            raise FileNotFoundError(path)
        return pa.py_buffer(content)


class MemorySink:
    """A file of a MemoryStore that appears when it is closed."""

    def __init__(self, store: MemoryStore, path: str) -> None:
        self._store = store
        self._path = path
        self._content = bytearray()

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        self._content += memoryview(data)

    def tell(self) -> int:
        return len(self._content)

    def close(self) -> None:
        self._store.put(self._path, bytes(self._content), mode="create")

    def abort(self) -> None:
        self._content.clear()
