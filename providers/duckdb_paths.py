"""`FROM 'path/x.lance'` on connections whose database does not know such names itself.

DuckDB's scan of Python variables is asked for the name `path/x.lance`, and would take a variable of exactly that name.
So the methods that take SQL look for such names first, and call DuckDB in a frame that has the tables as variables,
beside the caller's own. In DuckDB 2.0 a connection can be given these methods; in 1.5 its class cannot be changed,
and a PathConnection stands for it.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import duckdb

from lance_sql.errors import LanceError

from .duckdb_tables import table
from .snapshots import open_version

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_QUOTED: Final = re.compile(r"""'(?:[^']|'')*\.lance'|"(?:[^"]|"")*\.lance\"""")


def prepare(connection: DuckDBPyConnection) -> DuckDBPyConnection:
    """The connection with the methods of this module, or a PathConnection in its place."""
    try:
        connection.__class__ = _Connection
    except TypeError:
        return PathConnection(connection)  # type: ignore[return-value]
    return connection


class _Methods:
    """The methods of a connection that take SQL."""

    __slots__ = ()

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        return _call("execute", self, sys._getframe(1), args, kwargs)

    def executemany(self, *args: Any, **kwargs: Any) -> Any:
        return _call("executemany", self, sys._getframe(1), args, kwargs)

    def sql(self, *args: Any, **kwargs: Any) -> Any:
        return _call("sql", self, sys._getframe(1), args, kwargs)

    def query(self, *args: Any, **kwargs: Any) -> Any:
        return _call("query", self, sys._getframe(1), args, kwargs)

    def from_query(self, *args: Any, **kwargs: Any) -> Any:
        return _call("from_query", self, sys._getframe(1), args, kwargs)


class _Connection(_Methods, duckdb.DuckDBPyConnection):
    """A connection of DuckDB 2.0 that was registered after its database had been opened."""

    __slots__ = ()

    def cursor(self) -> DuckDBPyConnection:
        return prepare(super().cursor())


class PathConnection(_Methods):
    """Stands for a connection of DuckDB 1.5; `connection` is the connection itself."""

    __slots__ = ("connection",)

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self.connection = connection

    def cursor(self) -> PathConnection:
        """Another connection to the same database."""
        return PathConnection(self.connection.cursor())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def __enter__(self) -> PathConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def _call(method: str, connection: _Methods, frame: FrameType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls DuckDB's own method as if from `frame`, with a variable for each Lance path in the SQL."""
    plain = connection.connection if isinstance(connection, PathConnection) else connection
    original: Callable[..., Any] = getattr(duckdb.DuckDBPyConnection, method)
    variables = dict(frame.f_locals)
    missing: list[LanceError] = []
    for path in _paths(args[0] if args else kwargs.get("query")):
        try:
            variables[path] = table(open_version(path))
        except LanceError as error:
            # Perhaps only a text that looks like a path: DuckDB decides whether it is a table.
            missing.append(error)
    variables["__lance_call"] = functools.partial(original, plain, *args, **kwargs)
    try:
        result = eval("__lance_call()", frame.f_globals, variables)
    except duckdb.CatalogException as error:
        if missing:
            raise missing[0] from error
        raise
    return connection if result is plain else result


def _paths(text: object) -> set[str]:
    """The quoted texts in the SQL that may be paths of Lance tables."""
    if not isinstance(text, str):
        return set()
    return {found[1:-1].replace(found[0] * 2, found[0]) for found in _QUOTED.findall(text)}
