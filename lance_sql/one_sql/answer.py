"""Base class of the results of `lance_sql.sql`: Arrow's stream interface, and the methods of DuckDB's relations."""

from __future__ import annotations

import shutil
import sys
from abc import abstractmethod
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.runtime.cached_property import cached_property
from lance_sql.values.frames import Frames
from lance_sql.values.text_table import write_table

_SHOWN: Final = 40
_LEAST_WIDTH: Final = 40


class Answer(Frames):
    """Rows as streams of Arrow, tuples, frames, and text. Each use starts again; only `fetchone` and `fetchmany`
    continue where the last one stopped."""

    _rest: Iterator[tuple[Any, ...]] | None = None

    @abstractmethod
    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream of batches.

        raises: errors of the engine
        """

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns; runs the query up to its first row."""
        with self.to_reader() as reader:
            return reader.schema

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def to_table(self) -> pa.Table:
        """Returns the rows as a table."""
        return self.to_reader().read_all()

    def to_pylist(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts."""
        table = self.to_table()
        return [dict(zip(table.column_names, row, strict=True)) for row in _tuples(table)]

    def arrow(self) -> pa.RecordBatchReader:
        """Returns the rows as a stream of batches, as `to_reader`."""
        return self.to_reader()

    def df(self) -> Any:
        """Returns the rows as a DataFrame of pandas, as `to_pandas`."""
        return self.to_pandas()

    def pl(self) -> Any:
        """Returns the rows as a DataFrame of Polars, as `to_polars`."""
        return self.to_polars()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns all rows as tuples."""
        return _tuples(self.to_table())

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row as a tuple; None after the last one.

        raises: UnsupportedFeature for a value that Python cannot represent
        """
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Returns the next rows as tuples, at most `size`."""
        if self._rest is None:
            self._rest = _each(self.to_reader())
        return list(islice(self._rest, size))

    def show(self, *, max_rows: int = _SHOWN, max_width: int | None = None) -> None:
        """Prints the first and last rows as a table.

        max_rows: the maximum number of rows
        max_width: characters of a line; defaults to the width of the terminal
        """
        width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH) if max_width is None else max_width
        with self.to_reader() as reader:
            write_table(reader, sys.stdout, boxes=True, width=width, max_rows=max_rows, types=True)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str | None:
        """Renders the first rows for a notebook."""
        from lance_sql.values import html

        return html.first_rows(self.to_reader())


def _each(reader: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in reader:
        yield from _tuples(pa.Table.from_batches([batch]))


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    """
    raises: UnsupportedFeature for a date that Python cannot represent
    """
    try:
        columns = [_values(column) for column in table.columns]
    except OverflowError as error:
        raise UnsupportedFeature(f"A value does not fit Python: {error}. Use to_table()") from error
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
