"""A disk cache for bytes of files in object stores: a bounded local folder, shared by processes.

    folder/ab12...  | header | the file's cached bytes; holes elsewhere           | record | record | ...
                    0        4096                                             4096 + size

The folder has one sparse file for each file of a store, so that cached bytes are read in place, mapped into memory. The
header identifies the file. Each record after the bytes names a cached block and the checksum of its bytes. A block is
written before its record. A reader trusts a record, and uses a block only if its checksum is right. Each append of
records is one write, so that processes need no locks: two that cache the same block write the same bytes. Files are
evicted as a whole, the least recently used first.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final
from uuid import uuid4

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.runtime.caches import LruCache
from lance_sql.store.contract import ByteRange

BLOCK_BYTES: Final = 256 * 1024
DEFAULT_BYTES: Final = 10 * 1024**3
"""Default limit for all files in a folder."""

_MAGIC: Final = b"lance-sql cache 1\n"
_HEADER_BYTES: Final = 4096
_RECORD: Final = struct.Struct("<IIQ")
"""Record of a block: its number, the checksum of its bytes, and a checksum of both with the header of the file."""

_SHARE_BETWEEN_SWEEPS: Final = 16
"""The folder is checked after each added 1/n of its maximum size, where n is this number."""

_SHARE_LEFT: Final = 0.9
"""Share of the maximum size that remains after files were evicted."""

_SECONDS_BETWEEN_TOUCHES: Final = 10.0
_SIZE: Final = ".size"
_MOST_OPEN: Final = 256


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A file with some bytes in the folder.

    size: of the file itself
    cached_bytes: number of its bytes in the folder
    used: time of the last use, seconds since 1970
    """

    uri: str
    path: str
    size: int
    cached_bytes: int
    used: float


class DiskCache:
    """A folder of cached bytes. Thread-safe; any number of processes may use it.

    folder: created if it does not exist
    most_bytes: maximum size of its files; exceeded briefly while files are added
    """

    def __init__(self, folder: str | os.PathLike[str], most_bytes: int = DEFAULT_BYTES) -> None:
        self.folder = Path(folder).expanduser()
        self.most_bytes = most_bytes
        self._lock = Lock()
        self._open: LruCache[str, CachedFile] = LruCache("open files of the disk cache", most_entries=_MOST_OPEN)
        self._added = most_bytes
        """Bytes added since the folder was last checked."""

    def file(self, uri: str, path: str, size: int) -> CachedFile | None:
        """Opens the cached bytes of a file of that size. Returns None if nothing can be cached.

        uri: of the store
        """
        name = hashlib.sha256(f"{uri}\n{path}\n{size}".encode()).hexdigest()
        file = self._open.get(name)
        # a file that another process has removed is created again, so that all processes find it
        if file is not None and file.is_there:
            file.touch()
            return file
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = CachedFile.open(self.folder / name, {"uri": uri, "path": path, "size": size})
        except (OSError, ValueError):
            # a full disk, or a read-only folder: the cache is optional
            return None
        self._open.put(name, file)
        return file

    def size_of(self, uri: str, path: str) -> int | None:
        """Returns the size of a file, if it was cached."""
        try:
            size = int(self._size_file(uri, path).read_text("ascii"))
        except (OSError, ValueError):
            return None
        return size if size > 0 else None

    def keep_size(self, uri: str, path: str, size: int) -> None:
        """Caches the size of a file for which the table does not record it."""
        target = self._size_file(uri, path)
        unfinished = target.with_name(f"{target.name}.{uuid4().hex}")
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(str(size), "ascii")
            os.replace(unfinished, target)

    def forget_size(self, uri: str, path: str) -> None:
        """Removes the cached size of a file."""
        with suppress(OSError):
            self._size_file(uri, path).unlink()

    def _size_file(self, uri: str, path: str) -> Path:
        return self.folder / (hashlib.sha256(f"{uri}\n{path}".encode()).hexdigest() + _SIZE)

    def added(self, num_bytes: int) -> None:
        """Counts cached bytes, and evicts the least recently used files if there are too many."""
        with self._lock:
            self._added += num_bytes
            if self._added * _SHARE_BETWEEN_SWEEPS < self.most_bytes:
                return
            self._added = 0
        self._sweep()

    def files(self) -> Iterator[CacheEntry]:
        """Yields the files in the folder, the most recently used first."""
        for entry in sorted(self._entries(), key=lambda each: -each.stat().st_mtime):
            with suppress(OSError, ValueError):
                said = _read_header(Path(entry.path))
                stat = entry.stat()
                cached_bytes = min(stat.st_blocks * 512, stat.st_size)
                yield CacheEntry(
                    str(said["uri"]), str(said["path"]), int(str(said["size"])), cached_bytes, stat.st_mtime
                )

    def clear(self) -> int:
        """Removes all files. Open readers continue. Returns the number of removed files."""
        count = 0
        for entry in self._entries():
            with suppress(OSError):
                os.unlink(entry.path)
                count += not entry.name.endswith(_SIZE)
        self._open.clear()
        return count

    def _entries(self) -> list[os.DirEntry[str]]:
        with suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            # our own names, and those of unfinished files that a process has left
            return [each for each in entries if each.is_file(follow_symlinks=False) and _is_ours(each.name)]
        return []

    def _sweep(self) -> None:
        entries = []
        for entry in self._entries():
            with suppress(OSError):
                stat = entry.stat()
                entries.append((stat.st_mtime, stat.st_blocks * 512, entry.path))
        total = sum(size for _, size, _ in entries)
        if total <= self.most_bytes:
            return
        for _, size, path in sorted(entries):
            if total <= self.most_bytes * _SHARE_LEFT:
                return
            with suppress(OSError):
                os.unlink(path)
            total -= size


