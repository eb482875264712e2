"""A store that caches immutable files in a local folder as they are read.

Data files, deletion files and index files have unique names that are never reused. Names whose content may change,
such as those of versions, are requested every time. A manifest is read from the folder if the listing that has just
found it returns the tag of a cached content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import Any, Final, TypeVar
from weakref import ref

import pyarrow as pa

from lance_sql.errors import CorruptFile, at
from lance_sql.runtime.caches import LruCache, alive
from lance_sql.store.contract import ByteRange, ObjectInfo, PutMode, Sink, Store, check_path, check_ranges
from lance_sql.store.delegating import IMMUTABLE, DelegatingStore
from lance_sql.store.disk_cache import DEFAULT_BYTES, CachedFile, DiskCache

_VERSIONS: Final = "_versions"
_MOST_SIZES: Final = 65_536
_MOST_MANIFESTS: Final = 256

T = TypeVar("T")
_numbers: Final = count()
_stores: Final[dict[int, ref[CachedStore]]] = {}
_lock = Lock()
_caches: dict[tuple[str, int], DiskCache] = {}


class CachedStore(DelegatingStore):
    """The files of another store, cached. Thread-safe and picklable if that one is."""

    def __init__(self, files: Store, cache: DiskCache) -> None:
        super().__init__(files)
        self._cache = cache
        self._sizes: LruCache[str, int] = LruCache("sizes of cached files", most_entries=_MOST_SIZES)
        self._listed: LruCache[str, ObjectInfo] = LruCache("listed manifests", most_entries=_MOST_SIZES)
        self._manifests: LruCache[str, CachedFile] = LruCache("cached manifests", most_entries=_MOST_MANIFESTS)
        _stores[next(_numbers)] = ref(self)

    def __reduce__(self) -> tuple[Any, tuple[Store, str, int]]:
        return _restore, (self._files, str(self._cache.folder), self._cache.most_bytes)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        size = self._sizes.get(path)
        cached = self._cached_file(path, size)
        if cached is None or size is None:
            return self._files.get_ranges(path, ranges)
        with at(file=path):
            check_ranges(ranges, size)
        if not self._complete(path, cached, ranges):
            return self._files.get_ranges(path, ranges)
        return [cached.read(wanted) for wanted in ranges]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        check_path(path)
        # a second call for the same path must see the current file
        listed = self._listed.pop(path)
        if listed is not None and listed.tag is not None and listed.size:
            return self._manifest(listed, listed.size, listed.tag, num_bytes)
        is_told = size is not None
        if not is_told and path.startswith(IMMUTABLE):
            size = self._cache.size_of(self._files.uri, path)
        cached = self._cached_file(path, size)
        if cached is not None and size is not None:
            wanted = ByteRange(max(size - num_bytes, 0), size)
            try:
                is_complete = self._complete(path, cached, [wanted])
            except CorruptFile:
                # the size was wrong; the store raises the precise error
                is_complete = False
            if is_complete:
                self._sizes.put(path, size)
                return size, cached.read(wanted)
        file_size, content = self._files.tail(path, num_bytes, size=size if is_told else None)
        self._sizes.put(path, file_size)
        is_whole = file_size <= num_bytes and content.size == file_size
        if not is_told and is_whole and (cached := self._cached_file(path, file_size)) is not None:
            # the whole file came, so cache it as it is
            with suppress(OSError):
                cached.keep(ByteRange(0, file_size), content)
                self._cache.keep_size(self._files.uri, path, file_size)
                self._cache.added(file_size)
        return file_size, content

    def _manifest(self, listed: ObjectInfo, size: int, tag: str, num_bytes: int) -> tuple[int, pa.Buffer]:
        """Returns the size and the end of a file that was listed just now."""
        # only files that come as a whole are cached
        cached = self._cache.file(self._files.uri, f"{listed.path} {tag}", size) if size <= num_bytes else None
        wanted = ByteRange(0, size)
        if cached is not None:
            self._manifests.put(listed.path, cached)
            if not cached.missing([wanted]):
                return size, cached.read(wanted)
        file_size, content = self._files.tail(listed.path, num_bytes, size=size)
        if cached is None or not file_size == content.size == size:
            return file_size, content
        # Another content may have replaced it before it was read: then the tag has changed.
        if listed == next(self._files.files(_VERSIONS), None):
            with suppress(OSError):
                cached.keep(wanted, content)
                self._cache.added(len(content))
        return file_size, content

    def _cached_file(self, path: str, size: int | None) -> CachedFile | None:
        if not size or not path.startswith(IMMUTABLE):
            return None
        return self._cache.file(self._files.uri, path, size)

    def _complete(self, path: str, cached: CachedFile, ranges: Sequence[ByteRange]) -> bool:
        """Caches the missing parts of the ranges, and returns whether all of them are cached then.

        raises: as `get_ranges`
        """
        missing = cached.missing(ranges)
        if not missing:
            return True
        contents = self._files.get_ranges(path, missing)
        try:
            for where, content in zip(missing, contents, strict=True):
                cached.keep(where, content)
        except OSError:
            # the disk is full, or the folder was cleared
            return False
        self._cache.added(sum(end - start for start, end in missing))
        return True

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        if prefix != _VERSIONS:
            yield from self._files.files(prefix)
            return
        for info in self._files.files(prefix):
            self._listed.put(info.path, info)
            yield info

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        self._forget(path)
        self._files.put(path, data, mode=mode)

    def create(self, path: str) -> Sink:
        self._forget(path)
        return self._files.create(path)

    def delete(self, path: str) -> None:
        self._forget(path)
        self._files.delete(path)

    def forget(self, path: str) -> None:
        """Removes the cached bytes of a file."""
        self._forget(path)
        self._listed.pop(path)
        if (manifest := self._manifests.pop(path)) is not None:
            manifest.remove()
        self._cache.forget_size(self._files.uri, path)

    def _forget(self, path: str) -> None:
        size = self._sizes.pop(path)
        if size is not None and (cached := self._cached_file(path, size)) is not None:
            cached.remove()


def forget_cached(path: str) -> None:
    """Removes the cached bytes of a file that proved damaged, in all caches: they may be those of a wrong answer.

    path: below the root of its store
    """
    for store in alive(_stores):
        store.forget(path)


def read_twice(store: Store, path: str, read: Callable[[], T]) -> T:
    """Returns the result of reading a file. Reads a remote file again, past the caches, if it seems damaged: a proxy
    may have answered with other bytes.

    raises: as `read`
    """
    try:
        return read()
    except CorruptFile as error:
        if store.concurrency <= 1 or isinstance(error.__cause__, FileNotFoundError):
            raise
    forget_cached(path)
    return read()


def with_cache(store: Store, folder: str | None, most_bytes: int) -> Store:
    """Wraps a store in the cache in a folder. Returns the store itself without a folder, and if it is local."""
    if folder is None or store.concurrency <= 1:
        return store
    return CachedStore(store, cache_in(folder, most_bytes))


def cache_in(folder: str | os.PathLike[str], most_bytes: int = DEFAULT_BYTES) -> DiskCache:
    """Returns the cache in a folder, the same object for all stores of the process."""
    key = os.path.abspath(os.path.expanduser(folder)), most_bytes
    with _lock:
        if key not in _caches:
            _caches[key] = DiskCache(*key)
        return _caches[key]


def _restore(files: Store, folder: str, most_bytes: int) -> CachedStore:
    return CachedStore(files, cache_in(folder, most_bytes))


def _forget_caches() -> None:
    """Renews the lock in a forked process, because a thread of the parent may have held it."""
    global _lock
    _lock = Lock()
    _caches.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_caches)
