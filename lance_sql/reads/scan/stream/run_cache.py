"""Cache of prepared fragments for later scans of the same columns with the same filter.

Engines often request the same rows again: in several places of a query, and in repeated queries. The prepared runs
of a fragment (`_kernels.FragmentRows`) stay valid as long as the bytes of its file do.

    a fragment, columns, filter, how batches are cut    -->    what holds the bytes of its file, and its prepared runs

Bytes are held by the mapping of a file, or by the open file itself if it is so short that opening has read it. Entries
of a file end with their holder. The most recently used other entries stay, within a memory limit.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final, TypeAlias
from weakref import finalize, ref

from lance_sql import _kernels
from lance_sql.errors import LanceError
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.open_pages import LONG_FILE_ROWS
from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.runtime import caches
from lance_sql.store import ByteRange, MappedFile

BUDGET_BYTES: Final = 64 * 1024 * 1024

_MOST_FILTER_BYTES: Final = 4096
_MOST_RANGES: Final = 256
"""Larger entries are not cached: those of long lists and texts, or of many ranges of rows."""

_RUN_BYTES: Final = 8192
_RANGE_BYTES: Final = 64
"""Counted memory for a run with its tests, and for each of its ranges of rows or bytes."""

Holder: TypeAlias = MappedFile | FileBytes
"""Holds the bytes of a local file."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """Some batches of a fragment, prepared for the kernels. It keeps the bytes of files alive, but no mapping or
    handle of the table.

    ranges: the bytes of the file that will be read
    columns: columns to be read, with the memory of their opened pages
    learned: statistics that are learned during the read
    num_ranges: number of ranges of rows
    identity: of the file as it was opened; None if the runs read several files, or if its store has no identities
    """

    rows: _kernels.FragmentRows
    ranges: Sequence[ByteRange]
    columns: Mapping[_kernels.ColumnReader, int]
    learned: Sequence[_kernels.ZoneBounds]
    num_ranges: int
    identity: str | None

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the cache entry without its columns."""
        return _RUN_BYTES + _RANGE_BYTES * (len(self.ranges) + self.num_ranges)

    @property
    def has_learned(self) -> bool:
        """Whether the statistics of a column are complete, so that a new run would be prepared differently."""
        return any(bounds.all_known for bounds in self.learned)


@dataclass(frozen=True, slots=True)
class _Entry:
    key: Hashable
    holder: ref[Holder]
    runs: Sequence[PreparedRun]
    columns: Mapping[_kernels.ColumnReader, int]
    num_bytes: int


class RunCache:
    """Cache of the runs of fragments, by the values they depend on. Thread-safe.

    num_bytes: approximate memory
    """

    # memory shared by runs is counted once, and runs end with their files: an `LruCache` supports neither
    name: Final = "prepared runs"

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._budget = budget
        self._start()
        caches.register(self)

    def _start(self) -> None:
        self._lock = Lock()
        # The garbage collector may free a holder at any time, even in the thread that holds the lock.
        self._ended: deque[ref[Holder]] = deque()
        self._numbers: dict[Hashable, int] = {}
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._next = 0
        self._of_holder: dict[ref[Holder], set[int]] = {}
        self._users: dict[_kernels.ColumnReader, int] = {}
        self.num_bytes = 0

    def get(self, key: Hashable) -> tuple[ref[Holder], Sequence[PreparedRun]] | None:
        """Returns the cached runs, if they are still valid, and the holder of the bytes that they read."""
        with self._lock:
            self._sweep()
            number = self._numbers.get(key, -1)
            entry = self._entries.get(number)
            if entry is None or any(run.has_learned for run in entry.runs):
                return None
            self._entries.move_to_end(number)
            return entry.holder, entry.runs

    def put(self, key: Hashable, holder: Holder, runs: Sequence[PreparedRun]) -> None:
        """Caches the runs as long as their bytes are held, unless they are too large."""
        columns = {column: size for run in runs for column, size in run.columns.items()}
        added = _Entry(key, ref(holder), runs, columns, sum(run.num_bytes for run in runs))
        if added.num_bytes + sum(columns.values()) > self._budget // 2:
            return
        with self._lock:
            self._sweep()
            self._drop(self._numbers.get(key, -1))
            number = self._next
            self._next += 1
            if added.holder not in self._of_holder:
                self._of_holder[added.holder] = set()
                finalize(holder, self._forget, added.holder).atexit = False
            self._of_holder[added.holder].add(number)
            self.num_bytes += added.num_bytes
            for column, size in columns.items():
                users = self._users.get(column, 0)
                self._users[column] = users + 1
                self.num_bytes += 0 if users else size
            # comes last: an entry that a signal keeps out is not counted once the cache is empty
            self._entries[number] = added
            self._numbers[key] = number
            while self.num_bytes > self._budget and self._entries:
                self._drop(next(iter(self._entries)))

    def usage(self) -> caches.Usage:
        """Returns the usage, as every cache does."""
        return caches.Usage(len(self._entries), self.num_bytes, None, self._budget)

    def clear(self) -> None:
        """Removes all entries."""
        with self._lock:
            for number in list(self._entries):
                self._drop(number)
            self._sweep()

    def after_fork(self) -> None:
        """Removes all entries in a forked process, which has none of the threads that may have held the lock."""
        self._start()

    def _forget(self, holder: ref[Holder]) -> None:
        """Called when a holder ends, possibly in the thread that holds the lock: then the next thread that takes
        the lock frees the entries."""
        self._ended.append(holder)
        if not self._lock.locked():
            with self._lock:
                self._sweep()

    def _sweep(self) -> None:
        while self._ended:
            holder = self._ended[0]
            for number in list(self._of_holder.get(holder, ())):
                self._drop(number)
            self._of_holder.pop(holder, None)
            self._ended.popleft()
        if not self._entries:
            self._users.clear()
            self.num_bytes = 0

    # A signal may have interrupted any of these before: missing entries are no error, and an empty cache has no bytes.
    def _drop(self, number: int) -> None:
        dropped = self._entries.pop(number, None)
        if dropped is None:
            return
        self._numbers.pop(dropped.key, None)
        self._of_holder.get(dropped.holder, set()).discard(number)
        self.num_bytes -= dropped.num_bytes
        for column, size in dropped.columns.items():
            users = self._users.pop(column, 0)
            if users > 1:
                self._users[column] = users - 1
            elif users:
                self.num_bytes -= size


