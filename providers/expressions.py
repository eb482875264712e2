"""SQL expressions over the columns of a batch, computed by DuckDB in its dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from lance_sql.errors import InvalidArgument

from .arrow import widened_type
from .duckdb_tables import widen


class SqlExpressions:
    """Expressions by the name of the column that they make.

    schema: the columns that they may read
    raises: InvalidArgument for an expression that DuckDB does not take
    """

    def __init__(self, expressions: Mapping[str, str], schema: pa.Schema) -> None:
        self._names = tuple(expressions)
        mentioned = _identifiers(expressions.values())
        self.columns = tuple(name for name in schema.names if name.lower() in mentioned)
        # a line break ends a comment at the end of an expression
        selected = ", ".join(f"({text}\n) AS c{i}" for i, text in enumerate(expressions.values()))
        self._query = f"SELECT {selected} FROM rows"
        self._connection = duckdb.connect(config={"threads": 1})
        fields = [schema.field(name) for name in self.columns]
        empty = self(
            pa.RecordBatch.from_arrays([pa.array([], field.type) for field in fields], schema=pa.schema(fields))
        )
        self.types = {name: array.type for name, array in empty.items()}

    def __call__(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The values for each row.

        batch: has at least `columns`
        raises: InvalidArgument for what DuckDB reports, and for expressions that are none of single rows
        """
        try:
            self._connection.register("rows", self._rows(batch))
            made = self._connection.sql(self._query).to_arrow_table()
        except duckdb.Error as error:
            expressions = ", ".join(map(repr, self._names))
            raise InvalidArgument(f"The new values of {expressions} cannot be computed: {error}") from error
        finally:
            self._connection.unregister("rows")
        if made.num_rows != batch.num_rows:
            raise InvalidArgument(f"The new values of {', '.join(map(repr, self._names))} are not one for each row")
        return {name: _whole(made.column(i)) for i, name in enumerate(self._names)}

    def _rows(self, batch: pa.RecordBatch) -> pa.Table:
        arrays = [batch.column(name) for name in self.columns]
        arrays = [array.cast(widened_type(array.type, widen)) for array in arrays]
        # DuckDB has no tables without columns
        arrays.append(pa.nulls(batch.num_rows, pa.bool_()))
        return pa.table(arrays, names=[*self.columns, "__row"])


def _identifiers(expressions: Iterable[str]) -> set[str]:
    """Every name in the expressions, in lower case: columns are found whatever their case, as in DuckDB."""
    found: set[str] = set()
    for text in expressions:
        try:
            tree = sqlglot.parse_one(text, dialect="duckdb")
        except sqlglot.ParseError as error:
            raise InvalidArgument(f"{text!r} is no SQL expression: {error}") from error
        found.update(name.name.lower() for name in tree.find_all(exp.Identifier))
    return found


def _whole(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else array.chunk(0)
