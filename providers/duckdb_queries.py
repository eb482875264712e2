"""A query in DuckDB over tables that were opened before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

import lance_sql.dataset
from lance_sql.schema.duckdb_types import check_types

from .duckdb import check_replacements
from .duckdb_tables import feed_table, table
from .sources import Source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Errors = duckdb.Error
"""What DuckDB raises for statements that it does not run."""

_lock = Lock()
_numbers = itertools.count()
_uses: dict[str, int] = {}


def target(given: Any) -> DuckDBPyConnection:
    """The connection that was given, or a new one.

    raises: InvalidArgument for one that cannot read Lance tables
    """
    if given is None:
        return duckdb.connect()
    check_replacements(given)
    connection: DuckDBPyConnection = given
    return connection


def prepare(
    connection: DuckDBPyConnection, sql: str, sources: Mapping[str, Source]
) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
    """The columns of the query, and what runs it, each time that it is called.

    raises: DuckDB's errors for a query that it cannot bind; UnsupportedFeature for types that it does not hand over
    """
    tables = {name: _table(source) for name, source in sources.items()}
    with _named(tables):
        relation = connection.sql(sql)
        check_types(relation)
        names = relation.columns

    def read() -> pa.RecordBatchReader:
        with _named(tables):
            found: pa.RecordBatchReader = connection.sql(sql).to_arrow_reader()
            return found

    return names, read


def column_types(connection: DuckDBPyConnection, source: Source) -> dict[str, str]:
    """The types of a table's columns, as DuckDB writes them."""
    name = f"__lance_types_{next(_numbers)}"
    with _named({name: _table(source)}):
        relation = connection.sql(f"FROM {name}")
        return {column: str(type) for column, type in zip(relation.columns, relation.types, strict=True)}


def _table(source: Source) -> Any:
    if isinstance(source.relation, pa.Table):
        return source.relation
    if isinstance(source.relation, lance_sql.dataset.Dataset):
        return table(source.relation, with_system_columns=source.with_system_columns, where=source.where)
    return feed_table(source.relation)


@contextmanager
def _named(tables: Mapping[str, Any]) -> Iterator[None]:
    """Tables as variables of this module, where DuckDB looks for them while it binds a query that is run from here."""
    with _lock:
        for name, found in tables.items():
            globals()[name] = found
            _uses[name] = _uses.get(name, 0) + 1
    try:
        yield
    finally:
        with _lock:
            for name in tables:
                _uses[name] -= 1
                if not _uses[name]:
                    del _uses[name], globals()[name]
