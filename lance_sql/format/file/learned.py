"""Statistics that were learned while columns were read, kept for the next scan of the same files.

    identity of a file, column  -->  ZoneBounds, of which some zones are known

Data files are immutable, so that what was seen of one holds for ever. A file is known by an identity that its store
gives, which another file in its place does not have. What one process has learned, others find in a folder, if there
is one.
"""

from __future__ import annotations

import logging
import os
import weakref
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple

from lance_sql import _kernels
from lance_sql.format.file.statistics_folder import StatisticsFolder, StoredStatistics
from lance_sql.format.file.zone_statistics import ROWS_PER_ZONE, KeyKind, new_bounds
from lance_sql.runtime.caches import LruCache

BUDGET_BYTES: Final = 64 << 20
"""Kept in memory, of all tables together."""

FOLDER_VARIABLE: Final = "LANCE_SQL_STATISTICS_CACHE"
"""The environment variable that names a folder for what scans learn."""

_LOG: Final = logging.getLogger("lance_sql")
_ZONE_BYTES: Final = 64
_COLUMN_BYTES: Final = 512
_MOST_LOADED: Final = 1 << 16


class LearnedKey(NamedTuple):
    """A column of a file.

    identity: of the file; see `Store.identity`
    column: its number in the file
    kind: how its values become keys
    """

    identity: str
    column: int
    kind: KeyKind


class LearnedStatistics:
    """The most recently used columns, up to `budget` bytes. Thread-safe.

    tables: the URIs of the stores of which something was learned
    """

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._columns: LruCache[LearnedKey, _kernels.ZoneBounds] = LruCache(
            "learned statistics", most_bytes=budget, num_bytes=lambda bounds: _size(bounds.num_rows)
        )
        self.tables: set[str] = set()

    def __len__(self) -> int:
        return len(self._columns)

    def find(self, key: LearnedKey) -> _kernels.ZoneBounds | None:
        """What is known of a column."""
        return self._columns.get(key)

    def keep(self, key: LearnedKey, bounds: _kernels.ZoneBounds) -> _kernels.ZoneBounds:
        """What is known of a column from now on: what is there already, if it is of as many rows."""
        return self._columns.keep(key, bounds, lambda known: known.num_rows != bounds.num_rows)

    def clear(self) -> None:
        """Forgets everything."""
        self._columns.clear()
        self.tables.clear()


LEARNED: Final = LearnedStatistics()
"""Of all tables that this process reads."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Whether statistics are learned, and where they are kept beside memory. Picklable.

    folder: for what other processes are to find as well
    """

    is_on: bool = True
    folder: str | None = None

    @classmethod
    def of(cls, is_on: bool, folder: str | os.PathLike[str] | None) -> Learning:
        """The same; without a folder that of the environment."""
        return cls(is_on, os.fspath(folder) if folder is not None else os.environ.get(FOLDER_VARIABLE) or None)

    def open(self) -> LearnedOfTable | None:
        """For the files of a version; None where nothing is learned."""
        return LearnedOfTable(self) if self.is_on else None


class LearnedOfTable:
    """What the files of a version have been found to hold, from memory and from the folder. Thread-safe.

    What is not saved when nobody has this any more is saved then, or when Python ends.
    """

    def __init__(self, learning: Learning) -> None:
        self.learning = learning
        self._unsaved = None if learning.folder is None else _Unsaved(StatisticsFolder(learning.folder))
        if self._unsaved is not None:
            weakref.finalize(self, self._unsaved.save_or_log)

    @property
    def has_folder(self) -> bool:
        """Whether what is learned is written to a folder."""
        return self._unsaved is not None

    def may_know(self, table: str) -> bool:
        """Whether anything was learned of a table.

        table: the URI of its store
        """
        return self._unsaved is not None or table in LEARNED.tables

    def find(self, key: LearnedKey) -> _kernels.ZoneBounds | None:
        """What is known of a column."""
        bounds = LEARNED.find(key)
        if bounds is None and self._unsaved is not None and self._unsaved.load(key.identity):
            bounds = LEARNED.find(key)
        return bounds

    def column(self, key: LearnedKey, num_rows: int, table: str) -> _kernels.ZoneBounds:
        """What is known of a column, to be added to; nothing at first.

        table: the URI of its store
        """
        LEARNED.tables.add(table)
        bounds = self.find(key)
        if bounds is None or bounds.num_rows != num_rows:
            bounds = LEARNED.keep(key, new_bounds(key.kind, num_rows))
        if self._unsaved is not None:
            self._unsaved.watch(key, bounds)
        return bounds

    def save(self) -> None:
        """Writes to the folder what was learned since the last time; what goes wrong is logged."""
        if self._unsaved is not None:
            self._unsaved.save_or_log()

    def save_or_fail(self) -> None:
        """The same.

        raises: OSError
        """
        if self._unsaved is not None:
            self._unsaved.save()


class _Unsaved:
    """The columns that a handle looks at, and how many of their zones the folder knows. Thread-safe."""

    def __init__(self, folder: StatisticsFolder) -> None:
        self._folder = folder
        self._lock = Lock()
        self._loaded: set[str] = set()
        self._columns: dict[LearnedKey, tuple[_kernels.ZoneBounds, int]] = {}

    def watch(self, key: LearnedKey, bounds: _kernels.ZoneBounds) -> None:
        """Has a column saved once more of it is known."""
        with self._lock:
            known = self._columns.get(key)
            if known is None or known[0] is not bounds:
                self._columns[key] = bounds, 0

    def load(self, identity: str) -> bool:
        """Puts what the folder knows of a file into memory; False where that was done before."""
        with self._lock:
            if identity in self._loaded:
                return False
            if len(self._loaded) >= _MOST_LOADED:
                self._loaded.clear()
            self._loaded.add(identity)
        for (column, kind), stored in self._folder.load(identity).items():
            bounds = stored.to_bounds(kind)
            if bounds is not None:
                key = LearnedKey(identity, column, kind)
                with self._lock:
                    self._columns[key] = LEARNED.keep(key, bounds), bounds.num_known
        return True

    def save_or_log(self) -> None:
        """Writes the same, for scans, which get on without it."""
        try:
            self.save()
        except OSError as error:
            _LOG.warning("%s", error)

    def save(self) -> None:
        """Writes what is known of files of which more is known than in the folder.

        raises: OSError
        """
        with self._lock:
            grown = {key: bounds for key, (bounds, saved) in self._columns.items() if bounds.num_known > saved}
            self._columns.update({key: (bounds, bounds.num_known) for key, bounds in grown.items()})
        by_file: dict[str, dict[LearnedKey, _kernels.ZoneBounds]] = {}
        for key, bounds in grown.items():
            by_file.setdefault(key.identity, {})[key] = bounds
        for identity, own in by_file.items():
            columns = dict(self._folder.load(identity))
            for key, bounds in own.items():
                columns[key.column, key.kind] = StoredStatistics(bounds.num_rows, bounds.numbers())
            self._folder.save(identity, columns)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_kernels.hold_zone_bounds,
        after_in_parent=_kernels.release_zone_bounds,
        after_in_child=_kernels.renew_zone_bounds,
    )


def _size(num_rows: int) -> int:
    return _COLUMN_BYTES + -(-num_rows // ROWS_PER_ZONE) * _ZONE_BYTES
