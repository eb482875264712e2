"""A store on any fsspec file system: object stores, HTTP, archives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument, at
from lance_sql.store.contract import ByteRange, ObjectInfo, check_path, check_range
from lance_sql.store.options import to_fsspec
from lance_sql.store.ranges import DEFAULT_GAP, merge


class FsspecStore:
    """The files below a URI. Neighbouring ranges are fetched together, separate ones at the same time.

    storage_options: for the file system; names of object_store (`aws_access_key_id`, ...) are translated
    """

    def __init__(self, uri: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.uri = uri
        self._options = dict(storage_options or {})
        # Only those who leave the local file system pay for its import.
        import fsspec

        scheme = uri.partition("://")[0]
        try:
            self._fs, root = fsspec.core.url_to_fs(uri, **to_fsspec(scheme, self._options))
        except (ImportError, ValueError) as error:
            raise InvalidArgument(f"Cannot open {uri!r}: {error}") from error
        self._root = str(root).rstrip("/")

    def __reduce__(self) -> tuple[type[FsspecStore], tuple[str, dict[str, Any]]]:
        return FsspecStore, (self.uri, self._options)

    @property
    def gap(self) -> int:
        return DEFAULT_GAP

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        full = self._full(path)
        with at(file=path):
            for wanted in ranges:
                check_range(wanted, max(wanted.end, 0))
        merged, placements = merge(ranges)
        parts = self._fetch(path, full, merged)
        return [
            parts[place.part].slice(place.offset, end - start)
            for place, (start, end) in zip(placements, ranges, strict=True)
        ]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        full = self._full(path)
        if size is None:
            info = self._fs.info(full)
            if info["type"] != "file":
                raise IsADirectoryError(path)
            size = int(info["size"])
        start = max(0, size - num_bytes)
        if start == size:
            return size, pa.py_buffer(b"")
        (content,) = self._fetch(path, full, [ByteRange(start, size)])
        return size, content

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for name, info in self._ls(prefix):
            if info["type"] == "file":
                yield ObjectInfo(f"{prefix}/{name}", info.get("size"))

    def folders(self, prefix: str) -> Iterator[str]:
        for name, info in self._ls(prefix):
            if info["type"] == "directory":
                yield name

    def _ls(self, prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        folder = self._full(prefix) if prefix else self._root
        # A listing that is remembered would hide the commits of others.
        self._fs.invalidate_cache(folder)
        try:
            entries = self._fs.ls(folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        for info in entries:
            full = str(info["name"]).rstrip("/")
            # Object stores list the marker of the folder itself.
            if full.lstrip("/") != folder.lstrip("/"):
                yield full.rpartition("/")[2], info

    def _fetch(self, path: str, full: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        # File systems differ in what they make of an empty range.
        asked = [wanted for wanted in ranges if wanted.end > wanted.start]
        starts = [wanted.start for wanted in asked]
        ends = [wanted.end for wanted in asked]
        fetched = iter(self._fs.cat_ranges([full] * len(asked), starts, ends, on_error="raise") if asked else ())
        contents = [next(fetched) if wanted.end > wanted.start else b"" for wanted in ranges]
        for wanted, content in zip(ranges, contents, strict=True):
            if len(content) != wanted.end - wanted.start:
                with at(file=path):
                    raise CorruptFile(
                        f"bytes {wanted.start} to {wanted.end} are asked for, but the file has"
                        f" {wanted.start + len(content)} at most"
                    )
        return [pa.py_buffer(content) for content in contents]

    def _full(self, path: str) -> str:
        check_path(path)
        return f"{self._root}/{path}"
