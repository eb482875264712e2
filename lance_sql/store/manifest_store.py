"""Commit arbitration for stores without put-if-absent.

    put_if_absent("bucket/t.lance", 8, "..._versions/8.manifest-6f1c...", size)      of several writers one succeeds

Source: table format, external manifest store.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from lance_sql.values.keywords import class_suggests_keywords

_BUSY_SECONDS: Final = 60.0


class ManifestEntry(NamedTuple):
    """The place of the manifest of a version.

    path: below the same root as the table's key; ends in `.manifest`, or in `.manifest-<uuid>` until it is finalized
    size: in bytes, if known
    """

    version: int
    path: str
    size: int | None


class ManifestStore(Protocol):
    """Entries by table and version. Thread-safe and picklable. Every result is current.

    Methods raise OSError if the store cannot be reached, possibly after a change was made.
    """

    def key(self, uri: str) -> str:
        """Returns the key of the table at a URI. Paths of entries begin with it."""

    def get(self, table: str, version: int) -> ManifestEntry | None:
        """Returns the entry of a version."""

    def latest(self, table: str) -> ManifestEntry | None:
        """Returns the entry with the largest version."""

    def put_if_absent(self, table: str, entry: ManifestEntry) -> bool:
        """Creates an entry, and returns whether it was created. False if the version had one, even the same."""

    def replace(self, table: str, entry: ManifestEntry) -> None:
        """Replaces the entry of a version. Does nothing without one."""

    def delete(self, table: str, version: int) -> None:
        """Removes an entry. A missing entry is not an error."""


@class_suggests_keywords
@dataclass(frozen=True, slots=True)
class SqliteManifestStore:
    """Entries in an SQLite database, which must be on a local disk: for writers on one machine.

    path: of the database, which is created if it does not exist

    >>> import lance_sql
    >>> manifests = lance_sql.SqliteManifestStore(path + ".sqlite")
    >>> lance_sql.write({"id": [1]}, path, manifest_store=manifests).version
    1
    >>> lance_sql.open(path, manifest_store=manifests).count_rows()
    1
    """

    path: str

    def key(self, uri: str) -> str:
        return uri.rstrip("/")

    def get(self, table: str, version: int) -> ManifestEntry | None:
        return self._select("version = ?", (table, version))

    def latest(self, table: str) -> ManifestEntry | None:
        return self._select("TRUE ORDER BY version DESC LIMIT 1", (table,))

    def put_if_absent(self, table: str, entry: ManifestEntry) -> bool:
        with closing(self._connect()) as database, database:
            inserted = database.execute(
                "INSERT INTO manifests VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", (table, *entry)
            )
            return inserted.rowcount == 1

    def replace(self, table: str, entry: ManifestEntry) -> None:
        with closing(self._connect()) as database, database:
            database.execute(
                "UPDATE manifests SET path = ?, size = ? WHERE base_uri = ? AND version = ?",
                (entry.path, entry.size, table, entry.version),
            )

    def delete(self, table: str, version: int) -> None:
        with closing(self._connect()) as database, database:
            database.execute("DELETE FROM manifests WHERE base_uri = ? AND version = ?", (table, version))

    def _select(self, condition: str, values: tuple[object, ...]) -> ManifestEntry | None:
        with closing(self._connect()) as database:
            query = f"SELECT version, path, size FROM manifests WHERE base_uri = ? AND {condition}"
            row = database.execute(query, values).fetchone()
            return ManifestEntry(*row) if row is not None else None

    def _connect(self) -> sqlite3.Connection:
        # One connection for each query: connections are cheap, and belong to no thread or process.
        with ExitStack() as stack:
            try:
                database = stack.enter_context(closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)))
                database.execute("PRAGMA synchronous = FULL")
                database.execute(
                    "CREATE TABLE IF NOT EXISTS manifests"
                    " (base_uri TEXT, version INTEGER, path TEXT NOT NULL, size INTEGER,"
                    " PRIMARY KEY (base_uri, version)) WITHOUT ROWID"
                )
            except sqlite3.Error as error:
                raise OSError(f"the manifest store {self.path!r}: {error}") from error
            # open from here on, and closed by the caller
            stack.pop_all()
            return database
