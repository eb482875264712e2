"""A store on the local file system.

Ranges are slices of memory mappings: nothing is copied, and the pages of the file are read on first access. Tails are
read instead, because a mapping costs more than reading a few kilobytes. `durable` writes the files.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from threading import Lock
from typing import Final
from weakref import ref

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.runtime import threads
from lance_sql.runtime.caches import LruCache, Measured, Usage, alive
from lance_sql.store import durable, touched
from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Sink, check_path, check_ranges
from lance_sql.store.file_statuses import (
    Containment,
    FileStatuses,
    Status,
    has_settled,
    identity_of,
    read_status,
    status_of,
)
from lance_sql.store.touched import BLOCK_BYTES, TouchedBlocks

# Reading over a gap of a mapping costs nothing, because nothing is read before it is accessed.
GAP: Final = 2**62

_WHOLE_FILE: Final = 2**47

# A process may have some ten thousand mappings.
MAX_MAPPINGS: Final = 128

_OPEN_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    # Never open a link out of the table, or a pipe without a writer.
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Mapping:
    """All bytes of a file; see `MappedFile`.

    status: of the mapped file; a file that takes its place has another status
    """

    store: ref[LocalStore]
    path: str
    content: pa.Buffer
    mapping: _kernels.FileMapping | None
    status: Status
    identity: str
    local_path: str

    def touch(self, ranges: Sequence[tuple[int, int]]) -> None:
        store = self.store()
        # the store does not give back memory of files that it has freed
        if store is not None and store._mappings.peek(self.path) is self:
            store._touch(self.path, ranges)


class LocalStore:
    """The files below a folder. A symbolic link must not lead out of it; the folder itself may be one."""

    def __init__(self, root: str | os.PathLike[str], uri: str | None = None) -> None:
        self.uri = os.fspath(root) if uri is None else uri
        self._root = os.path.abspath(root)
        self._prefix = os.path.join(self._root, "")
        self._containment = Containment(self._root)
        self._changes = 0
        self._statuses = FileStatuses(self._prefix)
        self._touched = TouchedBlocks()
        self._mappings: LruCache[str, _Mapping] = LruCache(
            "mapped files", most_entries=MAX_MAPPINGS, dropped=self._touched.forget
        )
        self._lock = Lock()
        _stores[next(_numbers)] = ref(self)

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str, str]]:
        return LocalStore, (self._root, self.uri)

    @property
    def root(self) -> str:
        """The folder, as an absolute path."""
        return self._root

    gap = GAP
    concurrency = 1
    lists_by_name = False

    def local_path(self, path: str) -> str:
        check_path(path)
        self._containment.check_file(path)
        return self._prefix + path

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        content = self.mapped(path).content
        with at(file=path):
            check_ranges(ranges, content.size)
        self._touch(path, ranges)
        return [content.slice(start, end - start) for start, end in ranges]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        # Opening returns the size anyway: a known size saves nothing here.
        full = self.local_path(path)
        self._statuses.note(path)
        tail = _kernels.read_tail(full, min(num_bytes, _WHOLE_FILE))
        if tail is not None:
            return tail[0], pa.py_buffer(tail[1])
        descriptor, file_size = self._open(path)
        try:
            start = max(0, file_size - num_bytes)
            content = _read(descriptor, start, file_size - start)
        finally:
            os.close(descriptor)
        return file_size, pa.py_buffer(content)

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        for entry in self._scan(prefix):
            if _is(os.DirEntry.is_file, entry):
                yield ObjectInfo(f"{prefix}/{entry.name}", None)

    def names(self, prefix: str) -> list[str]:
        if prefix:
            check_path(prefix)
        with _none_where_absent():
            return os.listdir(os.path.join(self._root, prefix))
        return []

    def folders(self, prefix: str) -> Iterator[str]:
        for entry in self._scan(prefix):
            if _is(os.DirEntry.is_dir, entry):
                yield entry.name

    def modified(self, path: str) -> datetime | None:
        check_path(path)
        return datetime.fromtimestamp(os.stat(self._prefix + path).st_mtime, UTC)

    def identity(self, path: str) -> str | None:
        self._statuses.note(path)
        status = read_status(self._prefix + path)
        return None if status is None else identity_of(self._prefix + path, status)

    def has_settled(self, path: str) -> bool:
        """Whether every change of a file from now on is noticed: it was not written a moment ago."""
        return has_settled(self._prefix + path)

    @property
    def num_mapped(self) -> int:
        """Number of mapped files, each of which keeps its disk space when it is removed."""
        return len(self._mappings)

    def is_as_read(self) -> bool:
        """Whether all files that were read are still the same, so that cached results are valid.

        False if that is unknown: for very many files, and for files written just before they were read.
        """
        self._containment.forget()
        return self._statuses.are_current()

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        full = self._writable_path(path, makes_folder=mode not in ("next", "hint"))
        if mode in ("create", "next"):
            durable.create(full, data)
        else:
            durable.replace(full, data, flushes=mode == "overwrite")
        self._forget(path)

    def create(self, path: str) -> Sink:
        try:
            sink = durable.FileSink(self._writable_path(path))
        except FileNotFoundError:
            # another writer, whose first write failed, has removed the empty folder again
            sink = durable.FileSink(self._writable_path(path))
        self._forget(path)
        return sink

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self.local_path(path))
        self._forget(path)

    def _writable_path(self, path: str, *, makes_folder: bool = True) -> str:
        """Returns the absolute path of a file to write. Creates its folder, unless `makes_folder` is false."""
        check_path(path)
        full = os.path.join(self._root, path)
        folder = os.path.dirname(full)
        # Before the folder is created: it may be behind a link.
        self._containment.check(folder, path)
        if makes_folder:
            durable.make_folder(folder)
        return full

    def _forget(self, path: str) -> None:
        """Frees the mapping of a changed file."""
        with self._lock:
            self._changes += 1
            self._mappings.pop(path)
            self._touched.forget(path)

    def _scan(self, prefix: str) -> list[os.DirEntry[str]]:
        if prefix:
            check_path(prefix)
        with _none_where_absent(), os.scandir(os.path.join(self._root, prefix)) as entries:
            return list(entries)
        return []

    def mapped(self, path: str) -> _Mapping:
        """Maps a file. The bytes live as long as the store caches them, or any slice of them."""
        with self._lock:
            cached = self._mappings.get(path)
            changes = self._changes
        full = self._prefix + path
        # Another process may have replaced the file: a table that was dropped and written again.
        if cached is not None and cached.status == read_status(full):
            return cached
        self._statuses.note(path)
        descriptor, size = self._open(path)
        try:
            # An empty file cannot be mapped.
            mapping = _kernels.FileMapping(descriptor, size) if size else None
            status = status_of(os.fstat(descriptor))
        except _kernels.InvalidDataError as error:
            with at(file=path):
                raise CorruptFile(f"the file became shorter while it was read: {error}") from error
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            with at(file=path):
                raise UnsupportedFeature(f"a file of {size} bytes has no room in the address space") from error
        finally:
            os.close(descriptor)
        content = pa.foreign_buffer(mapping.address, size, mapping) if mapping is not None else pa.py_buffer(b"")
        mapped = _Mapping(ref(self), path, content, mapping, status, identity_of(full, status), full)
        with self._lock:
            # A mapping made while files changed may be of the old file.
            if changes == self._changes:
                if self._mappings.peek(path) is not None:
                    self._touched.forget(path)
                self._mappings.put(path, mapped)
        return mapped

    def _touch(self, path: str, ranges: Sequence[tuple[int, int]]) -> None:
        """Counts blocks that may be accessed, and gives memory back if there are too many."""
        with self._lock:
            paths = self._touched.touch(path, ranges)
            mappings = self._mappings_of(paths) if paths else ()
        for mapping in mappings:
            mapping.give_back()

    def release(self) -> None:
        """Gives back the memory of all files. Reading them again is cheap."""
        with self._lock:
            mappings = self._mappings_of(self._touched.release())
        for mapping in mappings:
            mapping.give_back()

    def _mappings_of(self, paths: Sequence[str]) -> list[_kernels.FileMapping]:
        mappings = [self._mappings.peek(path) for path in paths]
        return [each.mapping for each in mappings if each is not None and each.mapping is not None]

    def _open(self, path: str) -> tuple[int, int]:
        """Opens a file, and returns its descriptor and size."""
        check_path(path)
        full = os.path.join(self._root, path)
        self._containment.check(os.path.dirname(full), path)
        try:
            descriptor = os.open(full, _OPEN_FLAGS)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ENOTDIR):
                raise FileNotFoundError(error.errno, error.strerror, path) from error
            if error.errno not in (errno.ELOOP, errno.EMLINK):
                raise
            real = os.path.realpath(full)
            self._containment.check(os.path.dirname(real), path)
            descriptor = os.open(real, _OPEN_FLAGS)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return descriptor, status.st_size


def _is(kind: Callable[[os.DirEntry[str]], bool], entry: os.DirEntry[str]) -> bool:
    """Whether an entry is of a kind; False for a link to itself, which leads nowhere."""
    try:
        return kind(entry)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False


@contextmanager
def _none_where_absent() -> Iterator[None]:
    """Suppresses errors of a missing folder, including those of a name that is too long for the system."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            raise


