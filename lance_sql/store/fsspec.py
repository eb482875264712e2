"""A store on any fsspec file system: HTTP, archives, and object stores without a client of their own here."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import CorruptFile, InvalidArgument, StoreError, UnsupportedFeature, at
from lance_sql.runtime import observing
from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Sink, Unmapped, check_path, check_ranges
from lance_sql.store.ranges import ROUND_TRIP_BYTES, cut_out, merge
from lance_sql.store.requests import CONCURRENCY

# Options for one request that fails if the object exists. For other file systems fsspec checks first, or opens the file
# and fills it while readers see a part.
_CREATE: Final[Mapping[str, Mapping[str, Any]]] = {"memory": {"mode": "create"}}

# fsspec's memory file system checks first as well, but lives in one process.
_LOCK: Final = Lock()


class FsspecStore(Unmapped):
    """The files below a URI. Neighboring ranges are fetched together, separate ones at the same time.

    storage_options: for the file system
    """

    def __init__(self, uri: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.uri = uri
        self._options = dict(storage_options or {})
        # Only users of remote file systems pay for its import.
        import fsspec

        scheme = uri.partition("://")[0]
        try:
            # A separate instance, because shared ones cache listings: they would miss changes of other writers and
            # return old sizes.
            self._fs, root = fsspec.core.url_to_fs(uri, **self._options, skip_instance_cache=True)
        except (ImportError, ValueError) as error:
            hint = ": use s3://, gs://, az:// or another protocol of fsspec" if "not known" in str(error) else ""
            raise InvalidArgument(f"Cannot open {uri!r}: {error}{hint}") from error
        if hasattr(self._fs, "dircache"):
            self._fs.dircache = fsspec.spec.DirCache(use_listings_cache=False)
        self._scheme = scheme
        self._root = str(root).rstrip("/")

    def __reduce__(self) -> tuple[type[FsspecStore], tuple[str, dict[str, Any]]]:
        return FsspecStore, (self.uri, self._options)

    gap = ROUND_TRIP_BYTES

    @property
    def concurrency(self) -> int:
        # Other file systems may have one connection, which takes one request at a time.
        return CONCURRENCY if self._fs.async_impl else 1

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        full = self._full(path)
        with at(file=path):
            for wanted in ranges:
                check_ranges([wanted], max(wanted.end, 0))
        parts, placements = merge(ranges)
        return cut_out(ranges, placements, self._fetch(path, full, parts))

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        full = self._full(path)
        if size is None:
            info = self._ask("info", full)
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

    def modified(self, path: str) -> datetime | None:
        try:
            modified = self._ask("modified", self._full(path))
        except NotImplementedError:
            # a file of unknown age counts as young, so that no file in use is removed
            return None
        if not isinstance(modified, datetime):
            return None
        return modified.replace(tzinfo=UTC) if modified.tzinfo is None else modified.astimezone(UTC)

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        full = self._full(path)
        content = bytes(memoryview(data))
        if mode not in ("create", "next"):
            self._make_folder(full)
            self._ask("pipe_file", full, content)
            return
        options = self._create_options()
        with _LOCK if self._scheme == "memory" else nullcontext():
            self._make_folder(full)
            try:
                self._ask("pipe_file", full, content, **options)
            except OSError as error:
                if isinstance(error, FileExistsError):
                    raise FileExistsError(path) from error
                raise

    def create(self, path: str) -> Sink:
        full = self._full(path)
        self._make_folder(full)
        return FsspecSink(self._fs, full)

    def delete(self, path: str) -> None:
        full = self._full(path)
        with suppress(FileNotFoundError):
            self._ask("rm_file", full)

    def _create_options(self) -> Mapping[str, Any]:
        """Returns the options with which `pipe_file` creates a file that only one writer can create.

        raises: UnsupportedFeature
        """
        options = _CREATE.get(self._scheme)
        # Asynchronous file systems implement the method with the underscore.
        parameters = inspect.signature(getattr(self._fs, "_pipe_file", self._fs.pipe_file)).parameters
        if options is None or not parameters.keys() >= options.keys():
            raise UnsupportedFeature(
                f"the file system of {self._scheme}:// cannot create a file only if it does not exist, so two writers"
                " could overwrite each other's commits; write to a local path, s3, gs or az, or pass manifest_store="
            )
        return options

    def _make_folder(self, full: str) -> None:
        # No effect on object stores, whose folders are parts of names.
        self._ask("makedirs", full.rpartition("/")[0], exist_ok=True)

    def _ls(self, prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        folder = self._full(prefix) if prefix else self._root
        try:
            entries = self._ask("ls", folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        for info in entries:
            full = str(info["name"]).rstrip("/")
            # Object stores list a marker for the folder itself.
            if full.lstrip("/") != folder.lstrip("/"):
                yield full.rpartition("/")[2], info

    def _fetch(self, path: str, full: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        # File systems differ in how they handle an empty range.
        asked = [wanted for wanted in ranges if wanted.end > wanted.start]
        fetched = iter(self._asked(path, full, asked) if asked else ())
        contents = [next(fetched) if wanted.end > wanted.start else b"" for wanted in ranges]
        return [pa.py_buffer(content) for content in contents]

    def _asked(self, path: str, full: str, ranges: Sequence[ByteRange]) -> Sequence[bytes]:
        """Returns the content of ranges that are not empty. Asks again once for an answer of another length.

        raises: CorruptFile for a file that ends before a range; StoreError
        """
        starts, ends = [wanted.start for wanted in ranges], [wanted.end for wanted in ranges]
        for is_last in (False, True):
            contents: Sequence[bytes] = self._ask("cat_ranges", [full] * len(ranges), starts, ends, on_error="raise")
            wrong = [
                (wanted, len(content))
                for wanted, content in zip(ranges, contents, strict=True)
                if len(content) != wanted.end - wanted.start
            ]
            if not wrong:
                return contents
            (start, end), num_bytes = wrong[0]
            size = self._ask("info", full).get("size")
            if size is None or size < end:
                with at(file=path):
                    raise CorruptFile(
                        f"bytes {start} to {end} were requested, but the file has {start + num_bytes} at most"
                    )
            if is_last:
                raise StoreError(
                    f"{self.uri}: the answer of the store for {path} is wrong: it has {num_bytes} bytes in place of"
                    f" {start} to {end}: try again"
                )
        raise AssertionError

    def _ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Calls a method of the file system, and records it as a request."""
        with observing.recorded("request", store=self.uri, verb=method):
            return getattr(self._fs, method)(*arguments, **options)

    def _full(self, path: str) -> str:
        check_path(path)
        return f"{self._root}/{path}"


class FsspecSink:
    """A file of an fsspec file system. Object stores make it visible when it is closed."""

    def __init__(self, fs: Any, full: str) -> None:
        self._fs = fs
        self._full = full
        self._file = fs.open(full, "wb")
        self._position = 0
        self._is_open = True

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        content = memoryview(data)
        self._file.write(content)
        self._position += content.nbytes

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        with observing.recorded("request", store=self._full, verb="close", bytes=self._position):
            self._file.close()
        self._is_open = False

    def abort(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        # Ends a multi-part upload, if any; the uploaded parts are removed.
        with suppress(Exception):
            self._file.discard()
        with suppress(Exception):
            self._file.closed = True
        with suppress(Exception):
            self._file.close()
        with suppress(Exception):
            self._fs.rm_file(self._full)