class CachedFile:
    """The cached bytes of one file. Thread-safe."""

    def __init__(self, path: Path, size: int, header: bytes) -> None:
        self._path = path
        self._size = size
        self._key = hashlib.sha256(header).digest()
        self._lock = Lock()
        self._records: dict[int, int] = {}
        self._checked: set[int] = set()
        self._read_to = size + _HEADER_BYTES
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            self._identity = stat.st_dev, stat.st_ino
            if stat.st_size < self._read_to:
                raise ValueError(f"{path}: cut off")
            mapping = _kernels.FileMapping(file.fileno(), self._read_to)
            self._bytes = pa.foreign_buffer(mapping.address, self._read_to, mapping).slice(_HEADER_BYTES, size)
            self._read_records(file.fileno())
        self._touched = 0.0
        self.touch()

    @classmethod
    def open(cls, path: Path, said: dict[str, object]) -> CachedFile:
        """Opens the file with this header. Creates it if it is missing or damaged.

        raises: OSError
        """
        size = int(str(said["size"]))
        header = _header(said)
        try:
            is_right = _read_header(path) == said and path.stat().st_size >= _HEADER_BYTES + size
        except FileNotFoundError:
            is_right = False
        except (OSError, ValueError):
            path.unlink(missing_ok=True)
            is_right = False
        if not is_right:
            unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
            try:
                with unfinished.open("wb") as file:
                    file.write(header)
                    file.truncate(_HEADER_BYTES + size)
                os.replace(unfinished, path)
            finally:
                unfinished.unlink(missing_ok=True)
        return cls(path, size, header)

    @property
    def is_there(self) -> bool:
        """Whether other processes still find this file under its name."""
        try:
            stat = os.stat(self._path)
        except OSError:
            return False
        return (stat.st_dev, stat.st_ino) == self._identity

    def touch(self) -> None:
        """Marks the file as used, once in a while."""
        now = time.monotonic()
        if not self._touched or now > self._touched + _SECONDS_BETWEEN_TOUCHES:
            self._touched = now
            with suppress(OSError):
                os.utime(self._path)

    def remove(self) -> None:
        """Removes the file from the cache."""
        with suppress(OSError):
            self._path.unlink()

    def missing(self, ranges: Sequence[ByteRange]) -> list[ByteRange]:
        """Returns the blocks of these ranges that are not cached, neighbors as one, in ascending order."""
        numbers = sorted({number for each in ranges for number in _blocks(each)})
        missing = [number for number in numbers if not self._has(number)]
        if missing:
            # another process may have added them since
            with suppress(OSError), self._path.open("rb") as file:
                self._read_records(file.fileno())
            missing = [number for number in missing if not self._has(number)]
        missing_ranges: list[ByteRange] = []
        for number in missing:
            start, end = number * BLOCK_BYTES, min((number + 1) * BLOCK_BYTES, self._size)
            if missing_ranges and missing_ranges[-1].end == start:
                missing_ranges[-1] = ByteRange(missing_ranges[-1].start, end)
            else:
                missing_ranges.append(ByteRange(start, end))
        return missing_ranges

    def read(self, wanted: ByteRange) -> pa.Buffer:
        """Returns cached bytes without a copy."""
        return self._bytes.slice(wanted.start, wanted.end - wanted.start)

    def keep(self, where: ByteRange, content: pa.Buffer) -> None:
        """Caches some blocks.

        where: from the start of a block to the end of one, or of the file
        raises: OSError
        """
        data = memoryview(content)
        records = []
        numbers = list(_blocks(where))
        for number in numbers:
            start = number * BLOCK_BYTES - where.start
            records.append((number, zlib.crc32(data[start : start + BLOCK_BYTES])))
        file = os.open(self._path, os.O_WRONLY)
        try:
            stat = os.fstat(file)
            if (stat.st_dev, stat.st_ino) != self._identity:
                raise OSError("the file was removed")
            done = 0
            while done < len(data):
                done += os.pwrite(file, data[done:], _HEADER_BYTES + where.start + done)
        finally:
            os.close(file)
        end = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(end, b"".join(self._record(number, checksum) for number, checksum in records))
        finally:
            os.close(end)
        with self._lock:
            self._records.update(records)
            self._checked.update(numbers)

    def _has(self, number: int) -> bool:
        """Whether a block is cached and undamaged. Its checksum is verified once."""
        with self._lock:
            if number in self._checked:
                return True
            checksum = self._records.get(number)
        if checksum is None:
            return False
        start = number * BLOCK_BYTES
        content = self.read(ByteRange(start, min(start + BLOCK_BYTES, self._size)))
        is_right = zlib.crc32(content) == checksum
        with self._lock:
            if is_right:
                self._checked.add(number)
            else:
                self._records.pop(number, None)
        return is_right

    def _read_records(self, file: int) -> None:
        """Reads the records that were appended since the last call."""
        with self._lock:
            end = os.fstat(file).st_size
            content = os.pread(file, end - self._read_to, self._read_to) if end > self._read_to else b""
            whole = len(content) // _RECORD.size * _RECORD.size
            for record in _RECORD.iter_unpack(content[:whole]):
                number, checksum, _ = record
                # nothing after a truncated record is trusted: the file is removed and created again
                if self._record(number, checksum) != _RECORD.pack(*record):
                    self.remove()
                    break
                self._records[number] = checksum
                self._read_to += _RECORD.size

    def _record(self, number: int, checksum: int) -> bytes:
        own = hashlib.blake2b(struct.pack("<II", number, checksum), key=self._key, digest_size=8).digest()
        return _RECORD.pack(number, checksum, int.from_bytes(own, "little"))


