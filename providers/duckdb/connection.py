"""The class of connections that process statements about Lance tables, for DuckDB 2.0.

DuckDB looks for Python variables, such as frames, in the calling frame, and skips frames of its own modules, which it
recognizes by name. This module has such a name, so that queries passed on by its methods see the caller's variables.
"""

from __future__ import annotations

from typing import Any, Protocol
from weakref import WeakKeyDictionary

import duckdb

from lance_sql.errors import NO_TABLE, InvalidArgument, UnsupportedFeature
from lance_sql.providers import attached
from lance_sql.runtime import observing

from ..unmarked_folders import unknown_table, way_to_name

__name__ = "duckdb.lance_sql"

_Base = duckdb.DuckDBPyConnection


class Statements(Protocol):
    """Processor of statements about Lance tables."""

    def parts(self, connection: Any, text: str) -> list[Any] | None:
        """Splits a text into statements about Lance tables and the text of the others. Returns None if all of it is
        unchanged SQL for DuckDB."""

    def sees_others(self, connection: Any) -> bool:
        """Lists the tables of attached catalogs again; returns whether they are others."""

    def leave(self, connection: Any, statement: Any, parameters: Any) -> None:
        """Runs a statement, and sets its summary as the result of the connection."""

    def relation(self, connection: Any, statement: Any, parameters: Any) -> Any:
        """Runs a statement, and returns its summary as a relation of DuckDB."""


class Connection(_Base):
    """A connection of DuckDB that parses statements first; see `lance_sql.connect`."""

    __slots__ = ()

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        """Extends DuckDB's method to statements about Lance tables, whose result is a row with a summary."""
        parts = _parts(self, query)
        if parts is None:
            return _bound(self, _Base.execute, query, args, options)
        given = args[0] if args else options.get("parameters")
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            if isinstance(part, str):
                _bound(self, _Base.execute, part, args if is_last else (), options if is_last else {})
            else:
                _statements(self).leave(self, part, given if is_last else None)
        return self

    def sql(self, query: Any, *args: Any, **options: Any) -> Any:
        """Extends DuckDB's method to statements about Lance tables, whose relation is a row with a summary."""
        return _relation(self, _Base.sql, query, args, options)

    def query(self, query: Any, *args: Any, **options: Any) -> Any:
        """Same as `sql`."""
        return _relation(self, _Base.query, query, args, options)

    def from_query(self, query: Any, *args: Any, **options: Any) -> Any:
        """Same as `sql`."""
        return _relation(self, _Base.from_query, query, args, options)

    def executemany(self, query: Any, *args: Any, **options: Any) -> Any:
        """Calls DuckDB's method, for tables of DuckDB only.

        raises: UnsupportedFeature for a Lance table, which would have one commit for each row
        """
        if not all(isinstance(part, str) for part in _parts(self, query) or ()):
            raise UnsupportedFeature(
                "executemany would commit once for each row: use INSERT INTO 'x.lance' SELECT * FROM frame"
            )
        return _Base.executemany(self, query, *args, **options)

    def cursor(self) -> Any:
        """Like DuckDB's method, with the same statements."""
        return _inheriting(self, _Base.cursor(self))

    def duplicate(self) -> Any:
        """Like DuckDB's method, with the same statements."""
        return _inheriting(self, _Base.duplicate(self))


# DuckDB's objects cannot have additional attributes
_statements_by_connection: WeakKeyDictionary[Connection, Statements] = WeakKeyDictionary()
# a connection frees its functions, which cursors call as well
_origins: WeakKeyDictionary[Connection, Connection] = WeakKeyDictionary()


def listening(connection: Any, statements: Statements) -> Any:
    """Changes the class of the connection to `Connection`, if DuckDB allows subclasses."""
    try:
        connection.__class__ = Connection
    except TypeError:
        # in DuckDB 1.5
        return connection
    _statements_by_connection[connection] = statements
    return connection


def _inheriting(connection: Connection, duplicate: Any) -> Any:
    attached.inherit(duplicate, connection)
    _origins[duplicate] = connection
    return listening(duplicate, _statements(connection))


def _statements(connection: Connection) -> Statements:
    return _statements_by_connection[connection]


def _parts(connection: Connection, query: Any) -> list[Any] | None:
    return _statements(connection).parts(connection, query) if isinstance(query, str) else None


def _bound(connection: Connection, method: Any, query: Any, args: Any, options: Any) -> Any:
    """Calls a method of DuckDB, and once more if a table is unknown or gone and attached catalogs have others now."""
    try:
        with observing.recorded("statement", engine="duckdb", statement=query):
            return method(connection, query, *args, **options)
    except (duckdb.CatalogException, duckdb.InvalidInputException) as error:
        # a dropped table may be there again, in another case
        if isinstance(error, duckdb.InvalidInputException) and not any(map(str(error).__contains__, NO_TABLE)):
            raise
        # the first of several statements may be done
        is_one = isinstance(query, str) and len(_Base.extract_statements(connection, query)) == 1
        if not is_one or not _statements(connection).sees_others(connection):
            unknown = unknown_table(error)
            if unknown is not None and (way := way_to_name(unknown)) is not None:
                error.add_note(way)
            raise
    return method(connection, query, *args, **options)


def _relation(connection: Connection, method: Any, query: Any, args: Any, options: Any) -> Any:
    parts = _parts(connection, query)
    if parts is None:
        return _bound(connection, method, query, args, options)
    *first, last = parts
    for part in first:
        if isinstance(part, str):
            _bound(connection, method, part, (), {})
        else:
            _statements(connection).leave(connection, part, None)
    if isinstance(last, str):
        return _bound(connection, method, last, args, options)
    if args or options.get("alias"):
        raise InvalidArgument("A statement about a Lance table cannot have an alias: leave it out")
    return _statements(connection).relation(connection, last, options.get("params"))
