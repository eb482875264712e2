"""Cursors of connections to database files, which get the table functions of their connection.

The macros of such a connection are temporary, since the file is the user's, and a cursor is another connection. So the
class of DuckDB's connections makes them in the cursors of the connections that are followed here. DuckDB 1.5 accepts no
subclass in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from weakref import WeakKeyDictionary

import duckdb

_followed: Final[WeakKeyDictionary[Any, Callable[[Any], None]]] = WeakKeyDictionary()
_METHODS: Final = ("cursor", "duplicate")


def follow(connection: Any, prepare: Callable[[Any], None]) -> None:
    """Prepares every later cursor of a connection, and the cursors of cursors."""
    for name in _METHODS:
        method = getattr(duckdb.DuckDBPyConnection, name)
        if not hasattr(method, "__wrapped__"):
            setattr(duckdb.DuckDBPyConnection, name, _following(method))
    _followed[connection] = prepare


def _following(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns the method of DuckDB, whose result is prepared if its connection is followed."""

    @wraps(method)
    def call(connection: Any) -> Any:
        made = method(connection)
        prepare = _followed.get(connection)
        if prepare is not None:
            prepare(made)
            _followed[made] = prepare
        return made

    return call
