"""Base class of scans over ranked rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.relation import OnePartRelation


@dataclass(frozen=True, repr=False, kw_only=True)
class RankedScan(OnePartRelation):
    """A read of some columns of ranked rows. Immutable.

    condition: filter on found rows
    """

    columns: tuple[OutputColumn, ...]
    condition: Predicate | None = None
    limit: int | None = None
    batch_size: int | None = None

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows, in batches."""

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """Returns the rows as a stream of batches. Nothing is searched or read before the first batch is requested."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())
