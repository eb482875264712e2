"""Databases that changes are delivered to, each with its position in a separate table: SQLite, DuckDB, PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

import lance_sql

TABLES = (
    "CREATE TABLE IF NOT EXISTS delivered (version BIGINT, kind TEXT, id BIGINT, v TEXT)",
    "CREATE TABLE IF NOT EXISTS positions (job TEXT PRIMARY KEY, position TEXT)",
)
COLUMNS = ("_commit_version", "_change_type", "id", "v")


class Database:
    """A database by its driver (DB-API 2.0).

    placeholder: of the driver's parameters
    """

    def __init__(self, connect: Callable[[], Any], placeholder: str = "?") -> None:
        self._connect = connect
        self._placeholder = placeholder
        with self.transaction() as execute:
            for statement in TABLES:
                execute(statement)

    @contextmanager
    def transaction(self) -> Iterator[Callable[..., Any]]:
        """One transaction, committed at the end of the block; the value runs a statement."""
        connection = self._connect()
        try:
            cursor = connection.cursor()
            cursor.execute("BEGIN")

            def execute(statement: str, *parameters: object) -> Any:
                cursor.execute(statement.replace("?", self._placeholder), parameters)
                return cursor

            yield execute
            cursor.execute("COMMIT")
        finally:
            connection.close()

    def position(self) -> str | None:
        with self.transaction() as execute:
            row = execute("SELECT position FROM positions WHERE job = 'copy'").fetchone()
        return None if row is None else row[0]

    def rows(self) -> list[tuple[Any, ...]]:
        """All changes that were delivered, sorted."""
        with self.transaction() as execute:
            return sorted(execute("SELECT version, kind, id, v FROM delivered").fetchall())


def deliver(table: str, database: Database, at: Callable[[str], None] = lambda place: None) -> None:
    """Delivers new changes, as in docs/consuming-changes.md.

    at: called before each statement, to die there
    """
    before = database.position()
    with lance_sql.open(table).cursor("copy").read(after=before) as changes:
        if changes.end < changes.start:
            return
        rows = [tuple(row.values()) for row in changes.scan(COLUMNS).to_table().to_pylist()]
        with database.transaction() as execute:
            at("begin")
            if before is None:
                execute("INSERT INTO positions VALUES ('copy', ?)", changes.position)
            else:
                moved = "UPDATE positions SET position = ? WHERE job = 'copy' AND position = ? RETURNING job"
                if execute(moved, changes.position, before).fetchone() is None:
                    raise RuntimeError("another run was first")
            for row in rows:
                at("insert")
                execute("INSERT INTO delivered VALUES (?, ?, ?, ?)", *row)
            at("commit")
        at("move")


def sqlite(folder: Path) -> Database:
    return Database(lambda: sqlite3.connect(folder / "warehouse.sqlite", isolation_level=None))


def in_duckdb(folder: Path) -> Database:
    return Database(lambda: duckdb.connect(str(folder / "warehouse.duckdb")))


def postgres(uri: str) -> Database:
    import psycopg

    return Database(lambda: psycopg.connect(uri, autocommit=True), "%s")
