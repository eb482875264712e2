"""Views of the tables of a catalog, one for each table.

A view opens its table when a query is bound. DuckDB binds a view when it is created, too: for a table that cannot be
read then, a placeholder is bound, and queries of the view raise the error of the table.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import duckdb

from lance_sql.errors import LanceError
from lance_sql.values.names import sql_folded
from lance_sql.values.sql_text import identifier, literal

from .. import catalog_names
from ..folders import is_written
from .references import unopened

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from lance_sql.catalogs import Catalog

_LOG: Final = logging.getLogger("lance_sql")
_MAIN: Final = "main"


def create(cursor: DuckDBPyConnection, database: str, catalog: Catalog, tables: Iterable[tuple[str, ...]]) -> None:
    """Creates the views of tables in a database. Logs the error of a table that cannot be read, once for each catalog.

    tables: names of `catalog`
    """
    number = catalog_names.register(catalog)
    for namespace, name, source in _sources(catalog, number, tables):
        schema = f"{database}.{identifier(namespace)}"
        view = f"CREATE VIEW {schema}.{identifier(name)} AS FROM lance_table({literal(source)})"
        try:
            cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            reason = _create_view(cursor, view)
        except duckdb.Error as error:
            # a name that DuckDB has already, or cannot have
            reason = _line(error)
        if reason is not None:
            _warn(number, name if namespace == _MAIN else f"{namespace}.{name}", reason)


def _create_view(cursor: DuckDBPyConnection, view: str) -> str | None:
    """Returns why the table cannot be read; None if it can."""
    try:
        cursor.execute(view)
    except duckdb.Error as error:
        with unopened():
            cursor.execute(view)
        return _line(error)
    return None


def _sources(catalog: Catalog, number: int, tables: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """Yields the schema, the name and the source of each view; leaves out tables that are only declared."""
    by_name: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for name in tables:
        schema = ".".join(name[:-1]) or _MAIN
        by_name.setdefault((sql_folded(schema), sql_folded(name[-1])), []).append(name)
    for names in by_name.values():
        *namespace, last = names[0]
        source = _source(catalog, number, names[0]) if len(names) == 1 else catalog_names.name_of(number, names)
        if source is not None:
            yield ".".join(namespace) or _MAIN, last, source


def _source(catalog: Catalog, number: int, name: tuple[str, ...]) -> str | None:
    """Returns the path of a table whose path matches its name, which keeps it; its name for others, which may be
    renamed, and for those that cannot be opened; None for one that is only declared."""
    try:
        path = catalog.describe(name).path
        if not is_written(path):
            return None
    except (LanceError, OSError):
        return catalog_names.name_of(number, name)
    is_plain = len(name) == 1 and path.rstrip("/").rpartition("/")[2].removesuffix(".lance") == name[0]
    return path if is_plain else catalog_names.name_of(number, name)


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].removeprefix("Invalid Input Error: ")


@lru_cache(maxsize=1024)
def _warn(catalog: int, table: str, reason: str) -> None:
    """Logs why a table of a registered catalog cannot be read, once."""
    _LOG.warning("The attached table %r cannot be read: %s", table, reason)
