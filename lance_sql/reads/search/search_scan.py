"""Scans of ranked rows: like any other, except that rows come best first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql.errors import at
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.predicates.evaluation import evaluate
from lance_sql.reads.scan.projection import OutputColumn
from lance_sql.reads.scan.read_batch import record_batch
from lance_sql.reads.scan.relation import OnePartRelation, cut
from lance_sql.reads.scan.take import arrays_at, parts
from lance_sql.reads.search.ranking import Ranking
from lance_sql.runtime import observing
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U64

if TYPE_CHECKING:
    from lance_sql.reads.search.search_rows import SearchRows


@dataclass(frozen=True, repr=False, kw_only=True)
class RankedScan(OnePartRelation):
    """A read of some columns of ranked rows. Immutable.

    condition: filter on found rows
    """

    columns: tuple[OutputColumn, ...]
    condition: Predicate | None = None
    limit: int | None = None
    batch_size: int | None = None

    def _passing(
        self,
        snapshot: Snapshot,
        addresses: U64,
        resolve: Callable[[Sequence[str]], tuple[OutputColumn, ...]],
        read: Callable[[Sequence[OutputColumn], I64], pa.RecordBatch],
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows that pass the condition, whose columns are read first.

        addresses: of the ranked rows
        resolve: returns columns by name
        read: returns columns of the rows at some positions of them
        """
        condition = self.condition
        tested = () if condition is None else resolve(sorted({path[0] for path in condition.columns}))
        stored = {column.name: column for column in (*self.columns, *tested) if column.field is not None}
        for part in parts(snapshot, tuple(stored.values()), addresses, by_address=True):
            chosen = np.arange(part.start, min(part.stop, len(addresses)))
            if condition is not None:
                passed = evaluate(condition, read(tested, chosen)).fill_null(False)
                chosen = chosen[passed.to_numpy(zero_copy_only=False)]
            if len(chosen):
                yield read(self.columns, chosen)


@dataclass(frozen=True, repr=False)
class SearchScan(RankedScan):
    """Some columns of the best rows. Immutable; the search runs once, on demand.

    columns: those without a field are scores of the ranking, or system columns
    condition: filter on found rows: fewer than k may be left
    """

    rows: SearchRows

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of every batch: the columns in the requested order."""
        return pa.schema([column.arrow for column in self.columns], self.rows.snapshot.manifest.schema.arrow.metadata)

    @property
    def ranking(self) -> Ranking:
        """Found rows."""
        return self.rows.ranking

    def count_rows(self) -> int:
        if self.condition is None:
            count = len(self.ranking.addresses)
            return count if self.limit is None else min(count, self.limit)
        return super().count_rows()

    def explain(self, *, analyze: bool = False) -> str:
        """Describes the search as text; runs it first.

        analyze: also reads the rows, and reports their number
        """
        started = time.perf_counter()
        ranking, snapshot = self.ranking, self.rows.snapshot
        ranked = time.perf_counter()
        lines = [f"search of {snapshot.name} version {snapshot.manifest.version}: {self.rows.ranker.describe()}"]
        lines.append("  columns: " + (", ".join(column.name for column in self.columns) or "(none)"))
        if self.rows.allowed is not None:
            lines.append(f"  filter, before rows are ranked: {self.rows.allowed}")
        if self.condition is not None:
            lines.append(f"  filter, on ranked rows: {self.condition}")
        if self.limit is not None:
            lines.append(f"  limit: {self.limit}")
        lines.extend(f"  {note}" for note in ranking.notes)
        lines.append(f"  rows: {len(ranking.addresses)}, ranked in {1000 * (ranked - started):.1f} ms")
        if analyze:
            begun = time.perf_counter()
            returned = sum(batch.num_rows for batch in self.to_batches())
            lines.append(f"  returned: {returned} rows, read in {1000 * (time.perf_counter() - begun):.1f} ms")
        return "\n".join(lines)

    def to_html(self) -> str:
        """Renders a self-contained HTML page: the best 200 rows with their scores, and highlighted words.

        raises: MissingDependency if Jinja2 is not installed; as reading
        """
        from lance_sql.reads.search.search_page import search_page

        return search_page(self)

    def __repr__(self) -> str:
        names = [column.name for column in self.columns]
        return f"SearchScan({self.rows.snapshot.label!r}, {self.rows.ranker.describe()!r}, columns={names})"

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows. Nothing is searched or read before the first batch is requested."""
        watch, snapshot = observing.begin("search"), self.rows.snapshot
        with at(table=snapshot.label):
            batches = cut(self._ranked(), self.batch_size, self.limit)
            if watch is not None:
                watch.note(table=snapshot.store.uri, version=snapshot.version, query=self.rows.ranker.describe())
                watch.note(columns=[column.name for column in self.columns], filter=self.rows.allowed)
                batches = watch.over(batches)
            yield from batches

    def _ranked(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows; searches when the first is requested, so that a failure of it is recorded as well."""
        yield from self._passing(self.rows.snapshot, self.ranking.addresses, self.rows.resolve, self._read)

    def _read(self, columns: Sequence[OutputColumn], positions: I64) -> pa.RecordBatch:
        """Returns columns of the rows at some positions of the ranking."""
        rows, ranking = self.rows, self.ranking
        stored = [column for column in columns if not rows.is_own(column)]
        taken = iter(arrays_at(rows.snapshot, stored, ranking.addresses[positions]))
        arrays = []
        for column in columns:
            if column.is_null:
                arrays.append(pa.nulls(len(positions)))
            elif rows.is_own(column):
                arrays.append(ranking.scores[column.name].take(pa.array(positions)))
            else:
                arrays.append(next(taken))
        return record_batch(arrays, [column.arrow for column in columns], len(positions))