def _blocks(where: ByteRange) -> range:
    return range(where.start // BLOCK_BYTES, -(-where.end // BLOCK_BYTES)) if where.end > where.start else range(0)


def _is_ours(name: str) -> bool:
    return len(name.partition(".")[0]) == 64 and not set(name.partition(".")[0]) - set("0123456789abcdef")


def _header(said: dict[str, object]) -> bytes:
    text = json.dumps(said, sort_keys=True).encode()
    content = _MAGIC + struct.pack("<II", len(text), zlib.crc32(text)) + text
    if len(content) > _HEADER_BYTES:
        raise ValueError("a name that is too long")
    return content.ljust(_HEADER_BYTES, b"\0")


def _read_header(path: Path) -> dict[str, object]:
    """Returns the content of the header of a cached file.

    raises: ValueError for a file that is not one of a cache; OSError
    """
    with path.open("rb") as file:
        content = file.read(_HEADER_BYTES)
    if len(content) == _HEADER_BYTES and content.startswith(_MAGIC):
        length, checksum = struct.unpack_from("<II", content, len(_MAGIC))
        text = content[len(_MAGIC) + 8 :][:length]
        if zlib.crc32(text) == checksum:
            said: dict[str, object] = json.loads(text)
            return said
    raise ValueError(f"{path}: not a file of a cache")
