"""A store that counts its requests, with its own gap."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from threading import Lock

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.store import ByteRange, MemoryStore
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import list_versions


class CountingStore(MemoryStore):
    """Remembers each request: its path and ranges; a tail is one range."""

    def __init__(self, files: MutableMapping[str, bytes], gap: int = 2**62) -> None:
        super().__init__(files, "counted.lance")
        self.requests: list[tuple[str, list[ByteRange]]] = []
        self.gap = gap
        self._lock = Lock()

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        self._count(path, list(ranges))
        return super().get_ranges(path, ranges)

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        found, buffer = super().tail(path, num_bytes, size=size)
        self._count(path, [ByteRange(found - buffer.size, found)])
        return found, buffer

    def data_requests(self) -> list[list[ByteRange]]:
        """The ranges of each request to a data file, tails excluded."""
        with self._lock:
            tail = {path: len(content) for path, content in self._files.items()}
            return [
                ranges
                for path, ranges in self.requests
                if path.startswith("data/") and not (len(ranges) == 1 and ranges[0].end == tail[path])
            ]

    def data_bytes(self) -> int:
        """The bytes of all of them."""
        return sum(end - start for ranges in self.data_requests() for start, end in ranges)

    def clear(self) -> None:
        with self._lock:
            self.requests.clear()

    def open(self) -> Dataset:
        """The latest version of the table in this store."""
        return Dataset(Snapshot(self.uri, self, self, list_versions(self)[-1]))

    def _count(self, path: str, ranges: list[ByteRange]) -> None:
        with self._lock:
            self.requests.append((path, ranges))
