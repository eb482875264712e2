"""Statistics learned while columns were read, cached for later scans of the same files.

    identity of a file, column  -->  ZoneBounds, with some known zones

Data files are immutable, so that their statistics stay valid. The store provides an identity of each file that no
other file in its place has. Processes share learned statistics through a folder, if one is
configured.
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
"""Memory limit for all tables together."""

FOLDER_VARIABLE: Final = "LANCE_SQL_STATISTICS_CACHE"
"""The environment variable with the folder for learned statistics."""

_LOG: Final = logging.getLogger("lance_sql")
_ZONE_BYTES: Final = 64
_COLUMN_BYTES: Final = 512
_MOST_LOADED: Final = 1 << 16


class LearnedKey(NamedTuple):
    """A column of a file.

    identity: of the file; see `Store.identity`
    column: its number in the file
    kind: conversion of its values to keys
    """

    identity: str
    column: int
    kind: KeyKind


class LearnedStatistics:
    """The most recently used columns, up to `budget` bytes. Thread-safe.

    tables: the URIs of stores with learned statistics
    """

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._columns: LruCache[LearnedKey, _kernels.ZoneBounds] = LruCache(
            "learned statistics", most_bytes=budget, num_bytes=lambda bounds: _size(bounds.num_rows)
        )
        self.tables: set[str] = set()

    def __len__(self) -> int:
        return len(self._columns)

    def find(self, key: LearnedKey) -> _kernels.ZoneBounds | None:
        """Returns the known bounds of a column."""
        return self._columns.get(key)

    def keep(self, key: LearnedKey, bounds: _kernels.ZoneBounds) -> _kernels.ZoneBounds:
        """Caches the bounds of a column unless it has bounds for as many rows. Returns the cached ones."""
        return self._columns.keep(key, bounds, lambda known: known.num_rows != bounds.num_rows)

    def clear(self) -> None:
        """Removes everything."""
        self._columns.clear()
        self.tables.clear()


LEARNED: Final = LearnedStatistics()
"""Learned statistics of all tables in this process."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Whether statistics are learned, and the folder that stores them besides memory. Picklable.

    folder: shared with other processes
    """

    is_on: bool = True
    folder: str | None = None

    @classmethod
    def of(cls, is_on: bool, folder: str | os.PathLike[str] | None) -> Learning:
        """Returns the settings, with the folder of the environment by default."""
        return cls(is_on, os.fspath(folder) if folder is not None else os.environ.get(FOLDER_VARIABLE) or None)

    def open(self) -> LearnedOfTable | None:
        """Opens the statistics for the files of a version, or returns None if learning is off."""
        return LearnedOfTable(self) if self.is_on else None


class LearnedOfTable:
    """Learned statistics of the files of a version, in memory and in the folder. Thread-safe.

    Unsaved statistics are saved when this object is freed, or when Python exits.
    """

    def __init__(self, learning: Learning) -> None:
        self.learning = learning
        self._unsaved = None if learning.folder is None else _Unsaved(StatisticsFolder(learning.folder))
        if self._unsaved is not None:
            weakref.finalize(self, self._unsaved.save_or_log)

    @property
    def has_folder(self) -> bool:
        """Whether learned statistics are written to a folder."""
        return self._unsaved is not None

    def may_know(self, table: str) -> bool:
        """Whether a table may have learned statistics.

        table: the URI of its store
        """
        return self._unsaved is not None or table in LEARNED.tables

    def find(self, key: LearnedKey) -> _kernels.ZoneBounds | None:
        """Returns the known bounds of a column."""
        bounds = LEARNED.find(key)
        if bounds is None and self._unsaved is not None and self._unsaved.load(key.identity):
            bounds = LEARNED.find(key)
        return bounds

    def column(self, key: LearnedKey, num_rows: int, table: str) -> _kernels.ZoneBounds:
        """Returns the bounds of a column, to be extended; they are empty at first.

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
        """Writes newly learned statistics to the folder. Logs errors."""
        if self._unsaved is not None:
            self._unsaved.save_or_log()

    def save_or_fail(self) -> None:
        """Writes newly learned statistics to the folder.

        raises: OSError
        """
        if self._unsaved is not None:
            self._unsaved.save()


class _Unsaved:
    """The columns of a handle, and the number of their zones that the folder has. Thread-safe."""

    def __init__(self, folder: StatisticsFolder) -> None:
        self._folder = folder
        self._lock = Lock()
        self._loaded: set[str] = set()
        self._columns: dict[LearnedKey, tuple[_kernels.ZoneBounds, int]] = {}

    def watch(self, key: LearnedKey, bounds: _kernels.ZoneBounds) -> None:
        """Registers a column to be saved after more of it is known."""
        with self._lock:
            known = self._columns.get(key)
            if known is None or known[0] is not bounds:
                self._columns[key] = bounds, 0

    def load(self, identity: str) -> bool:
        """Loads the folder's statistics of a file into memory. Returns False if that was done before."""
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
        """Saves for scans, which do not depend on it: errors are logged."""
        try:
            self.save()
        except OSError as error:
            _LOG.warning("%s", error)

    def save(self) -> None:
        """Writes the statistics of files for which more is known than the folder has.

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
