"""Scans of a version and its write-ahead log: first the version's rows, then those of the log, shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql.format.schema import Field
from lance_sql.reads.mem_wal.log_sources import counted_rows
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.predicates.evaluation import evaluate
from lance_sql.reads.scan.projection import OutputColumn, resolve
from lance_sql.reads.scan.read_batch import record_batch
from lance_sql.reads.scan.relation import OnePartRelation, cut
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.runtime.cached_property import cached_property

if TYPE_CHECKING:
    from lance_sql.reads.mem_wal.newest_rows import FreshRows


@dataclass(frozen=True, repr=False)
class FreshScan(OnePartRelation):
    """A read of some columns and rows. Immutable; every reader starts again."""

    rows: FreshRows
    columns: tuple[OutputColumn, ...]
    predicate: Predicate | None
    limit: int | None
    batch_size: int | None

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of every batch: the columns in the requested order."""
        return pa.schema([column.arrow for column in self.columns], self.rows.schema.metadata)

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the version, then those of the log, see `Batched.to_batches`."""
        return cut(self._all(keeps_all=keeps_all), None, self.limit)

    def count_rows(self) -> int:
        """Counts the rows; without a filter, reads only keys."""
        if self.predicate is None and self.limit is None:
            merged = self.rows.merged
            of_version = replace(self._of_version(), columns=()).count_rows()
            return of_version - len(merged.hidden) + sum(int(counted.sum()) for counted in merged.counted)
        return self._count_by_reading()

    def explain(self) -> str:
        """Describes the read as text."""
        merged = self.rows.merged
        lines = [self._of_version().explain(), f"  hidden by newer ones: {len(merged.hidden)} rows of the version"]
        lines.append(f"  of the write-ahead log: {sum(int(counted.sum()) for counted in merged.counted)} rows")
        return "\n".join(lines)

    def __repr__(self) -> str:
        parts = [repr(self.rows.snapshot.label), f"columns={[column.name for column in self.columns]}"]
        parts += [f"filter={str(self.predicate)!r}"] if self.predicate is not None else []
        parts += [f"limit={self.limit}"] if self.limit is not None else []
        return f"FreshScan({', '.join(parts)})"

    def _all(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        merged = self.rows.merged
        scan = self._of_version()
        if len(merged.hidden) == 0:
            yield from scan.to_batches(keeps_all=keeps_all)
        else:
            (address,) = resolve(self.rows.snapshot, [ROW_ADDRESS])
            with_addresses = replace(scan, columns=(*self.columns, address))
            for batch in with_addresses.to_batches(keeps_all=keeps_all):
                addresses = batch.column(len(self.columns)).to_numpy()
                positions = np.minimum(np.searchsorted(merged.hidden, addresses), len(merged.hidden) - 1)
                shown = batch.filter(pa.array(merged.hidden[positions] != addresses))
                if shown.num_rows:
                    yield record_batch(shown.columns[:-1], list(self.schema), shown.num_rows)
        yield from self._of_log()

    def _of_version(self) -> Scan:
        return Scan(self.rows.snapshot, self.columns, self.predicate, None, self.batch_size)

    def _of_log(self) -> Iterator[pa.RecordBatch]:
        fields = self._fields()
        for source, counted in zip(self.rows.sources, self.rows.merged.counted, strict=True):
            for batch in counted_rows(source, fields, counted):
                if self.predicate is not None:
                    batch = batch.filter(evaluate(self.predicate, batch).fill_null(False))
                if batch.num_rows:
                    arrays = [_values(column, batch) for column in self.columns]
                    yield from cut([record_batch(arrays, list(self.schema), batch.num_rows)], self.batch_size, None)

    def _fields(self) -> list[Field]:
        """Returns the table's columns that the result and the filter need."""
        schema = self.rows.snapshot.manifest.schema
        names = {column.field.name for column in self.columns if column.field is not None}
        names |= {path[0] for path in self.predicate.columns} if self.predicate is not None else set()
        return [field for field in schema.fields if field.name in names]


def _values(column: OutputColumn, batch: pa.RecordBatch) -> pa.Array:
    if column.field is None:
        return pa.nulls(batch.num_rows)
    return column.extract(batch.column(column.field.name)).cast(column.arrow.type)
