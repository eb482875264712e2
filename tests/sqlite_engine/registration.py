"""Lance tables as tables of an SQLite connection."""

from __future__ import annotations

import sqlite3

from lance_sql.dataset import Dataset
from lance_sql.values.sql_text import identifier


def register(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection itself: SQLite has no table functions in Python."""
    return connection


def register_table(connection: sqlite3.Connection, name: str, dataset: Dataset) -> None:
    """Copies one version of a table."""
    rows = dataset.to_table()
    connection.execute(f"CREATE TABLE {identifier(name)} ({', '.join(map(identifier, rows.column_names))})")
    values = zip(*(column.to_pylist() for column in rows.columns), strict=True)
    connection.executemany(f"INSERT INTO {identifier(name)} VALUES ({', '.join('?' * rows.num_columns)})", values)
