"""The standard streams of the command: each is there, and an output that cannot be written has its own error.

stdin    empty if the parent process closed it
stdout   a write fails with `OutputError`, also if the parent process closed it; with `ReaderGoneError` for a pipe that
         nobody reads
stderr   never fails: text that cannot be written is dropped, so that the exit code stays that of the command
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any, Final, TextIO

_STDIN, _STDOUT, _STDERR = range(3)
_BUFFER_BYTES: Final = 64 * 1024


class OutputError(OSError):
    """Results that cannot be written, such as to a full disk."""


class ReaderGoneError(OutputError):
    """Results that nobody reads, because the reader closed the pipe."""


class _Results(io.FileIO):
    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise ReaderGoneError("Cannot write to stdout: its reader closed the pipe") from error
        except OSError as error:
            raise OutputError(f"Cannot write to stdout: {error.strerror}") from error


class _Messages(io.FileIO):
    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def open_all() -> None:
    """Replaces the standard streams."""
    # A closed descriptor would become that of the next file that is opened, a data file for example. One that can only
    # be read fails when it is written.
    for number, mode in ((_STDIN, os.O_RDONLY), (_STDOUT, os.O_RDONLY), (_STDERR, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(_STDIN, closefd=False)))
    sys.stdout = _text(_Results(_STDOUT, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Messages(_STDERR, "w", closefd=False), sys.stderr, "backslashreplace")


def _text(file: io.FileIO, before: TextIO | None, errors: str = "strict") -> TextIO:
    """
    before: the stream that is replaced; None for a closed one
    """
    encoding = None
    if before is not None:
        encoding, errors = before.encoding, before.errors or errors
        with suppress(OSError, ValueError):
            before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(file, _BUFFER_BYTES),
        encoding=encoding,
        errors=errors,
        newline="\n",
        line_buffering=errors == "backslashreplace" or file.isatty(),
    )


def drop_results() -> None:
    """Drops results that are not written yet, and all later ones: Python writes them again when it exits."""
    # the stream of a caller in the same process stays
    if isinstance(getattr(getattr(sys.stdout, "buffer", None), "raw", None), _Results):
        opened = os.open(os.devnull, os.O_WRONLY)
        os.dup2(opened, _STDOUT)
        os.close(opened)
