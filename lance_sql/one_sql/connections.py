"""DuckDB connections that also run statements on Lance tables: time travel in the syntax of several engines, and
changes of tables.

    connection.execute("FROM 'orders.lance' VERSION AS OF 4")
    connection.execute("INSERT INTO 'orders.lance' VALUES (?, ?)", [7, "paid"])
    connection.execute("OPTIMIZE 'orders.lance'")

The class is DuckDB's own; its `execute`, `sql` and `query` inspect a statement first. Other statements go to DuckDB as
typed. DuckDB 1.5 has no such connections: pass the statements to `lance_sql.sql(.., connection=)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from lance_sql.errors import InvalidArgument, UnsupportedFeature, install_command
from lance_sql.one_sql import spellings
from lance_sql.providers import attach, attach_again
from lance_sql.values.keywords import check_keywords, suggests_keywords

if TYPE_CHECKING:
    from lance_sql.catalogs import Catalog
    from lance_sql.providers.duckdb.connection import Connection
    from lance_sql.store.access import AccessOptions

_OF_DUCKDB: Final = ("read_only", "config")
"""Keywords of `duckdb.connect`."""
_TABLE: Final = re.compile(r"\.lance\b|\blance\s*\.", re.IGNORECASE)
_PREFIXED: Final = re.compile(r"\blance\s*\.\s*[\"'`]", re.IGNORECASE)
"""A path behind the name of the format, as in lance."a/b", whose folder may have any name."""
_STEM: Final = re.compile(r"([^/\\'\"]+)\.lance(?:@[^'\"]*)?/?['\"]")
_FUNCTION: Final = re.compile(r"\blance_\w+\s*\(", re.IGNORECASE)


def may_be_ours(text: str, *, has_catalogs: bool = False) -> bool:
    """Whether a text must be parsed to decide who runs it; False only if it is certainly DuckDB's.

    has_catalogs: tables may also be named by catalogs
    """
    is_about_tables = has_catalogs or _TABLE.search(text) is not None
    if is_about_tables and (spellings.may_be_of_lance(text) or _has_stem(text) or _PREFIXED.search(text) is not None):
        return True
    return (has_catalogs and _FUNCTION.search(text) is not None) or spellings.is_of_no_engine(text)


def _has_stem(text: str) -> bool:
    """Whether columns may be qualified by the name of a quoted path, such as t.id of 'a/t.lance'."""
    lowered = text.lower()
    stems = {match[1] for match in _STEM.finditer(lowered)}
    return any(f"{stem}." in lowered.replace(f"{stem}.lance", "") or f'{stem}".' in lowered for stem in stems)


@suggests_keywords
def connect(
    database: str = ":memory:",
    *,
    statistics_cache: str | os.PathLike[str] | None = None,
    catalog: str | os.PathLike[str] | Catalog | Mapping[str, str | os.PathLike[str] | Catalog] | None = None,
    **options: Any,
) -> Connection:
    """Opens a DuckDB connection in which `lance_scan('x.lance')` and `FROM 'x.lance'` are tables, and whose statements
    may change Lance tables.

    `execute`, `sql` and `query` accept the statements of `lance_sql.sql`, with parameters: `FROM 'x.lance' VERSION AS
    OF 4`, `INSERT INTO 'x.lance'`, `OPTIMIZE 'x.lance'`. All others go to DuckDB as typed. Each change is its own
    commit, so changes are not possible within a transaction. In DuckDB 1.5, pass such statements to `lance_sql.sql`.

    statistics_cache: a folder that shares learned statistics with other processes, for tables that are opened by their
        paths; see `lance_sql.open`
    catalog: attached as `lake`, or under the names of a mapping; see `lance_sql.attach`
    options: storage_options, manifest_store, allow_bases, cache and checksums as for `lance_sql.open`, for the tables
        that statements name; others of `duckdb.connect`. In DuckDB 1.5, unsigned extensions are allowed, because
        `FROM 'x.lance'` needs one
    raises: UnsupportedFeature when DuckDB is not installed; InvalidArgument for a Lance table as the database

    >>> connection = lance_sql.connect()
    >>> connection.execute("SELECT count(*) FROM 'examples/orders.lance' VERSION AS OF 4").fetchall()
    [(400,)]
    """
    of_duckdb = {name: options.pop(name) for name in _OF_DUCKDB if name in options}
    access = _access(options) if options else None
    if str(database).rstrip("/").endswith(".lance") and os.path.isdir(database):
        table = os.fspath(database)
        raise InvalidArgument(
            f"{table} is a Lance table, not a database of DuckDB: query it with connect().sql(\"FROM '{table}'\")"
        )
    try:
        from lance_sql.providers.duckdb import registration
    except ImportError as error:
        raise UnsupportedFeature(f"DuckDB is not installed ({error}): {install_command('duckdb')}") from error
    from lance_sql.providers.duckdb import connection as duckdb_connection

    connection: Any = registration.connect(database, statistics_cache=statistics_cache, access=access, **of_duckdb)
    connection = duckdb_connection.listening(connection, _Statements())
    catalogs = catalog if isinstance(catalog, Mapping) else {} if catalog is None else {"lake": catalog}
    for name, location in catalogs.items():
        attach(connection, location, as_=name)
    return connection


def _access(options: Mapping[str, Any]) -> AccessOptions:
    """
    raises: UnknownKeywordError; InvalidArgument for values of other kinds
    """
    from lance_sql.store.access import KEYWORDS, Access, access_options

    check_keywords("connect", options, (*KEYWORDS, *_OF_DUCKDB))
    given = access_options(options)
    # raises errors before there is a connection
    _ = Access.of(**given)
    return given


class _Statements:
    """Statements of a connection that are about Lance tables. Parsers are imported for texts that may have some."""

    def parts(self, connection: Any, text: str) -> list[Any] | None:
        from lance_sql.providers import attached
        from lance_sql.providers.duckdb.names import DuckDBNames

        names = DuckDBNames(connection)
        if names.has_catalogs and (spellings.lists_tables(text) or attached.names_unlisted(connection, text)):
            self.sees_others(connection)
        if not may_be_ours(text, has_catalogs=names.has_catalogs):
            return None
        from lance_sql.one_sql import on_connections

        return on_connections.parts(text, names)

    def sees_others(self, connection: Any) -> bool:
        from lance_sql.providers.duckdb.results import is_in_transaction

        return not is_in_transaction(connection) and attach_again(connection)

    def leave(self, connection: Any, statement: Any, parameters: Any) -> None:
        from lance_sql.one_sql import on_connections

        on_connections.leave(connection, statement, parameters)

    def relation(self, connection: Any, statement: Any, parameters: Any) -> Any:
        from lance_sql.one_sql import on_connections

        return on_connections.relation(connection, statement, parameters)