RUN_CACHE: Final = RunCache()
"""Cache for all tables that this process reads."""


class CachedRuns:
    """Cached runs of a fragment, for a plan.

    runs: cached runs; call `is_there` for each before reading it
    """

    def __init__(self, plan: ReadPlan, each: FragmentScan, cut: Hashable) -> None:
        """
        cut: settings for splitting batches
        """
        self._files = plan.fragments.files
        self._key = _key(plan, each, cut)
        self._data_file = each.fragment.files[0] if self._key is not None else None
        cached = RUN_CACHE.get(self._key) if self._key is not None else None
        self._holder_then = cached[0] if cached is not None else None
        self.runs = cached[1] if cached is not None else []

    def is_there(self, run: PreparedRun) -> bool:
        """Whether the file is the one that a cached run was prepared for. If so, prepares its bytes for reading."""
        holder = self._holder()
        if holder is None or self._holder_then is None or holder is not self._holder_then():
            return False
        if not isinstance(holder, FileBytes):
            holder.touch(run.ranges)
        return True

    @property
    def keeps(self) -> bool:
        """Whether runs are cached at all: not those that cost little, or take much memory."""
        return self._key is not None

    def keep(self, prepared: Sequence[PreparedRun | None]) -> None:
        """Caches all runs of the fragment, if the kernels read each of them, and the file is unchanged."""
        runs = [run for run in prepared if run is not None and run.identity is not None]
        if not runs or len(runs) < len(prepared) or self._key is None:
            return
        holder = self._holder()
        if holder is not None and {run.identity for run in runs} == {holder.identity}:
            RUN_CACHE.put(self._key, holder, runs)

    def _holder(self) -> Holder | None:
        assert self._data_file is not None
        try:
            opened = self._files.opened(self._data_file)
            if opened is not None and opened.bytes.is_in_memory:
                return opened.bytes
            store, path = self._files.resolve(self._data_file)
            return store.mapped(path)
        except (LanceError, OSError):
            # reading it will raise the error
            return None


def _key(plan: ReadPlan, each: FragmentScan, cut: Hashable) -> Hashable | None:
    """Returns the cache key of runs; None if they are not cached."""
    fragment, passing = each.fragment, each.passing
    if len(fragment.files) != 1 or fragment.physical_rows < LONG_FILE_ROWS or len(each.rows) > _MOST_RANGES:
        return None
    if passing is not None and len(passing) > _MOST_RANGES:
        return None
    if plan.filter_bytes > _MOST_FILTER_BYTES:
        return None
    passing_bytes = None if passing is None else passing.tobytes()
    return plan.open(fragment).key, plan.key, plan.residual, cut, each.rows.tobytes(), passing_bytes
