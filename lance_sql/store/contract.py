"""The interface of stores, and the rule for their paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

import pyarrow as pa

from lance_sql.errors import CorruptFile

_MAX_PATH_LENGTH = 1024

# Nearly every path, and none that the checks reject.
_ORDINARY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")


class ByteRange(NamedTuple):
    """The bytes [start, end) of a file."""

    start: int
    end: int


class ObjectInfo(NamedTuple):
    """A file in a listing. `size` is None if the store would need a request for it.

    tag: identifies its content; None if the store does not return one
    """

    path: str
    size: int | None
    tag: str | None = None


PutMode = Literal["create", "next", "overwrite", "hint"]


class Sink(Protocol):
    """A new file that is written from its start to its end. Not thread-safe; ends with `close` or `abort`."""

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        """Adds bytes at the end."""

    def tell(self) -> int:
        """Returns the number of bytes written so far."""

    def close(self) -> None:
        """Makes the file durable: once this returns, it survives a crash."""

    def abort(self) -> None:
        """Removes the written bytes; never raises, and does nothing after `close`."""


class MappedFile(Protocol):
    """The bytes of a file, mapped into memory. Supports weak references."""

    @property
    def identity(self) -> str:
        """Identity of the file, as `Store.identity` returns it."""

    @property
    def content(self) -> pa.Buffer:
        """All bytes of the file."""

    @property
    def local_path(self) -> str:
        """See `Store.local_path`."""

    def touch(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Marks bytes, returned by an earlier read, as about to be used; see `Store.get_ranges`."""


class Store(Protocol):
    """The files below one root. Thread-safe and picklable.

    A result holds at some moment during the call: no method answers from a cache, because another writer may have
    changed the file.

    Every method raises CorruptFile for a path that `check_path` rejects, FileNotFoundError for a missing file, and
    IsADirectoryError for a folder in place of a file.
    """

    @property
    def uri(self) -> str:
        """The root in the user's spelling."""

    @property
    def gap(self) -> int:
        """Maximum bytes between two ranges that are cheaper to read over than to request separately."""

    @property
    def concurrency(self) -> int:
        """Number of simultaneous requests that pay off; 1 for stores without waiting. See `requests.concurrently`."""

    @property
    def lists_by_name(self) -> bool:
        """Whether `files` yields in ascending order of names, and requests more only as they are consumed."""

    def local_path(self, path: str) -> str | None:
        """Returns the local path of an object, or None if it is elsewhere.

        raises: CorruptFile for a path that leads out of the store
        """

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """Returns the bytes of each range, in the given order. Each buffer has exactly the length of its range.

        raises: CorruptFile if a range goes past the end of the file
        """

    def mapped(self, path: str) -> MappedFile | None:
        """Returns a local file mapped into memory: the same object until another file takes its place or the store
        frees it, which also ends the caches keyed by it. None for a store that maps no files.

        raises: CorruptFile for a file that is being truncated; as `get_ranges`
        """

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        """Returns the size of the file and its last `num_bytes` bytes, or all of it if it is shorter.

        size: the size of the file if it is known, which saves a request; a wrong one raises CorruptFile or
            returns another part of the file
        """

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        """Yields the files directly in a folder, none if it does not exist; see `lists_by_name`."""

    def names(self, prefix: str) -> list[str] | None:
        """Returns the names directly in a folder, of files and anything else, in any order; none if it does not exist.
        None if `files` returns the same at the same cost."""

    def folders(self, prefix: str) -> Iterator[str]:
        """Yields the names of the folders directly in a folder ("" is the root)."""

    def modified(self, path: str) -> datetime | None:
        """Returns the time of the last write of a file, UTC, or None if the store has no times."""

    def identity(self, path: str) -> str | None:
        """Returns a text that identifies the file among all that have been or will be in its place. None if there is no
        file, or if the store would need a request for it."""

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        """Writes a whole file at once, durably. Readers see all of it or nothing. Creates missing folders.

        mode: "create" for a file that must not exist yet: of several writers one wins; "next" likewise, but the folder
            must exist on stores with folders: a removed one is not created again; "overwrite" for any file; "hint"
            likewise, but without waiting for the disk: a crash may leave the old file or an empty one
        raises: FileExistsError if the file of "create" exists, possibly because a request succeeded without an answer
            and was sent again; UnsupportedFeature if the store cannot detect it
        """

    def create(self, path: str) -> Sink:
        """Creates a file to be written piece by piece. Creates missing folders.

        The file may be visible before it is complete: its name must be new and unknown to readers.
        """

    def delete(self, path: str) -> None:
        """Removes a file. A missing file is not an error."""


class Unmapped:
    """Answers of a `Store` whose files have neither local paths nor mappings, and are listed in any order."""

    lists_by_name: bool = False

    def local_path(self, path: str) -> str | None:
        return None

    def mapped(self, path: str) -> MappedFile | None:
        return None

    def names(self, prefix: str) -> list[str] | None:
        return None

    def identity(self, path: str) -> str | None:
        return None


def check_path(path: str) -> None:
    """Makes sure that a path stays below the root of its store.

    raises: CorruptFile for an empty, absolute or over-long path, and for one with a NUL, a backslash, or an
        empty, `.` or `..` segment
    """
    if len(path) <= _MAX_PATH_LENGTH and _ORDINARY.fullmatch(path):
        return
    if not path:
        raise CorruptFile("an empty path")
    if len(path) > _MAX_PATH_LENGTH:
        raise CorruptFile(f"a path of {len(path)} characters: {path[:60]!r}...")
    if "\0" in path or "\\" in path:
        raise CorruptFile(f"the path {path!r} has a NUL or a backslash in it")
    if path.startswith("/"):
        raise CorruptFile(f"the path {path!r} is absolute")
    if any(segment in ("", ".", "..") for segment in path.split("/")):
        raise CorruptFile(f"the path {path!r} has an empty, '.' or '..' segment")


def check_ranges(wanted: Iterable[ByteRange], size: int) -> None:
    """Makes sure that ranges are inside a file of `size` bytes.

    raises: CorruptFile
    """
    for start, end in wanted:
        if not 0 <= start <= end <= size:
            raise CorruptFile(f"bytes {start} to {end} were requested, but the file has {size}")
