"""Base class of all scans: methods that follow from the stream of batches.

Each kind of scan (of a version, a change feed, a search result, a version with its write-ahead log) has its own
columns, schema and stream of batches.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from lance_sql.errors import ColumnNotFound
from lance_sql.reads.scan.filters import Filter, bound
from lance_sql.reads.scan.predicates import Predicate, evaluate
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.values.arguments import column_names
from lance_sql.values.frames import Frames
from lance_sql.values.guessed_names import RowsGuessed


class Batched(Frames):
    """Rows that are read in batches."""

    if TYPE_CHECKING:
        # a field of some of them

        @property
        def schema(self) -> pa.Schema:
            """Schema of every batch: the columns in the requested order."""

    @abstractmethod
    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows; see `to_batches`."""

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        batch_size: int | None = None,
        *,
        keeps_all: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows in batches. Nothing is read before the first batch is requested.

        columns, filter, batch_size: some of these columns and rows, as engines ask a dataset of Arrow for them
        keeps_all: the caller keeps every batch until the end, so that larger ones are faster and take no more memory
        raises: ColumnNotFound; InvalidArgument for a filter that does not fit the types
        """
        if columns is None and filter is None:
            chosen, predicate = self, None
        else:
            chosen, predicate = self._narrowed(column_names(columns), filter)
        batches = chosen._batches(keeps_all=keeps_all)
        if predicate is not None:
            batches = (batch.filter(evaluate(predicate, batch)) for batch in batches)
        if columns is not None:
            batches = (batch.select(columns) for batch in batches)
        return cut(batches, batch_size, None)

    def _narrowed(self, columns: Sequence[str] | None, filter: Filter | None) -> tuple[Batched, Predicate | None]:
        """Returns rows that have these columns of these rows, and what is left of the filter to be tested on them."""
        schema = self.schema
        for name in columns or ():
            if name not in schema.names:
                raise ColumnNotFound(f"No column {name!r} among {', '.join(schema.names)}")
        return self, bound(filter, schema, (), "these rows")

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """Returns the rows as a stream, see `to_batches`."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(keeps_all=keeps_all))

    def to_table(self) -> pa.Table:
        """Returns all rows in memory."""
        # without a reader, which gives up Python's lock for each batch
        return pa.Table.from_batches(self._batches(keeps_all=True), self.schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


class Relation(Batched, RowsGuessed):
    """A read of some columns and rows. Subclasses are frozen dataclasses; every reader starts again."""

    columns: tuple[Any, ...]

    def with_types(self, types: Mapping[str, pa.DataType]) -> Self:
        """Returns the same scan with other types for some of its columns, as `compact_types` proposes; here none.

        types: by column name
        """
        assert not types
        return self

    def with_nulls(self, index: int, name: str) -> Self:
        """Returns the same scan with an additional column of NULLs, for which nothing is read.

        index: of the column in the result
        """
        column = OutputColumn(name, None, (), pa.field(name, pa.null()), is_null=True)
        columns = (*self.columns[:index], column, *self.columns[index:])
        return replace(self, columns=columns)  # type: ignore[type-var]  # a dataclass

    def _count_by_reading(self) -> int:
        without_columns = replace(self, columns=())  # type: ignore[type-var]  # a dataclass
        return sum(batch.num_rows for batch in without_columns.to_batches())

    def _repr_html_(self) -> str | None:
        """Renders the first rows for a notebook."""
        from lance_sql.values import html

        return html.first_rows(self.to_reader())


class OnePartRelation(Relation):
    """A scan that is read as one part, because its rows are only known after all candidates were read."""

    def count_rows(self) -> int:
        """Counts the rows."""
        return self._count_by_reading()

    def tasks(self, target_count: int) -> Sequence[Self]:
        """Returns the scan as one part."""
        return [self]

    def task(self, parts: Iterable[object]) -> Self:
        """Returns a part without rows."""
        assert not list(parts)
        return replace(self, limit=0)  # type: ignore[type-var]  # a dataclass

    def project(self, columns: tuple[OutputColumn, ...], schema: pa.Schema) -> Self:
        """Returns the same rows with other columns."""
        return replace(self, columns=columns)  # type: ignore[type-var]  # a dataclass


class PlainRows:
    """Rows beside those of a version, as engines ask for them: in the types of the table, without system columns."""

    @property
    def system_columns(self) -> tuple[str, ...]:
        """Columns that can be selected by name, but are not in `schema`."""
        return ()

    @property
    def compact_types(self) -> Mapping[str, pa.DataType]:
        """Smaller types for some columns, for `Relation.with_types`."""
        return {}


def cut(batches: Iterable[pa.RecordBatch], batch_size: int | None, limit: int | None) -> Iterator[pa.RecordBatch]:
    """Yields the first `limit` rows of some batches, in batches of at most `batch_size`; requests no batch after
    them."""
    if batch_size is None and limit is None:
        yield from batches
        return
    left = limit
    if left == 0:
        return
    for batch in batches:
        for start in range(0, batch.num_rows, batch_size or max(batch.num_rows, 1)):
            part = batch.slice(start, batch_size)
            if left is not None:
                part = part.slice(0, left)
                left -= part.num_rows
            yield part
            if left == 0:
                return
