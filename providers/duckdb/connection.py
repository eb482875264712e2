"""The class of connections that take statements about Lance tables, of DuckDB 2.0.

DuckDB looks for Python variables, such as frames, in the frame that calls it, and passes over frames of its own
modules, which it knows by their names. This module is named as one of them, so that what its methods pass on sees the
variables of whoever called them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import duckdb

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.providers import attached

__name__ = "duckdb.lance_sql"

_Base = duckdb.DuckDBPyConnection


class Statements(Protocol):
    """What knows statements about Lance tables."""

    def parts(self, connection: Any, text: str) -> list[Any] | None:
        """The statements of a text: those about Lance tables, and the text of the others; None where all of it is
        DuckDB's as it was typed."""

    def narrowed(self, text: str, run: Callable[[str], Any]) -> str | None:
        """Another query for the same rows, which reads fewer values; None where there is none.

        run: carries a query of DuckDB out
        """

    def leave(self, connection: Any, statement: Any, parameters: Any) -> None:
        """Carries a statement out, and leaves what it did as the result of the connection."""

    def relation(self, connection: Any, statement: Any, parameters: Any) -> Any:
        """Carries a statement out; what it did, as a relation of DuckDB."""


class Connection(_Base):
    """A connection of DuckDB that looks at statements first; see `lance_sql.connect`."""

    __slots__ = ()

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        """As DuckDB's, also for statements about Lance tables, which leave a row that says what was done."""
        parts = _parts(self, query)
        if parts is None:
            if isinstance(query, str) and not args and not options:
                query = _statements(self).narrowed(query, partial(_Base.execute, self)) or query
            return _Base.execute(self, query, *args, **options)
        given = args[0] if args else options.get("parameters")
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            if isinstance(part, str):
                _Base.execute(self, part, *(args if is_last else ()), **(options if is_last else {}))
            else:
                _statements(self).leave(self, part, given if is_last else None)
        return self

    def sql(self, query: Any, *args: Any, **options: Any) -> Any:
        """As DuckDB's, also for statements about Lance tables, whose relation has a row that says what was done."""
        return _relation(self, _Base.sql, query, args, options)

    def query(self, query: Any, *args: Any, **options: Any) -> Any:
        """As `sql`."""
        return _relation(self, _Base.query, query, args, options)

    def from_query(self, query: Any, *args: Any, **options: Any) -> Any:
        """As `sql`."""
        return _relation(self, _Base.from_query, query, args, options)

    def executemany(self, query: Any, *args: Any, **options: Any) -> Any:
        """As DuckDB's, for tables of DuckDB.

        raises: UnsupportedFeature for a Lance table, which would have as many commits as there are rows
        """
        if not all(isinstance(part, str) for part in _parts(self, query) or ()):
            raise UnsupportedFeature(
                "executemany would commit once for each row: INSERT INTO 'x.lance' SELECT * FROM frame commits once"
            )
        return _Base.executemany(self, query, *args, **options)

    def cursor(self) -> Any:
        """As DuckDB's."""
        return _inheriting(self, _Base.cursor(self))

    def duplicate(self) -> Any:
        """As DuckDB's."""
        return _inheriting(self, _Base.duplicate(self))


# DuckDB's objects have no attributes of their own
_statements_by_connection: WeakKeyDictionary[Connection, Statements] = WeakKeyDictionary()


def listening(connection: Any, statements: Statements) -> Any:
    """The connection, of the class above where DuckDB's class can be one's base."""
    try:
        connection.__class__ = Connection
    except TypeError:
        # of DuckDB 1.5
        return connection
    _statements_by_connection[connection] = statements
    return connection


def _inheriting(connection: Connection, duplicate: Any) -> Any:
    attached.inherit(duplicate, connection)
    return listening(duplicate, _statements(connection))


def _statements(connection: Connection) -> Statements:
    return _statements_by_connection[connection]


def _parts(connection: Connection, query: Any) -> list[Any] | None:
    return _statements(connection).parts(connection, query) if isinstance(query, str) else None


def _relation(connection: Connection, method: Any, query: Any, args: Any, options: Any) -> Any:
    parts = _parts(connection, query)
    if parts is None:
        return method(connection, query, *args, **options)
    *first, last = parts
    for part in first:
        if isinstance(part, str):
            method(connection, part)
        else:
            _statements(connection).leave(connection, part, None)
    if isinstance(last, str):
        return method(connection, last, *args, **options)
    if args or options.get("alias"):
        raise InvalidArgument("A statement about a Lance table has no alias here")
    return _statements(connection).relation(connection, last, options.get("params"))
