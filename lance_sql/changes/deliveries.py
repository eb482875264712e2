"""Deliveries to a database: the rows of a run and its position in one transaction, on the connection of the consumer.

    lance_sql_positions    cursor    5c1f..                     the family of the cursor's ids
                           position  5c1f.._0006.. 42 a7f0..    after the changes that the database has
                           source    orders.lance, cursor warehouse

A run locks its position before it reads changes, and writes it after its rows. A second run waits for the lock and
continues from there, or loses before its first row. DIALECTS has the differences between the databases.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from lance_sql.errors import CommitConflict, InvalidArgument, UnsupportedFeature
from lance_sql.values.keywords import methods_suggest_keywords

_TABLE: Final = "lance_sql_positions"
_CREATE: Final = f"CREATE TABLE IF NOT EXISTS {_TABLE} (cursor TEXT PRIMARY KEY, position TEXT, source TEXT)"
_READ: Final = f"SELECT position FROM {_TABLE} WHERE cursor = ?"
_ADD: Final = f"INSERT INTO {_TABLE} (cursor, source) VALUES (?, ?) ON CONFLICT DO NOTHING"
_MOVE: Final = f"UPDATE {_TABLE} SET position = ? WHERE cursor = ?"
_BUSY: Final = (5, 6)
"""SQLITE_BUSY and SQLITE_LOCKED."""
_LOST: Final = ("40001", "40P01", "55P03")
"""SQLSTATEs: serialization_failure, deadlock_detected, lock_not_available."""


@dataclass(frozen=True)
class _Dialect:
    """A database and its driver.

    type: module and name of the class of connections
    run: executes a statement with parameters `?`, and returns its first row
    is_idle: whether no transaction is open; None where BEGIN fails in one
    begin: begins a transaction; None where the driver does, for a connection
    lock: makes other runs wait for this one, or fail
    mark, check: before and after the block: check fails or has another result if the transaction is not the same
    is_conflict: whether an error means that others use the database
    """

    type: tuple[str, str]
    run: Callable[[Any, str, tuple[object, ...]], Any]
    is_idle: Callable[[Any], bool] | None
    begin: Callable[[Any], str | None]
    lock: str | None
    mark: str
    check: str
    is_conflict: Callable[[Exception], bool]


def _run_sqlite(connection: Any, statement: str, parameters: tuple[object, ...]) -> Any:
    cursor = connection.cursor()
    # the connection's own may return other rows
    cursor.row_factory = None
    row = cursor.execute(statement, parameters).fetchone()
    cursor.close()
    return None if row is None else tuple(each.decode() if isinstance(each, bytes) else each for each in row)


def _run_postgresql(connection: Any, statement: str, parameters: tuple[object, ...]) -> Any:
    driver = sys.modules["psycopg"]
    with driver.Cursor(connection, row_factory=driver.rows.tuple_row) as cursor:
        cursor.execute(statement.replace("?", "%s"), parameters or None)
        return None if cursor.description is None else cursor.fetchone()


def _run_duckdb(connection: Any, statement: str, parameters: tuple[object, ...]) -> Any:
    # cursor() would be another connection
    return connection.execute(statement, list(parameters)).fetchone()


DIALECTS: Final = (
    _Dialect(
        ("sqlite3", "Connection"),
        _run_sqlite,
        lambda connection: _begins_always(connection) or not connection.in_transaction,
        lambda connection: None if _begins_always(connection) else "BEGIN IMMEDIATE",
        None,
        "SAVEPOINT lance_sql_delivery",
        "RELEASE lance_sql_delivery",
        lambda error: getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY,
    ),
    _Dialect(
        ("psycopg", "Connection"),
        _run_postgresql,
        lambda connection: connection.info.transaction_status == 0,
        lambda connection: "BEGIN" if connection.autocommit else None,
        f"{_READ} FOR UPDATE",
        "SELECT txid_current()",
        "SELECT txid_current()",
        lambda error: getattr(error, "sqlstate", None) in _LOST,
    ),
    _Dialect(
        ("_duckdb", "DuckDBPyConnection"),
        _run_duckdb,
        None,
        lambda connection: "BEGIN",
        # an update that changes nothing is left out
        f"UPDATE {_TABLE} SET position = position || '' WHERE cursor = ?",
        "SELECT txid_current()",
        "SELECT txid_current()",
        lambda error: type(error).__name__ == "TransactionException",
    ),
)


def _begins_always(connection: Any) -> bool:
    """Whether sqlite3 keeps a transaction open: `autocommit=False` of Python 3.12."""
    return getattr(connection, "autocommit", None) is False


@methods_suggest_keywords
class Delivery:
    """A transaction that is open on the connection of a consumer, with the position of a cursor.

    position: of the changes that the database has; None if it has none
    is_committed: whether the database has the rows
    """

    def __init__(self, connection: Any, cursor: str, source: str) -> None:
        """Begins the transaction.

        connection: of sqlite3, psycopg or duckdb
        cursor: the family of the ids of a cursor
        source: names table and cursor, for people
        raises: UnsupportedFeature for other connections; InvalidArgument for an open transaction; CommitConflict if
            another run is under way; errors of the database
        """
        self._connection, self._dialect = connection, _dialect(connection)
        self._cursor, self._source = cursor, source
        self.is_committed = False
        self._begin()
        try:
            self.position = self._locked()
            self._mark = self._run(self._dialect.mark)
        except BaseException as error:
            self.roll_back()
            self._raise(error)

    def commit(self, position: str) -> None:
        """Writes the position after the rows, and commits both.

        raises: InvalidArgument if the block ended the transaction; CommitConflict if others used the database
            meanwhile; errors of the database, such as for a deferred constraint
        """
        try:
            self._check_same()
            if position != self.position:
                self._run(_MOVE, position, self._cursor)
            self._end("commit")
        except Exception as error:
            self._raise(error)
        self.is_committed = True

    def roll_back(self) -> None:
        """Takes the rows back, unless they are committed. Leaves a connection alone that was closed or rolled back."""
        if not self.is_committed:
            with suppress(Exception):
                self._end("rollback")

    def _begin(self) -> None:
        is_idle, begin = self._dialect.is_idle, self._dialect.begin(self._connection)
        if is_idle is not None and not is_idle(self._connection):
            _refuse_open()
        try:
            if begin is not None:
                self._run(begin)
        except Exception as error:
            if is_idle is None and self._is_conflict(error):
                _refuse_open(error)
            self._raise(error)

    def _locked(self) -> str | None:
        """Locks the position, and returns it. Adds the table and the row if they are missing."""
        try:
            return self._read()
        except Exception as error:
            if self._is_conflict(error):
                raise
            self._end("rollback")
        self._create()
        self._begin()
        return self._read()

    def _create(self) -> None:
        """Creates the table in a transaction of its own, so that the first runs at the same time do not collide."""
        self._begin()
        try:
            self._run(_CREATE)
            self._end("commit")
        except Exception:
            with suppress(Exception):
                self._end("rollback")
            # another run may have been first
            with suppress(Exception):
                self._begin()
                self._run(_READ, self._cursor)
                return
            raise
        finally:
            with suppress(Exception):
                self._end("rollback")

    def _read(self) -> str | None:
        while True:
            if self._dialect.lock is not None:
                self._run(self._dialect.lock, self._cursor)
            row = self._run(_READ, self._cursor)
            if row is not None:
                return None if row[0] is None else str(row[0])
            self._run(_ADD, self._cursor, self._source)

    def _check_same(self) -> None:
        error: Exception | None = None
        try:
            if self._run(self._dialect.check) == self._mark:
                return
        except Exception as raised:
            if "savepoint" not in str(raised):
                raise
            error = raised
        raise InvalidArgument(
            "The block of deliver() has ended its transaction: leave out commit(), rollback() and executescript(), the"
            " end of the block commits. Rows that the block committed are delivered again"
        ) from error

    def _end(self, how: str) -> None:
        if self._dialect.begin(self._connection) is None:
            getattr(self._connection, how)()
        else:
            self._run(how.upper())

    def _run(self, statement: str, *parameters: object) -> Any:
        return self._dialect.run(self._connection, statement, parameters)

    def _is_conflict(self, error: Exception) -> bool:
        # DuckDB's ON CONFLICT does not see the row of a cursor that another run adds at the same time
        return self._dialect.is_conflict(error) or f'Duplicate key "cursor: {self._cursor}"' in str(error)

    def _raise(self, error: BaseException) -> NoReturn:
        if isinstance(error, Exception) and self._is_conflict(error):
            raise CommitConflict(
                f"No changes of {self._source} were delivered, because another run or program uses the database"
                f" ({error}): run again"
            ) from error
        raise error


def _dialect(connection: Any) -> _Dialect:
    names = {(each.__module__.partition(".")[0], each.__name__) for each in type(connection).__mro__}
    for dialect in DIALECTS:
        if dialect.type in names:
            return dialect
    kind = f"{type(connection).__module__}.{type(connection).__name__}"
    raise UnsupportedFeature(
        f"deliver() takes a connection of sqlite3, psycopg (Connection) or duckdb, not {kind}:"
        " for other databases, store changes.position in the transaction of the rows, and pass it to read(after=)"
    )


def _refuse_open(error: Exception | None = None) -> NoReturn:
    raise InvalidArgument(
        "The connection has an open transaction, whose rows deliver() would commit: commit or roll back before"
    ) from error
