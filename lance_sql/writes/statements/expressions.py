"""New values of columns in the forms that users write: SQL text, Arrow expressions, or constants.

DuckDB computes SQL text, in its dialect, because users expect an engine's semantics of `price * 1.1`. The other two
need no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument, missing_package
from lance_sql.format.casts import python_values
from lance_sql.format.casts.common_type import joinable_type
from lance_sql.format.casts.conversion import convert
from lance_sql.format.schema.extensions import with_extensions
from lance_sql.runtime import ports
from lance_sql.values import kinds, selection

if TYPE_CHECKING:
    import pyarrow.compute as pc


class Expressions(Protocol):
    """Several expressions over columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the expressions read."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """Types of the results, by name."""

    def __call__(self, rows: pa.Table) -> dict[str, pa.Array]:
        """Computes the values of each expression, one for each row.

        rows: with at least `columns`
        raises: InvalidArgument
        """


class Constants:
    """Constants, repeated for every row.

    schema: of the table, which may have the columns
    """

    def __init__(self, values: Mapping[str, Any], schema: pa.Schema) -> None:
        try:
            self._values = {name: _constant(value, schema, name) for name, value in values.items()}
        except InvalidArgument:
            raise
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise InvalidArgument(f"The type of a value cannot be that of a column: {error}") from error
        self.columns: tuple[str, ...] = ()
        self.types = {name: value.type for name, value in self._values.items()}

    def __call__(self, rows: pa.Table) -> dict[str, pa.Array]:
        return {name: _repeated(value, rows.num_rows) for name, value in self._values.items()}


class ArrowExpressions:
    """Arrow expressions, evaluated by Arrow."""

    def __init__(self, expressions: Mapping[str, pc.Expression], schema: pa.Schema) -> None:
        self._expressions = dict(expressions)
        # an expression does not expose the columns it reads
        self.columns = tuple(schema.names)
        empty = self(selection.empty(schema))
        self.types = {name: array.type for name, array in empty.items()}

    def __call__(self, rows: pa.Table) -> dict[str, pa.Array]:
        from pyarrow import acero

        source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
        options = acero.ProjectNodeOptions(list(self._expressions.values()), list(self._expressions))
        try:
            projected = acero.Declaration("project", options, [source]).to_table(use_threads=False).combine_chunks()
        except pa.ArrowException as error:
            raise InvalidArgument(
                f"{' and '.join(map(repr, self._expressions))} cannot be computed: {error}"
            ) from error
        return {name: _one(projected.column(name)) for name in self._expressions}


class _Together:
    """Expressions of several kinds."""

    def __init__(self, parts: list[Expressions]) -> None:
        self._parts = parts
        self.columns = tuple(dict.fromkeys(name for part in parts for name in part.columns))
        self.types = {name: type for part in parts for name, type in part.types.items()}

    def __call__(self, rows: pa.Table) -> dict[str, pa.Array]:
        return {name: array for part in self._parts for name, array in part(rows).items()}


def compile(values: Mapping[str, Any], schema: pa.Schema) -> Expressions:
    """Compiles values to expressions, and tries them on zero rows.

    values: by column: text is SQL, an Arrow expression is one, anything else is a constant
    schema: of the columns that expressions may read
    raises: InvalidArgument for an invalid expression; MissingDependency for SQL without DuckDB
    """
    import pyarrow.compute as pc

    sql = {name: value for name, value in values.items() if isinstance(value, str)}
    arrow = {name: value for name, value in values.items() if isinstance(value, pc.Expression)}
    constants = {name: value for name, value in values.items() if name not in sql and name not in arrow}
    parts: list[Expressions] = []
    if sql:
        parts.append(_sql_expressions(sql, schema))
    if arrow:
        parts.append(ArrowExpressions(arrow, schema))
    if constants:
        parts.append(Constants(constants, schema))
    return parts[0] if len(parts) == 1 else _Together(parts)


def _sql_expressions(expressions: Mapping[str, str], schema: pa.Schema) -> Expressions:
    try:
        implementation: Callable[..., Expressions] = ports.SQL_EXPRESSIONS.load()
    except ImportError as error:
        raise missing_package(
            "SQL expressions need DuckDB (a pyarrow.compute expression does not)", "duckdb"
        ) from error
    return implementation(expressions, schema)


def _constant(value: Any, schema: pa.Schema, name: str) -> pa.Array:
    """Converts a value exactly to the type of its column, or to its own type if the column has no such value.

    returns: one value
    raises: InvalidArgument
    """
    if isinstance(value, pa.Scalar):
        if isinstance(value, pa.DictionaryScalar) and value.is_valid:
            value = value.value
        if not value.is_valid:
            return _stored(pa.nulls(1, value.type), schema, name)
        try:
            return _stored(pa.repeat(value, 1), schema, name)
        except pa.ArrowNotImplementedError:
            # Arrow cannot repeat values of nested extension types
            value = value.as_py()
    if name not in schema.names:
        # Arrow infers signed integers
        return pa.array([value], pa.uint64() if isinstance(value, int) and 1 << 63 <= value < 1 << 64 else None)
    type = with_extensions(schema.field(name)).type
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and _rounds(type):
        # as SQL assigns it: floats as decimals by their digits, decimals as the nearest float
        return pa.array([value])
    return _stored(python_values.array([value], type, name), schema, name)


def _rounds(type: pa.DataType) -> bool:
    """Whether a column accepts numbers of another kind, as SQL assigns them."""
    return bool(pa.types.is_decimal(type) or pa.types.is_floating(type) or kinds.is_text(type))


def _stored(value: pa.Array, schema: pa.Schema, name: str) -> pa.Array:
    """Returns an extension value in the storage type that the table shows: Arrow repeats storage values only."""
    # Arrow cannot take from views
    stored = joinable_type(value.type)
    if name in schema.names:
        stored = python_values.storage_type(stored)
    return value if stored == value.type else convert(value, stored)


def _repeated(value: pa.Array, num_rows: int) -> pa.Array:
    return value.take(pa.array(np.zeros(num_rows, np.int64)))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
