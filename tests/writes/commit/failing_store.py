"""A store that fails: at its n-th call, before the call has an effect or after it.

    store = FailingStore(LocalStore(root), at=7)
    with suppress(Broken):
        change(on(store, snapshot))
    # the table is as before, or as after the change

A failure after the effect is an answer that got lost: the file is there although the caller was told that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import pyarrow as pa

from lance_sql.store import ByteRange, ObjectInfo, PutMode, Sink, Store
from lance_sql.table.snapshot import Snapshot


class Broken(OSError):  # noqa: N818 - says what it is
    """What a failing store raises."""


class FailingStore:
    """Counts calls, and fails from the call number `at` on, or only there.

    at: from 0; None never fails
    after: the first failing call has its effect
    once: later calls work again, as after a lost connection; otherwise none does, as after a crash
    calls: so far
    """

    def __init__(self, store: Store, at: int | None = None, *, after: bool = False, once: bool = False) -> None:
        self.store = store
        self.uri = store.uri
        self.at = at
        self.after = after
        self.once = once
        self.calls = 0
        self.counter = self

    def count_with(self, other: FailingStore) -> None:
        """Makes calls of both stores count, and fail, as those of one."""
        self.counter = other

    @property
    def gap(self) -> int:
        return self.store.gap

    @property
    def concurrency(self) -> int:
        # one after the other, so that calls have the same numbers in every run
        return 1

    @property
    def lists_by_name(self) -> bool:
        return self.store.lists_by_name

    def local_path(self, path: str) -> str | None:
        # what is read there would not be counted
        return None

    def mapped(self, path: str) -> None:
        return None

    def identity(self, path: str) -> str | None:
        return None

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        with Call(self):
            return self.store.get_ranges(path, ranges)

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        with Call(self):
            return self.store.tail(path, num_bytes, size=size)

    def files(self, prefix: str) -> Iterator[ObjectInfo]:
        with Call(self):
            return iter(list(self.store.files(prefix)))

    def names(self, prefix: str) -> list[str] | None:
        return self.store.names(prefix)

    def folders(self, prefix: str) -> Iterator[str]:
        with Call(self):
            return iter(list(self.store.folders(prefix)))

    def modified(self, path: str) -> datetime | None:
        with Call(self):
            return self.store.modified(path)

    def put(self, path: str, data: bytes | pa.Buffer, *, mode: PutMode) -> None:
        with Call(self):
            self.store.put(path, data, mode=mode)

    def create(self, path: str) -> Sink:
        with Call(self):
            return _FailingSink(self, self.store.create(path))

    def delete(self, path: str) -> None:
        with Call(self):
            self.store.delete(path)


class _FailingSink:
    """A sink whose writes and close are calls of its store."""

    def __init__(self, store: FailingStore, sink: Sink) -> None:
        self._store = store
        self._sink = sink

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        with Call(self._store):
            self._sink.write(data)

    def tell(self) -> int:
        return self._sink.tell()

    def close(self) -> None:
        with Call(self._store):
            self._sink.close()

    def abort(self) -> None:
        self._sink.abort()


class Call:
    """One call of a store, which may fail on its way in or out."""

    def __init__(self, store: FailingStore) -> None:
        self._store = store.counter

    def __enter__(self) -> None:
        store = self._store
        self._number = store.calls
        store.calls += 1
        if store.at is None or self._number < store.at or (store.once and self._number > store.at):
            return
        if self._number > store.at or not store.after:
            raise Broken(f"call {self._number} of the store failed")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._number == self._store.at and self._store.after:
            raise Broken(f"the answer to call {self._number} of the store got lost")


def on(store: FailingStore, snapshot: Snapshot) -> Snapshot:
    """The snapshot on a failing store, nothing of it read yet."""
    return Snapshot(snapshot.uri, store, store, snapshot.file, branch=snapshot.branch)
