"""Local files that survive a crash once they are written, and that appear whole.

    _versions/.tmp_7.manifest_3f2c...    written and flushed to the disk, then
    _versions/7.manifest                 linked under its name, which fails when the name is taken

A rename would overwrite, and a file that is created under its name is seen while it is filled.
"""

from __future__ import annotations

import errno
import os
import uuid
from contextlib import suppress
from typing import Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_BUFFER_BYTES: Final = 256 * 1024


def create(path: str, data: bytes | pa.Buffer) -> None:
    """Writes a file that must not exist; of several writers at once one succeeds.

    raises: FileExistsError; UnsupportedFeature on file systems without hard links
    """
    temporary = _write_temporary(path, data)
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise UnsupportedFeature(
                f"the file system of {path!r} has no hard links, which commits need so that no two writers take one"
                f" version ({error.strerror})"
            ) from error
        raise
    finally:
        with suppress(OSError):
            os.unlink(temporary)
    _flush_folder(os.path.dirname(path))


def replace(path: str, data: bytes | pa.Buffer) -> None:
    """Writes a file, in place of the one that is there."""
    temporary = _write_temporary(path, data)
    try:
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(os.path.dirname(path))


def make_folder(path: str) -> None:
    """Makes a folder and those above it, where they are missing."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folder(above)
    with suppress(FileExistsError):
        os.mkdir(path)
    _flush_folder(above)


class FileSink:
    """A new file under its own name.

    raises: FileExistsError
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = os.fdopen(os.open(path, _NEW_FILE, 0o666), "wb", buffering=_BUFFER_BYTES)

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self.close_content()
        _flush_folder(os.path.dirname(self._path))

    def close_content(self) -> None:
        """Makes the bytes durable, but not yet the file's name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abort(self) -> None:
        if self._file.closed:
            return
        # Closing writes what is buffered, which a full disk refuses.
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            os.unlink(self._path)


def _write_temporary(path: str, data: bytes | pa.Buffer) -> str:
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".tmp_{name}_{uuid.uuid4().hex}")
    sink = FileSink(temporary)
    try:
        sink.write(data)
        sink.close_content()
    except BaseException:
        sink.abort()
        raise
    return temporary


def _flush_folder(path: str) -> None:
    """Makes the names in a folder survive a crash."""
    if os.name == "nt":
        # Folders cannot be opened there; names are journaled.
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems flush no folders.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
