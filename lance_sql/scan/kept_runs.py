"""Fragments that the kernels read by themselves, ready for the next scan of the same columns with the same filter.

Engines ask for the same rows again and again: in several places of a query, and in queries that are run once more. What
was made of the runs of a fragment (`_kernels.FragmentRows`) stays as it is then, as long as the bytes of its file do.

    a fragment, columns, filter, how batches are cut    -->    the mapped file, and what its runs became

What is kept for a file ends with its mapping; of the rest, what was used last stays, within a budget of memory.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Final
from weakref import finalize, ref

from lance_sql import _kernels
from lance_sql.errors import LanceError
from lance_sql.file.native_columns import LONG_FILE_ROWS
from lance_sql.scan.plan import FragmentScan, ReadPlan
from lance_sql.scan.predicates import num_constants
from lance_sql.store import ByteRange, MappedFile

BUDGET_BYTES: Final = 64 * 1024 * 1024

_MOST_CONSTANTS: Final = 64
_MOST_RANGES: Final = 256
"""What takes more memory is made anew: long lists, many ranges of rows."""

RANGE_BYTES: Final = 64
"""That keeping the ends of a range takes, in several places."""

_RUN_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """Some batches of a fragment, as the kernels read them. It keeps the bytes of the file, and nothing that keeps its
    mapping or a handle of the table.

    ranges: the bytes that are going to be looked at
    learned: what is learned of columns by the way
    num_bytes: that ranges and opened pages take, roughly
    """

    rows: _kernels.FragmentRows
    ranges: Sequence[ByteRange]
    learned: Sequence[_kernels.ZoneBounds]
    num_bytes: int

    @property
    def has_learned(self) -> bool:
        """Whether nothing is left to be learned of a column, so that others would read it otherwise."""
        return any(bounds.all_known for bounds in self.learned)


@dataclass(frozen=True, slots=True)
class _Kept:
    file: ref[MappedFile]
    runs: Sequence[PreparedRun]
    num_bytes: int


class KeptRuns:
    """The runs of fragments, by what they depend on. Thread-safe.

    num_bytes: that keeping them takes, roughly
    """

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._budget = budget
        # the garbage collector may let go of a mapping in the thread that holds the lock
        self._lock = RLock()
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._files: set[ref[MappedFile]] = set()
        self.num_bytes = 0

    def get(self, key: Hashable, file: MappedFile) -> Sequence[PreparedRun] | None:
        """What was kept of a file that is mapped since then, and is still as good as new."""
        with self._lock:
            found = self._kept.get(key)
            if found is None or found.file() is not file or any(run.has_learned for run in found.runs):
                return None
            self._kept.move_to_end(key)
            return found.runs

    def put(self, key: Hashable, file: MappedFile, runs: Sequence[PreparedRun]) -> None:
        """Keeps the runs as long as the file is mapped; not those that are too large."""
        added = _Kept(ref(file), runs, sum(_RUN_BYTES + run.num_bytes for run in runs))
        if added.num_bytes > self._budget // 2:
            return
        with self._lock:
            self._drop(key)
            if added.file not in self._files:
                self._files.add(added.file)
                finalize(file, self._forget, added.file).atexit = False
            self._kept[key] = added
            self.num_bytes += added.num_bytes
            while self.num_bytes > self._budget:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Forgets everything. A forked process begins so: it has none of the threads that may have held a lock."""
        self._lock = RLock()
        self._kept = OrderedDict()
        self._files = set()
        self.num_bytes = 0

    def _drop(self, key: Hashable) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self.num_bytes -= dropped.num_bytes

    def _forget(self, file: ref[MappedFile]) -> None:
        with self._lock:
            self._files.discard(file)
            for key in [key for key, kept in self._kept.items() if kept.file is file]:
                self._drop(key)


KEPT: Final = KeptRuns()
"""Of all tables that this process reads."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KEPT.clear)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the runs of a fragment are kept, for a plan.

    file: that has all of its columns
    """

    key: Hashable
    file: MappedFile

    def get(self) -> Sequence[PreparedRun] | None:
        """What was kept."""
        return KEPT.get(self.key, self.file)

    def put(self, runs: Sequence[PreparedRun | None], plan: ReadPlan, each: FragmentScan) -> None:
        """Keeps all runs of the fragment, where the kernels read each; not where the file was mapped anew meanwhile."""
        prepared = [run for run in runs if run is not None]
        if runs and len(prepared) == len(runs) and _mapped(plan, each) is self.file:
            KEPT.put(self.key, self.file, prepared)


def place_of(plan: ReadPlan, each: FragmentScan, cut: Hashable) -> Place | None:
    """Where a fragment's runs are kept; None where they are not, for they cost little or take much memory.

    cut: how batches are cut
    """
    fragment = each.fragment
    if len(fragment.files) != 1 or fragment.physical_rows < LONG_FILE_ROWS or len(each.rows) > _MOST_RANGES:
        return None
    if each.passing is not None and len(each.passing) > _MOST_RANGES:
        return None
    if plan.residual is not None and num_constants(plan.residual) > _MOST_CONSTANTS:
        return None
    passing = None if each.passing is None else each.passing.tobytes()
    key = plan.open(fragment).key, plan.key, plan.residual, cut, each.rows.tobytes(), passing
    file = _mapped(plan, each)
    return None if file is None else Place(key, file)


def _mapped(plan: ReadPlan, each: FragmentScan) -> MappedFile | None:
    try:
        store, path = plan.fragments.files.resolve(each.fragment.files[0])
        return store.mapped(path)
    except (LanceError, OSError):
        # who reads it says what is wrong
        return None