_numbers: Final = count()
# Not a set of weak references, which runs Python to remove entries and could lose a signal. No lock either.
_stores: Final[dict[int, ref[LocalStore]]] = {}


def may_take_too_much() -> bool:
    """Whether there could be memory to give back. Does not ask the system, which takes longer than everything else at
    the end of a short stream."""
    counts = [store._touched.most_resident for store in alive(_stores)]
    return None in counts or sum(count for count in counts if count is not None) > touched.MAX_TOUCHED_BLOCKS


def release_memory() -> None:
    """Gives back the memory of files that the stores of the process have mapped, if it exceeds their bound. Called at
    the end of a scan."""
    if threads.is_ending() or not may_take_too_much():
        return
    stores = alive(_stores)
    resident = touched.resident_file_blocks()
    if any(store._touched.takes_too_much(resident) for store in stores):
        for store in stores:
            store.release()


def _usage() -> Usage:
    """Returns the blocks that may have been accessed, an upper bound of the mapped files in memory."""
    held = [store._touched for store in alive(_stores)]
    most = sum(each.most_kept for each in held) * BLOCK_BYTES
    return Usage(sum(each.num_files for each in held), sum(each.num_blocks for each in held) * BLOCK_BYTES, None, most)


def _release_all() -> None:
    for store in alive(_stores):
        store.release()


_MAPPED: Final = Measured("blocks of mapped files", _usage, _release_all)


def _renew_locks() -> None:
    """Renews the locks in a forked process, because threads of the parent may have held them."""
    for store in alive(_stores):
        store._lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _read(descriptor: int, start: int, length: int) -> bytes:
    if start:
        os.lseek(descriptor, start, os.SEEK_SET)
    parts = []
    while length > 0:
        part = os.read(descriptor, length)
        if not part:
            raise CorruptFile(f"the file became shorter while it was read: {length} bytes are missing")
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def remove_empty_folders(path: str) -> None:
    """Removes a folder and those in it, unless they contain files."""
    for folder, _, _ in os.walk(path, topdown=False):
        try:
            os.rmdir(folder)
        except OSError as error:
            # a writer has created something there since
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise
