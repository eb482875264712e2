"""A store of bytes objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.store.contract import ByteRange, ObjectInfo, check_path, check_range


class MemoryStore:
    """Files in a mapping from path to content; ranges are slices of them, nothing is copied."""

    def __init__(self, files: Mapping[str, bytes], uri: str = "memory") -> None:
        self.uri = uri
        self._files = files

    @property
    def gap(self) -> int:
        # reading over a gap copies nothing
        return 2**62

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        content = self._content(path)
        with at(file=path):
            for wanted in ranges:
                check_range(wanted, content.size)
        return [content.slice(start, end - start) for start, end in ranges]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        content = self._content(path)
        return content.size, content.slice(max(0, content.size - num_bytes))

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for path, content in list(self._files.items()):
            folder, _, _ = path.rpartition("/")
            if folder == prefix:
                yield ObjectInfo(path, len(content))

    def folders(self, prefix: str) -> Iterator[str]:
        start = prefix + "/" if prefix else ""
        inner = (path.removeprefix(start) for path in list(self._files) if path.startswith(start))
        yield from sorted({rest.partition("/")[0] for rest in inner if "/" in rest})

    def _content(self, path: str) -> pa.Buffer:
        check_path(path)
        content = self._files.get(path)
        if content is None:
            if any(other.startswith(path + "/") for other in self._files):
                raise IsADirectoryError(path)
            raise FileNotFoundError(path)
        return pa.py_buffer(content)
