"""Lazily computed rows of a query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.values.frames import Frames

_SHOWN: Final = 20
"""Number of rows shown in a notebook."""


class Rows(Frames):
    """Result of a query, with Arrow's stream interface. Each use runs the query once, on the versions that were the
    newest when `sql` was called. Several uses may overlap. A result of `connection=` in DuckDB 2.0 allows one use at a
    time, while its connection does nothing else: another use raises `InvalidArgument`.

    engine: the engine that runs it
    statement: the statement in its dialect, with names in place of tables
    """

    def __init__(self, engine: str, statement: str, read: Callable[[], pa.RecordBatchReader]) -> None:
        self.engine = engine
        self.statement = statement
        self._read = read

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream of batches.

        raises: errors of the engine
        """
        return self._read()

    def to_table(self) -> pa.Table:
        """Returns the rows as a table."""
        return self._read().read_all()

    def to_pylist(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts."""
        table = self.to_table()
        return [dict(zip(table.column_names, row, strict=True)) for row in _tuples(table)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns the rows as tuples."""
        return _tuples(self.to_table())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._read().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str | None:
        """Renders the first rows for a notebook; runs the query."""
        from lance_sql.values import html

        reader = self._read()
        rows: list[tuple[Any, ...]] = []
        with reader:
            for batch in reader:
                rows += zip(
                    *(column.to_pylist() for column in batch.slice(0, _SHOWN + 1 - len(rows)).columns), strict=True
                )
                if len(rows) > _SHOWN:
                    break
        shown = rows[:_SHOWN]
        return html.part("rows_part", schema=reader.schema, rows=shown, has_more=len(rows) > _SHOWN)

    def __repr__(self) -> str:
        return f"Rows(engine={self.engine!r}, statement={self.statement!r})"


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    """
    raises: UnsupportedFeature for a date that Python cannot represent
    """
    try:
        columns = [_values(column) for column in table.columns]
    except OverflowError as error:
        raise UnsupportedFeature(f"Python has no such value: {error}; to_table() has it") from error
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _values(column: pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return [_python(value) for value in values] if "interval" in str(column.type) else values


def _python(value: Any) -> Any:
    """Converts intervals in a value as DuckDB does: a month has 30 days."""
    if isinstance(value, dict):
        return {name: _python(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_python(member) for member in value]
    if not isinstance(value, pa.MonthDayNano):
        return value
    return timedelta(days=30 * value.months + value.days, microseconds=value.nanoseconds // 1000)
