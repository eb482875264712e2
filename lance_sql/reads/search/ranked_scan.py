"""What scans of ranked rows have in common: they are read as one part, for which rows are the best nobody knows before
all were looked at."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.values.frames import Frames


@dataclass(frozen=True, repr=False, kw_only=True)
class RankedScan(Frames):
    """A read of some columns of ranked rows. Immutable.

    condition: on rows that were found
    """

    columns: tuple[OutputColumn, ...]
    condition: Predicate | None = None
    limit: int | None = None
    batch_size: int | None = None

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The schema of every batch: the columns in the order they were asked for."""

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in batches."""

    def with_types(self, types: Mapping[str, pa.DataType]) -> Self:
        """The same scan: it has no columns in other types."""
        assert not types
        return self

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """The rows as a stream of batches. Nothing is searched or read before the first batch is asked for."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def to_table(self) -> pa.Table:
        """All rows in memory."""
        return self.to_reader(keeps_all=True).read_all()

    def count_rows(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in replace(self, columns=()).to_reader())

    def tasks(self, target_count: int) -> Sequence[Self]:
        """The scan as one part."""
        return [self]

    def task(self, parts: Iterable[object]) -> Self:
        """A part without rows."""
        assert not list(parts)
        return replace(self, limit=0)

    def project(self, columns: tuple[OutputColumn, ...], schema: pa.Schema) -> Self:
        """The same rows with other columns."""
        return replace(self, columns=columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)


def cut(batches: Iterable[pa.RecordBatch], batch_size: int | None, limit: int | None) -> Iterator[pa.RecordBatch]:
    """The first `limit` rows of some batches, in batches of at most `batch_size`; no batch is asked for behind them."""
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
