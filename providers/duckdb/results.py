"""Results of DuckDB that are read several times, concurrently or while their connection runs another query.

A connection has one open result. In DuckDB 1.5, a second one ends or mixes with the first, and a query that reads a
result of its own connection deadlocks. DuckDB 2.0 raises an error for both. A result therefore gets its own
connections, if its rows depend on nothing but the query.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from lance_sql.errors import InvalidArgument

from .protocol import has_sources

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_IS_AT_WORK: Final = (
    "The connection of this result runs another query: read the result with to_table() before that, or close the other"
    " one"
)
_AT_WORK: Final = re.compile(r"busy with another call|has an open result|cannot use that query.s connection")


def repeatable(
    connection: DuckDBPyConnection, read: Callable[..., pa.RecordBatchReader], *, is_own: bool
) -> Callable[[], pa.RecordBatchReader]:
    """Returns a function that reads a result on each call.

    read: runs the query on a connection, by default `connection`
    is_own: no other code uses the connection
    """
    if is_own or (not has_sources() and _is_plain(connection)):
        return functools.partial(_apart, _cursor(connection), read, Lock())
    if has_sources():
        return functools.partial(_refusing, read, Lock())
    # whether the connection is busy cannot be determined later
    return functools.partial(_kept, read().read_all())


def _apart(
    origin: DuckDBPyConnection, read: Callable[[DuckDBPyConnection], pa.RecordBatchReader], lock: Lock
) -> pa.RecordBatchReader:
    """
    origin: runs no query itself
    """
    with lock:
        connection = _cursor(origin)
    return read(connection)


def _refusing(read: Callable[[], pa.RecordBatchReader], lock: Lock) -> pa.RecordBatchReader:
    """
    lock: held while a reader is open, which another use would end
    raises: InvalidArgument if the connection is busy, also from the reader
    """
    if not lock.acquire(blocking=False):
        raise InvalidArgument(_IS_AT_WORK)
    batches = _Batches(read, lock)
    return pa.RecordBatchReader.from_batches(batches.schema, batches)


class _Batches:
    """The batches of a result; the lock is released when they end, fail or are dropped."""

    def __init__(self, read: Callable[[], pa.RecordBatchReader], lock: Lock) -> None:
        self._lock: Lock | None = lock
        with self._naming_the_connection():
            self._reader = read()
        self.schema = self._reader.schema

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._naming_the_connection():
            return self._reader.read_next_batch()

    @contextmanager
    def _naming_the_connection(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, OSError) as error:
            self._release()
            if _AT_WORK.search(str(error)) is None:
                raise
            raise InvalidArgument(_IS_AT_WORK) from error
        except BaseException:
            self._release()
            raise

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    __del__ = _release


def _kept(rows: pa.Table) -> pa.RecordBatchReader:
    return rows.to_reader()


def _cursor(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    # bypasses the method that parses statements
    cursor: DuckDBPyConnection = duckdb.DuckDBPyConnection.cursor(connection)
    return cursor


def _is_plain(connection: DuckDBPyConnection) -> bool:
    """Whether a cursor of the connection returns the same rows: the user has no temporary tables, views or macros, no
    variables, no session settings, and no transaction."""
    return not is_in_transaction(connection) and _state(connection) == _state(_cursor(connection))


def is_in_transaction(connection: DuckDBPyConnection) -> bool:
    """Whether a connection has an open transaction."""
    # beginning another one would end it
    query = "SELECT system.main.txid_current()"
    try:
        first, second = (connection.execute(query).fetchall() for _ in range(2))
    except duckdb.TransactionException:
        return True
    return first == second


def _state(connection: DuckDBPyConnection) -> list[Any]:
    """Returns the state that belongs to one connection alone."""
    rows: list[Any] = connection.execute(
        """SELECT 'table' AS kind, table_name AS name, NULL AS value FROM duckdb_tables() WHERE temporary
        UNION ALL SELECT 'view', view_name, NULL FROM duckdb_views() WHERE temporary AND NOT internal
        UNION ALL SELECT 'function', function_name, NULL FROM duckdb_functions()
            WHERE database_name = 'temp' AND NOT contains(function_name, 'lance_')
        UNION ALL SELECT 'variable', name, value::VARCHAR FROM duckdb_variables()
        UNION ALL SELECT 'setting', name, value FROM duckdb_settings() WHERE scope = 'LOCAL'
        ORDER BY ALL"""
    ).fetchall()
    return rows
