"""Local files that survive a crash once they are written, and that appear whole.

    _versions/.tmp_7.manifest_3f2c...    written and flushed to the disk, then
    _versions/7.manifest                 linked under its name, which fails when the name is taken

A rename would overwrite, and a file that is created under its own name is visible before it is complete.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.runtime import threads

TEMPORARY: Final = ".tmp_"
"""Prefix of the names of incomplete files. One may remain after a crash."""

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
# Some file systems cannot flush folders.
_NO_FOLDER_FLUSH: Final = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_BUFFER_BYTES: Final = 256 * 1024
# Flushing early keeps the disk busy while the rest of a file is made.
_BYTES_PER_FLUSH: Final = 32 * 1024 * 1024


class UnconfirmedError(OSError):
    """A file exists and can be read, but the disk has not confirmed that its name survives a crash."""


def create(path: str, data: bytes | pa.Buffer) -> None:
    """Writes a file that must not exist. One of several concurrent writers succeeds.

    raises: FileExistsError; UnsupportedFeature on file systems without hard links; UnconfirmedError if the file
        exists, and may be gone after a crash
    """
    # opened first: the folder may be moved or removed right after the link
    with _opened(os.path.dirname(path)) as folder:
        temporary = _write_temporary(path, data)
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise UnsupportedFeature(
                    f"the file system of {path!r} has no hard links, without which two writers could commit one version"
                    f" ({error.strerror}): pass manifest_store=, such as lance_sql.SqliteManifestStore, or use another"
                    " disk"
                ) from error
            raise
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        try:
            _flush(folder)
        except OSError as error:
            raise UnconfirmedError(
                error.errno,
                f"{path!r} is written and can be read, but the disk has not confirmed that it survives a crash:"
                f" {error.strerror}",
            ) from error


def replace(path: str, data: bytes | pa.Buffer, *, flushes: bool = True) -> None:
    """Writes a file in place of the existing one.

    flushes: make it survive a crash; otherwise the file may be empty after one, or the old one
    """
    temporary = _write_temporary(path, data, flushes=flushes)
    try:
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if flushes:
        _flush_folder(os.path.dirname(path))


def make_folder(path: str) -> None:
    """Creates a folder and its parents, if they are missing."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folder(above)
    with suppress(FileExistsError):
        os.mkdir(path)
    _flush_folder(above)


class FileSink:
    """A new file under its own name. Long files are flushed to the disk while they are written.

    raises: FileExistsError
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = os.fdopen(os.open(path, _NEW_FILE, 0o666), "wb", buffering=_BUFFER_BYTES)
        self._position = 0
        self._next_flush = _BYTES_PER_FLUSH
        self._flushing: Thread | None = None
        self._flush_error: OSError | None = None
        self._is_complete = False

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        with _naming(self._path):
            self._position += self._file.write(data)
        if self._position >= self._next_flush and (self._flushing is None or not self._flushing.is_alive()):
            self._next_flush = self._position + _BYTES_PER_FLUSH
            self._flushing = threads.start(self._flush_content, "lance-sql-flush", daemon=False)

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        self._join()
        with _naming(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            # The system reports a failed flush only once, possibly to the thread.
            if self._flush_error is not None:
                raise self._flush_error
            self._file.close()
        _flush_folder(os.path.dirname(self._path))
        # last: an interrupted close leaves no file
        self._is_complete = True

    def abort(self) -> None:
        if self._is_complete:
            return
        self._join()
        # Closing writes the buffered bytes, which fails on a full disk.
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            os.unlink(self._path)

    def _flush_content(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._flush_error = error

    def _join(self) -> None:
        if self._flushing is not None:
            self._flushing.join()


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Adds the file to errors of the system that do not name it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


def _write_temporary(path: str, data: bytes | pa.Buffer, *, flushes: bool = True) -> str:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{TEMPORARY}{name}_{os.urandom(16).hex()}")
    # all bytes are there: making a buffered sink would take longer than writing most of these files
    file = os.open(temporary, _NEW_FILE, 0o666)
    try:
        try:
            left = memoryview(data)
            with _naming(path):
                while left:
                    left = left[os.write(file, left) :]
                if flushes:
                    os.fsync(file)
        finally:
            os.close(file)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _flush_folder(path: str) -> None:
    """Makes the names in a folder survive a crash."""
    with _opened(path) as folder:
        _flush(folder)


@contextmanager
def _opened(folder: str) -> Iterator[int | None]:
    """Opens a folder for `_flush`; None on Windows, which cannot open folders, and journals names."""
    if os.name == "nt":
        yield None
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _flush(folder: int | None) -> None:
    if folder is None:
        return
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_FLUSH:
            raise
