"""What a store is, and the rule for paths in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

import pyarrow as pa

from lance_sql.errors import CorruptFile

_MAX_PATH_LENGTH = 1024

# Nearly every path, and none that the checks turn down.
_ORDINARY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")


class ByteRange(NamedTuple):
    """The bytes [start, end) of a file."""

    start: int
    end: int


class ObjectInfo(NamedTuple):
    """A file in a listing. `size` is None where the store would have to ask for it.

    tag: of its content, which another content has not; None where the store does not tell
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
        """The number of bytes written so far."""

    def close(self) -> None:
        """Makes the file durable: once this returns, it survives a crash."""

    def abort(self) -> None:
        """Removes what was written; never raises, and does nothing after `close`."""


class MappedFile(Protocol):
    """The bytes of a file where they are in memory. Can be referred to weakly."""

    @property
    def identity(self) -> str:
        """See `Store.identity`."""

    def touch(self, ranges: Sequence[ByteRange]) -> None:
        """Says which of the bytes are about to be looked at, by who was given them before; see `Store.get_ranges`."""


class Store(Protocol):
    """The files below one root. Thread-safe and picklable.

    What a method says of a file or folder holds at some moment during the call: nothing is answered from what was
    remembered, for another writer may have changed it.

    Every method raises CorruptFile for a path that `check_path` turns down, FileNotFoundError for a file that
    is not there, and IsADirectoryError for a folder where a file is meant.
    """

    @property
    def uri(self) -> str:
        """The root as the user spelled it."""

    @property
    def gap(self) -> int:
        """Bytes between two ranges that are better read over than asked for separately."""

    @property
    def concurrency(self) -> int:
        """How many requests at once pay off; 1 where nothing is waited for. See `requests.together`."""

    @property
    def lists_by_name(self) -> bool:
        """Whether `files` yields in ascending order of names, and asks for more only as they are taken."""

    def local_path(self, path: str) -> str | None:
        """Where an object is in the local file system; None where it is elsewhere.

        raises: CorruptFile for a path that leads out of the store
        """

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        """The bytes of each range, in the order asked for; each buffer has exactly the length of its range.

        raises: CorruptFile when a range goes past the end of the file
        """

    def mapped(self, path: str) -> MappedFile | None:
        """A local file that is mapped into memory: the same object until another file takes its place or the store lets
        go of it, which ends what is kept by it. None of a store that maps no files.

        raises: CorruptFile for a file that is being cut off; as `get_ranges`
        """

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        """The size of the file and its last `num_bytes` bytes, or all of it when it is shorter.

        size: the size of the file if it is known, which saves a request; a wrong one raises CorruptFile or
            gives another part of the file
        """

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        """The files right below a folder, none without such a folder; see `lists_by_name`."""

    def names(self, prefix: str) -> list[str] | None:
        """The names right below a folder in any order, of files and whatever else, none without such a folder; None
        where `files` tells as much for the same price."""

    def folders(self, prefix: str) -> Iterator[str]:
        """The names of the folders right below a folder ("" is the root)."""

    def modified(self, path: str) -> datetime | None:
        """When a file was written last, UTC; None when the store does not know."""

    def identity(self, path: str) -> str | None:
        """What tells the file from any other that has been or will be in its place; None where there is none, or where
        the store would have to ask for it."""

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        """Writes a whole file at once, durably; readers see all of it or nothing. Folders are made.

        mode: "create" for a file that must not exist yet, of several writers one wins; "next" likewise, in a folder
            that has to be there where the store has folders: one that was removed is not made again; "overwrite" for
            any;
            "hint" likewise, but a crash may leave it as it was, or empty, on a disk that would have to be waited for
        raises: FileExistsError when the file of "create" exists, which it may do because a request was carried out, got
            no answer and was sent again; UnsupportedFeature when the store cannot tell
        """

    def create(self, path: str) -> Sink:
        """A new file to be written piece by piece. Folders are made.

        The file may be seen before it is complete: its name must be one that nobody knows yet.
        """

    def delete(self, path: str) -> None:
        """Removes a file; no error when it is not there."""


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


def check_range(wanted: ByteRange, size: int) -> None:
    """Makes sure that a range lies inside of a file of `size` bytes.

    raises: CorruptFile
    """
    start, end = wanted
    if not 0 <= start <= end <= size:
        raise CorruptFile(f"bytes {start} to {end} are asked for, but the file has {size}")
