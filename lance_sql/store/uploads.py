"""Objects written piece by piece: small ones in one request, long ones in parts while they are made."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Thread
from typing import Any, Final

import pyarrow as pa

from lance_sql.runtime import threads

PART_BYTES: Final = 10 * 1024 * 1024
"""An upload has at most 10,000 parts, which is more than the longest data file needs."""

_PARTS_WAITING: Final = 2
_PARTS_UNDER_WAY: Final = 4

_WHOLE: Final[Mapping[str, Any]] = {"use_multipart": False}
_IN_PARTS: Final[Mapping[str, Any]] = {
    "use_multipart": True,
    "chunk_size": PART_BYTES,
    "max_concurrency": _PARTS_UNDER_WAY,
}

Upload = Callable[[Any, Mapping[str, Any]], None]


class _AbortedError(Exception):
    """Ends an upload whose writer gave up."""


class UploadSink:
    """A new object, invisible to readers before it is complete.

    upload: creates the object from bytes, or from an iterator over them; aborts the upload if that raises
    remove: deletes the object
    """

    def __init__(self, upload: Upload, remove: Callable[[], None]) -> None:
        self._upload = upload
        self._remove = remove
        self._buffer = bytearray()
        self._position = 0
        self._parts: queue.Queue[bytes | None] = queue.Queue(_PARTS_WAITING)
        self._thread: Thread | None = None
        self._error: BaseException | None = None
        self._is_aborted = False
        self._is_open = True

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        view = memoryview(data).cast("B") if memoryview(data).nbytes else memoryview(b"")
        self._buffer += view
        self._position += view.nbytes
        if len(self._buffer) >= PART_BYTES:
            self._hand_over(bytes(self._buffer))
            self._buffer.clear()

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self._thread is None:
            self._upload(bytes(self._buffer), _WHOLE)
        else:
            self._hand_over(bytes(self._buffer))
            self._hand_over(None)
            self._thread.join()
            if self._error is not None:
                raise self._error
        self._buffer.clear()
        self._is_open = False

    def abort(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._is_aborted = True
        if self._thread is not None:
            # The queue may be full without a thread that empties it. A thread that the end of the interpreter stopped
            # seems alive.
            while self._thread.is_alive() and not threads.is_ending():
                with suppress(queue.Full):
                    self._parts.put(None, timeout=0.1)
                self._thread.join(0.1)
        # A request without an answer may have succeeded.
        with suppress(Exception):
            self._remove()

    def _hand_over(self, part: bytes | None) -> None:
        if self._thread is None:
            self._thread = threads.start(self._run, "lance-sql-upload", daemon=True)
        while True:
            if threads.is_ending():
                raise OSError("The interpreter ends: no more data can be uploaded")
            if self._error is not None:
                raise self._error
            with suppress(queue.Full):
                self._parts.put(part, timeout=0.5)
                return

    def _run(self) -> None:
        try:
            self._upload(self._content(), _IN_PARTS)
        except BaseException as error:
            self._error = error

    def _content(self) -> Iterator[bytes]:
        while True:
            part = self._parts.get()
            if self._is_aborted:
                raise _AbortedError
            if part is None:
                return
            if part:
                yield part
