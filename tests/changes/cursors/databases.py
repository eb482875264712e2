"""Databases that changes are delivered to: SQLite, DuckDB, PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

import lance_sql

from . import server

TABLE = "CREATE TABLE IF NOT EXISTS delivered (version BIGINT, kind TEXT, id BIGINT, v TEXT)"
COLUMNS = ("_commit_version", "_change_type", "id", "v")


class Database:
    """A database by its driver (DB-API 2.0).

    connect: returns a new connection
    placeholder: of the driver's parameters
    """

    def __init__(self, connect: Callable[[], Any], placeholder: str = "?") -> None:
        self.connect = connect
        self._placeholder = placeholder
        with self.transaction() as connection:
            self.run(connection, TABLE)

    def run(self, connection: Any, statement: str, *parameters: object) -> Any:
        return connection.execute(statement.replace("?", self._placeholder), parameters)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection of its own with one transaction, which the end of the block commits."""
        connection = self.connect()
        try:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()

    def position(self) -> str | None:
        with self.transaction() as connection:
            (position,) = self.run(connection, "SELECT position FROM lance_sql_positions").fetchone()
        return None if position is None else str(position)

    def rows(self) -> list[tuple[Any, ...]]:
        """All changes that were delivered, sorted."""
        with self.transaction() as connection:
            return sorted(self.run(connection, "SELECT version, kind, id, v FROM delivered").fetchall())

    def clear(self) -> None:
        """Removes what another test has delivered."""
        with self.transaction() as connection:
            self.run(connection, "DELETE FROM delivered")
            self.run(connection, "DROP TABLE IF EXISTS lance_sql_positions")


def deliver(
    table: str, database: Database, at: Callable[[str], None] = lambda place: None, connection: Any = None
) -> None:
    """Delivers new changes.

    at: called before each statement of the block, to die there
    connection: of the database; by default one for this run, which it closes
    """
    own = database.connect() if connection is None else connection
    try:
        with lance_sql.open(table).cursors.open("copy").deliver(own) as changes:
            at("begin")
            for row in changes.scan(COLUMNS).to_table().to_pylist():
                at("insert")
                database.run(own, "INSERT INTO delivered VALUES (?, ?, ?, ?)", *row.values())
            at("commit")
    finally:
        if connection is None:
            own.close()


def sqlite(folder: Path) -> Database:
    return Database(lambda: sqlite3.connect(folder / "warehouse.sqlite", isolation_level=None))


def in_duckdb(folder: Path) -> Database:
    return Database(lambda: duckdb.connect(str(folder / "warehouse.duckdb")))


def postgres(uri: str) -> Database:
    import psycopg

    return Database(lambda: psycopg.connect(uri, autocommit=True), "%s")


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The URI of a PostgreSQL server."""
    if (reason := server.missing()) is not None:
        pytest.skip(reason)
    with server.postgresql() as uri:
        yield uri


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Each of the three, empty."""
    if request.param == "sqlite":
        return sqlite(tmp_path)
    if request.param == "duckdb":
        return in_duckdb(tmp_path)
    made = postgres(request.getfixturevalue("postgresql"))
    made.clear()
    return made


@pytest.fixture
def table(tmp_path: Path) -> str:
    """The path of a table with a cursor "copy" before its first change."""
    path = str(tmp_path / "t.lance")
    lance_sql.write({"id": [1, 2, 3], "v": ["a", "b", "c"]}, path).cursors.open("copy", start="earliest")
    return path
