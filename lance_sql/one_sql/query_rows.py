"""Lazily computed rows of a query."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from lance_sql.one_sql.answer import Answer


class Rows(Answer):
    """Result of a query. Each use runs the query once, on the versions that were the newest when `sql` was called.
    Several uses may overlap. A result of `connection=` in DuckDB 2.0 allows one use at a time, while its connection
    does nothing else: another use raises `InvalidArgument`.

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

    def __repr__(self) -> str:
        return f"Rows(engine={self.engine!r}, statement={self.statement!r})"
