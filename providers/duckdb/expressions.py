"""SQL expressions over columns, computed by DuckDB in its dialect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.format.schema.duckdb_types import exportable
from lance_sql.values import selection

from ..arrow import widened_rows
from .tables import check_distinct, widen

# Rows arrive in batches, in an internal table: these would see only a part of it.
_REFUSED: Final[Mapping[type[Any], str]] = {
    exp.Window: "a window function",
    exp.Explode: "UNNEST",
    exp.Query: "a subquery",
    exp.Star: "*",
    exp.Columns: "COLUMNS",
    exp.PositionalColumn: "a column by its number",
    exp.Placeholder: "a parameter",
}
_UNKNOWN_COLUMN: Final = re.compile('Referenced column "(.+?)" not found')


class SqlExpressions:
    """Expressions by the name of the column that they compute.

    schema: the columns that they may read
    raises: InvalidArgument for an expression that DuckDB rejects, or that needs more than one row; ColumnNotFound
    """

    def __init__(self, expressions: Mapping[str, str], schema: pa.Schema) -> None:
        self._names = tuple(expressions)
        self._schema = schema
        mentioned = _identifiers(expressions.values())
        self.columns = tuple(name for name in schema.names if name.lower() in mentioned)
        check_distinct(self.columns, pa.schema([schema.field(name) for name in self.columns]))
        # a line break ends a comment at the end of an expression
        selected = ", ".join(f"({text}\n) AS c{i}" for i, text in enumerate(expressions.values()))
        self._query = f"SELECT {selected} FROM rows"
        self._connection = _connection()
        fields = [schema.field(name) for name in self.columns]
        empty = self(selection.empty(pa.schema(fields)))
        self.types = {name: array.type for name, array in empty.items()}

    def __call__(self, rows: pa.Table) -> dict[str, pa.Array]:
        """Computes the values for each row.

        rows: with at least `columns`
        raises: InvalidArgument for errors of DuckDB, and for expressions that do not return one value for each row
        """
        try:
            self._connection.register("rows", self._rows(rows))
            # all rows form one batch
            computed = exportable(self._connection.sql(self._query)).to_arrow_reader(max(rows.num_rows, 1)).read_all()
        except duckdb.Error as error:
            raise self._explained(error) from error
        finally:
            self._connection.unregister("rows")
        if computed.num_rows != rows.num_rows:
            raise InvalidArgument(
                f"The new values of {', '.join(map(repr, self._names))} are not one value for each row"
            )
        return {name: _whole(computed.column(i)) for i, name in enumerate(self._names)}

    def _explained(self, error: duckdb.Error) -> InvalidArgument:
        unknown = _UNKNOWN_COLUMN.search(str(error))
        if unknown is not None:
            name = unknown.group(1)
            return ColumnNotFound(
                f"No column {name!r} for the new values of {', '.join(map(repr, self._names))}. "
                f"Columns: {', '.join(self._schema.names)}. Text needs quotes: \"'{name}'\""
            )
        # the rest is the internal query
        message = str(error).partition("\n\nLINE ")[0]
        return InvalidArgument(f"The new values of {', '.join(map(repr, self._names))} cannot be computed: {message}")

    def _rows(self, rows: pa.Table) -> pa.Table:
        try:
            read = widened_rows(rows.select(self.columns), widen)
        except pa.ArrowInvalid as error:
            raise InvalidArgument(
                f"A value does not fit DuckDB's types: {error}. Use a pyarrow.compute expression"
            ) from error
        # DuckDB has no tables without columns
        columns = [*read.columns, pa.nulls(rows.num_rows, pa.bool_())]
        return pa.table(columns, names=[*self.columns, "__row"])


@cache
def _database(process: int) -> duckdb.DuckDBPyConnection:
    """Opens an empty database of this process, shared by all uses, because opening one takes milliseconds."""
    return duckdb.connect(config={"threads": 1})


def _connection() -> duckdb.DuckDBPyConnection:
    """Returns a connection for one use."""
    try:
        cursor = _database(os.getpid()).cursor()
        # the result of a change must not depend on the machine
        cursor.execute("SET TimeZone = 'UTC'")
    except duckdb.Error:
        # an internal error of DuckDB leaves the database unusable
        _database.cache_clear()
        cursor = _database(os.getpid()).cursor()
        cursor.execute("SET TimeZone = 'UTC'")
    return cursor


def _identifiers(expressions: Iterable[str]) -> set[str]:
    """Returns every name in the expressions, in lower case: columns are matched without case, as in DuckDB.

    raises: InvalidArgument for text that is not an expression, or not one of a single row
    """
    names: set[str] = set()
    for text in expressions:
        try:
            tree = sqlglot.parse_one(text, dialect="duckdb")
        except SqlglotError as error:
            raise InvalidArgument(f"{text!r} is not an SQL expression: {_reason(error)}") from error
        for kind, name in _REFUSED.items():
            if tree.find(kind) is not None:
                raise InvalidArgument(f"{text!r} has {name}: a value is computed from the row's own columns")
        names.update(name.name.lower() for name in tree.find_all(exp.Identifier))
    return names


def _reason(error: SqlglotError) -> str:
    """Returns the parser's error without its terminal markup: the problem and its column."""
    details = getattr(error, "errors", None)
    if not details:
        return str(error)
    description = str(details[0]["description"]).lower()
    if description.startswith("required keyword"):
        description = "something is missing"
    return f"{description} at column {details[0]['col']}"


def _whole(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else array.chunk(0)
