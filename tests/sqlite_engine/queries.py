"""Queries in SQLite, which has the rows of its sources as temporary tables while it runs one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.providers.adapter import Request
from lance_sql.providers.sources import Source
from lance_sql.values.sql_text import identifier

Errors: Final = (sqlite3.Error,)


class Connection(sqlite3.Connection):
    """A connection that can be referred to weakly, by which the library keeps its catalogs."""


def target(given: Any) -> sqlite3.Connection:
    """The given connection, or a new one."""
    connection: sqlite3.Connection = Connection(":memory:") if given is None else given
    return connection


def prepare(
    connection: sqlite3.Connection, request: Request
) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
    """Binds a query."""
    tables = {name: rows(source) for name, source in request.sources.items()}
    names = [name for name, _ in _run(connection, f"SELECT * FROM ({request.sql}) LIMIT 0", tables)]

    def read() -> pa.RecordBatchReader:
        columns = _run(connection, request.sql, tables)
        return pa.table([pa.array(values) for _, values in columns], names).to_reader()

    return names, read


def rows(source: Source) -> pa.Table:
    """The rows and columns of a source that a query needs."""
    if isinstance(source.relation, pa.Table):
        return source.relation
    if not isinstance(source.relation, Dataset):
        return source.relation.scan(source.columns).to_table()
    system = source.relation.system_columns if source.with_system_columns else ()
    names = [
        name for name in (*source.relation.schema.names, *system) if source.columns is None or name in source.columns
    ]
    return source.relation.scan(names or ["_rowid"], source.where).to_table()


def _run(connection: sqlite3.Connection, sql: str, tables: Mapping[str, pa.Table]) -> list[tuple[str, list[Any]]]:
    """The columns of a query, by their names."""
    try:
        for name, table in tables.items():
            columns = ", ".join(map(identifier, table.column_names))
            connection.execute(f"CREATE TEMP TABLE {identifier(name)} ({columns})")
            places = ", ".join("?" * table.num_columns)
            values = zip(*(column.to_pylist() for column in table.columns), strict=True)
            connection.executemany(f"INSERT INTO {identifier(name)} VALUES ({places})", values)
        cursor = connection.execute(sql)
        found = cursor.fetchall()
        return [(each[0], [row[place] for row in found]) for place, each in enumerate(cursor.description)]
    finally:
        for name in tables:
            connection.execute(f"DROP TABLE IF EXISTS temp.{identifier(name)}")


def column_types(connection: sqlite3.Connection, source: Source) -> Mapping[str, str]:
    """None: a column of SQLite has no type, and values are cast when they arrive."""
    return {}
