"""Queries in DuckDB over open tables."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import duckdb
import pyarrow as pa

import lance_sql.dataset
from lance_sql.format.schema.duckdb_types import exportable

from ..adapter import Request
from ..arrow import widened_rows
from ..sources import Source
from . import results as duckdb_results
from .registration import check_replacements
from .tables import RelationTable, relation, widen

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Errors = (duckdb.Error,)
"""Errors that DuckDB raises for rejected statements."""

_lock = Lock()
_numbers = itertools.count()
_uses: dict[str, int] = {}
_variables: ContextVar[Mapping[str, Any]] = ContextVar("variables", default=MappingProxyType({}))
_own: Final[WeakSet[DuckDBPyConnection]] = WeakSet()
"""Connections that no other code uses."""
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def target(given: Any) -> DuckDBPyConnection:
    """Returns the given connection, or a new one.

    raises: InvalidArgument for one that cannot read Lance tables
    """
    if given is None:
        own = duckdb.connect()
        _own.add(own)
        return own
    check_replacements(given)
    connection: DuckDBPyConnection = given
    return connection


def prepare(
    connection: DuckDBPyConnection, request: Request
) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
    """Binds a query. Returns its columns, and a function that runs it on each call.

    raises: DuckDB's errors for a query that it cannot bind; UnsupportedFeature for types that it cannot return
    """
    sql, sources = request.sql, request.sources
    # DuckDB takes no others
    given = {name: value for name, value in request.parameters.items() if re.search(rf"\${re.escape(name)}\b", sql)}
    options: dict[str, Any] = {"params": given} if given else {}
    variables = _seen(sql)
    with _named(connection, sources):
        names = exportable(_sql(connection, sql, options, variables)).columns

    def read(connection: DuckDBPyConnection = connection) -> pa.RecordBatchReader:
        with _named(connection, sources):
            reader: pa.RecordBatchReader = exportable(_sql(connection, sql, options, variables)).to_arrow_reader()
            return reader

    return names, duckdb_results.repeatable(connection, read, is_own=connection in _own) if request.is_kept else read


@contextmanager
def seeing(variables: Mapping[str, Any]) -> Iterator[None]:
    """Makes Python variables visible to queries, as on connections of DuckDB."""
    token = _variables.set(variables)
    try:
        yield
    finally:
        _variables.reset(token)


def _seen(sql: str) -> dict[str, Any]:
    """Returns the variables that a query may refer to."""
    variables = _variables.get()
    return {name: variables[name] for name in set(_WORD.findall(sql)) if name in variables} if variables else {}


def _sql(connection: DuckDBPyConnection, sql: str, options: dict[str, Any], variables: Mapping[str, Any]) -> Any:
    """Calls `connection.sql` in a frame with these variables and the globals of this module."""
    if not variables:
        return connection.sql(sql, **options)
    own = {"__lance_call": functools.partial(connection.sql, sql, **options)}
    return eval("__lance_call()", globals(), {**variables, **own})


def leave(connection: DuckDBPyConnection, rows: pa.Table) -> None:
    """Sets rows as the result of a connection, to be fetched."""
    # DuckDB finds the variable in this frame
    _ = rows
    connection.execute("FROM rows")


def column_types(connection: DuckDBPyConnection, source: Source) -> dict[str, str]:
    """Returns the types of a table's columns, as DuckDB spells them."""
    name = f"__lance_types_{next(_numbers)}"
    with _named(connection, {name: source}):
        relation = connection.sql(f"FROM {name}")
        return {column: str(type) for column, type in zip(relation.columns, relation.types, strict=True)}


def _table(connection: DuckDBPyConnection, source: Source) -> Any:
    if isinstance(source.relation, pa.Table):
        return widened_rows(source.relation, widen)
    if isinstance(source.relation, lance_sql.dataset.Dataset):
        options = {"with_system_columns": source.with_system_columns, "where": source.where}
        return relation(connection, source.relation, **options)
    return RelationTable(source.relation)


@contextmanager
def _named(connection: DuckDBPyConnection, sources: Mapping[str, Source]) -> Iterator[None]:
    """Binds tables to variables of this module, where DuckDB finds them while it binds a query run from here."""
    tables = {name: _table(connection, source) for name, source in sources.items()}
    with _lock:
        for name, source_table in tables.items():
            globals()[name] = source_table
            _uses[name] = _uses.get(name, 0) + 1
    try:
        yield
    finally:
        with _lock:
            for name in tables:
                _uses[name] -= 1
                if not _uses[name]:
                    del _uses[name], globals()[name]
