"""Registration of Lance tables with a DuckDB connection: functions, macros and attached catalogs."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import duckdb

from lance_sql.errors import InvalidArgument
from lance_sql.values.sql_text import identifier, literal

from .. import attached
from . import cursors
from . import extension as duckdb_extension
from . import macros as duckdb_macros
from .protocol import has_sources

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from lance_sql.catalogs import Catalog
    from lance_sql.dataset import Dataset
    from lance_sql.store.access import AccessOptions

_VIEWS: Final = "lance-sql-views-"
"""Prefix of the folders of attached databases."""
_numbers: Final = itertools.count()
# bypasses the method of `Connection` that parses statements
_execute: Final = duckdb.DuckDBPyConnection.execute

SECONDS_TO_WAIT: Final = 20.0
"""Limit of the wait for the lock of Python in DuckDB 1.5, while a half-read result of a freed connection blocks."""

if not has_sources():
    from lance_sql.reads.arrow_dataset import limit_wait_for_interpreter

    # DuckDB 1.5 holds the lock while it waits for its threads, if the last reference to a connection is a result
    limit_wait_for_interpreter(SECONDS_TO_WAIT)


def connect(
    database: str = ":memory:",
    *,
    statistics_cache: str | os.PathLike[str] | None = None,
    access: AccessOptions | None = None,
    **options: Any,
) -> DuckDBPyConnection:
    """Opens a connection with `lance_scan` and `FROM 'x.lance'`. The options are those of `duckdb.connect`.

    A database file that the process has opened without the extension has only `lance_scan` in DuckDB 1.5.
    """
    connection = duckdb_extension.open_with_extension(database, options)
    check_replacements(connection)
    attached.give_access(connection, access or {})
    for add in _functions(connection, statistics_cache).values():
        # Another connection of the process may have added it. Checking takes longer than everything else here.
        with suppress(duckdb.NotImplementedException, duckdb.CatalogException):
            add()
    if not _add_macros(connection):
        cursors.follow(connection, _add_temporary_macros)
    _prepared.add(connection)
    return connection


_prepared: Final[WeakSet[DuckDBPyConnection]] = WeakSet()
"""Connections that already have the functions."""


def register(
    connection: DuckDBPyConnection, statistics_cache: str | os.PathLike[str] | None = None
) -> DuckDBPyConnection:
    """Adds `lance_scan`, `lance_changes` and the other table functions to a connection, and returns it.

    Cursors of a database in memory have them too, and those of a connection of `connect`. Register other cursors of a
    database in a file separately.
    `FROM 'x.lance'` needs a database that was opened by `connect`.

    statistics_cache: as for `lance_sql.open`, for tables that the connection opens by path
    raises: InvalidArgument for a connection that does not read Python variables
    """
    check_replacements(connection)
    if statistics_cache is None and connection in _prepared:
        return connection
    functions = _functions(connection, statistics_cache)
    # trying is not enough here, because an error would end a transaction of the caller
    query = f"SELECT function_name FROM duckdb_functions() WHERE function_name IN ({', '.join('?' * len(functions))})"
    existing = {name for (name,) in _execute(connection, query, list(functions)).fetchall()}
    for name, add in functions.items():
        if name not in existing:
            add()
    _add_macros(connection)
    _prepared.add(connection)
    return connection


def _functions(
    connection: DuckDBPyConnection, statistics_cache: str | os.PathLike[str] | None
) -> dict[str, Callable[[], object]]:
    """Returns functions that add each of the functions that the macros call."""
    learned = None if statistics_cache is None else os.fspath(statistics_cache)
    attached.give_access(connection, {})
    access = attached.access_of(connection)
    return {
        name: functools.partial(
            connection.create_function,
            name,
            _function(name, len(types), learned, access),
            list(types),
            "VARCHAR",
            null_handling="special",
        )
        for name, types in duckdb_macros.CALLED.items()
    }


def _function(name: str, num_arguments: int, statistics_cache: str | None, access: AccessOptions) -> Callable[..., str]:
    """Implements one of `duckdb_macros.CALLED`. Imports the table code on first call."""

    def function(*arguments: Any) -> str:
        from lance_sql.store.access import within

        from . import references as duckdb_references

        caller = sys._getframe(1)
        with within(access):
            return duckdb_references.query(name, arguments, caller, statistics_cache)

    # DuckDB inspects the signature for the number of arguments
    arguments = [inspect.Parameter(f"argument_{at}", inspect.Parameter.POSITIONAL_ONLY) for at in range(num_arguments)]
    function.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return function


def _add_macros(connection: DuckDBPyConnection) -> bool:
    """Adds the macros, and returns whether cursors have them, too."""
    # Temporary macros belong to one connection. In memory, a permanent one leaves nothing behind, and cursors have it.
    is_in_memory = _is_in_memory(connection)
    if is_in_memory:
        _create_macros(connection, "")
    _add_temporary_macros(connection)
    return is_in_memory


def _add_temporary_macros(connection: DuckDBPyConnection) -> None:
    _create_macros(connection, "TEMP ")


def _create_macros(connection: DuckDBPyConnection, kind: str) -> None:
    statements = ";".join(f"CREATE OR REPLACE {kind}{macro}" for macro in duckdb_macros.MACROS)
    _execute(connection, statements)


def register_table(connection: DuckDBPyConnection, name: str, dataset: Dataset) -> None:
    """Registers one version of a table under a name, with its own columns."""
    from .tables import relation

    connection.register(name, relation(connection, dataset))


def attach(connection: DuckDBPyConnection, catalog: Catalog, name: str) -> list[tuple[str, ...]]:
    """Attaches the tables of a catalog as `name.table` and `name.namespace.table`. Call it again to see later tables.

    Each table is a view, so that every query reads the newest version of the table that has the name then. The views
    are in a read-only database of that name: a table that DuckDB created there would be in no catalog. A table that
    cannot be read raises its error when it is queried.

    returns: the names of the tables
    raises: InvalidArgument for a name of another database; as `Catalog.walk`
    """
    from . import views

    query = "SELECT coalesce(path, '') FROM duckdb_databases() WHERE lower(database_name) = lower(?)"
    existing = _execute(connection, query, [name]).fetchall()
    if not all(_VIEWS in path for (path,) in existing):
        raise InvalidArgument(f"The connection has a database {name!r} already: choose another name")
    tables = list(catalog.walk())
    made = f"__lance_views_{next(_numbers)}"
    # an open database file remains usable after the folder is removed
    with tempfile.TemporaryDirectory(prefix=_VIEWS, ignore_cleanup_errors=True) as folder:
        file = literal(os.path.join(folder, "views.duckdb"))
        # in its own transaction
        cursor = duckdb.DuckDBPyConnection.cursor(connection)
        if connection not in _prepared or not _is_in_memory(connection):
            _add_macros(cursor)
        cursor.execute(f"ATTACH {file} AS {made} (READ_WRITE)")
        views.create(cursor, made, catalog, tables)
        cursor.execute(f"DETACH {made}")
        cursor.execute(f"ATTACH OR REPLACE {file} AS {identifier(name)} (READ_ONLY)")
    return tables


def detach(connection: DuckDBPyConnection, name: str) -> None:
    """Detaches a catalog.

    raises: errors of DuckDB
    """
    _execute(connection, f"DETACH {identifier(name)}")


def check_replacements(connection: DuckDBPyConnection) -> None:
    """
    raises: InvalidArgument for a connection that does not read Python variables
    """
    settings = ("python_enable_replacements", "enable_external_access")
    query = "SELECT " + ", ".join(f"current_setting('{setting}')" for setting in settings)
    for setting, is_enabled in zip(settings, *_execute(connection, query).fetchall(), strict=True):
        if not is_enabled:
            raise InvalidArgument(f"The DuckDB connection has {setting} = false; lance_scan needs it to be true")


def _is_in_memory(connection: DuckDBPyConnection) -> bool:
    query = "SELECT path IS NULL FROM duckdb_databases() WHERE database_name = current_database()"
    return _execute(connection, query).fetchall() == [(True,)]
