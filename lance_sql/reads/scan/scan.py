"""Scans for users: columns, a filter, a limit; planned on demand, read while consumed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.reads import write_ahead_log
from lance_sql.reads.scan import null_pages
from lance_sql.reads.scan.filters import Filter, to_predicate
from lance_sql.reads.scan.fragment_scans import FragmentScan, FragmentScans, num_rows
from lance_sql.reads.scan.pieces import Piece
from lance_sql.reads.scan.plan import ReadPlan, ScanPlan, make_plan, make_read_plan
from lance_sql.reads.scan.predicates import Predicate, joined
from lance_sql.reads.scan.projection import Columns, OutputColumn
from lance_sql.reads.scan.pruning.learned import count_decided
from lance_sql.reads.scan.read_batch import read
from lance_sql.reads.scan.reading import Reading
from lance_sql.reads.scan.relation import Batched, Relation
from lance_sql.reads.scan.sampling import sample
from lance_sql.reads.scan.stream.ways import ways
from lance_sql.runtime import observing
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.keywords import methods_suggest_keywords


@dataclass(frozen=True, repr=False)
class Scan(Relation):
    """A read of some columns and rows of one version. Immutable; every reader starts again.

    >>> scan = lance_sql.open("examples/orders.lance").scan(["id"], "id <= 3")
    >>> scan.to_table().num_rows
    3
    """

    snapshot: Snapshot
    columns: tuple[OutputColumn, ...]
    predicate: Predicate | None
    limit: int | None
    batch_size: int | None

    def with_types(self, types: Mapping[str, pa.DataType]) -> Scan:
        """Returns the same scan with other types for some of its columns, as `compact_types` proposes.

        types: by column name; other names are ignored
        """
        return replace(self, columns=Columns.of(self.columns).with_types(types))

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of every batch: the columns in the requested order."""
        return pa.schema([column.arrow for column in self.columns], self.snapshot.manifest.schema.arrow.metadata)

    @cached_property
    def plan(self) -> ScanPlan:
        """Fragments and rows that are read; computed once, from the manifest, the indices and statistics."""
        with at(table=self.snapshot.label):
            return make_plan(self.snapshot, self.columns, self.predicate, self.limit)

    def planned_as(self, other: Scan) -> Scan:
        """Returns the same scan with the rows that planning has found for another one, if it has the same filter."""
        found = other.__dict__.get("plan")
        if found is None or other.predicate != self.predicate or (self.limit, other.limit) != (None, None):
            return self
        scan = replace(self)
        # what is left of the filter does not depend on the columns
        scan.__dict__["plan"] = replace(found, read=replace(found.read, columns=Columns.of(self.columns)))
        return scan

    @cached_property
    def read_plan(self) -> ReadPlan:
        """Plan for reading any rows of the scan; nothing is read for it."""
        return make_read_plan(self.snapshot, self.columns, self.predicate)

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows in fragment order."""
        return iter(self._reading(keeps_all=keeps_all))

    def _narrowed(self, columns: Sequence[str] | None, filter: Filter | None) -> tuple[Batched, Predicate | None]:
        scan, predicate = self, super()._narrowed(columns, filter)[1]
        if predicate is not None:
            named = {column.name for column in self.columns if not (column.path or column.member or column.is_null)}
            if self.limit is not None or not {path[0] for path in predicate.columns} <= named:
                return self, predicate
            # in the types of the table
            scan = replace(scan, predicate=joined(self.predicate, to_predicate(self.snapshot, filter)))
        if columns is not None:
            by_name = {column.name: column for column in self.columns}
            scan = replace(scan, columns=tuple([by_name[name] for name in columns]))
        return scan, None

    def count_rows(self) -> int:
        """Counts the rows, from the manifest unless the filter needs values. Values are only read in zones whose
        rows are not all known to pass."""
        location = self.snapshot
        with observing.recorded("count", table=location.store.uri, version=location.version) as watch:
            counted = self._count()
            if watch is not None:
                watch.note(filter=self.predicate, rows=counted)
        return counted

    def _count(self) -> int:
        plan = self.plan
        if plan.residual is None:
            return plan.num_candidates
        without_columns = replace(self, columns=())
        if self.limit is not None:
            return sum(batch.num_rows for batch in without_columns._reading())
        decided, left = count_decided(plan.candidates, plan.residual)
        task = without_columns.task(replace(plan, candidates=left).fragments())
        return decided + sum(int(batch.num_rows) for batch in task.to_reader())

    def sample_filter(self) -> FilterSample:
        """Estimates the share of the version's rows that pass the filter and whether it needs values, from a few
        thousand rows.

        Matching rows may be clustered where none was sampled: a share of 0 means that they are few, or clustered.

        raises: as reading the columns of the filter
        """
        plan = (replace(self, columns=(), limit=None) if self.columns or self.limit is not None else self).plan
        share = plan.num_candidates / max(plan.count_rows().total, 1)
        rows = sample(plan.candidates)
        if plan.residual is None or not rows:
            return FilterSample(share, is_free=True)
        # in this thread, as one batch: the rows are few
        batch = [Piece(plan.read.open(each.fragment), each.rows) for each in rows]
        if not null_pages.answered(plan.read, batch).reads_filter:
            return FilterSample(share, is_free=True)
        passed = read(plan.read, batch)
        num_passed = 0 if passed is None else passed.num_rows
        return FilterSample(share * num_passed / sum(each.num_rows for each in rows), is_free=False)

    def explain(self, *, analyze: bool = False) -> str:
        """Describes the planned read, the rows that each source of evidence has pruned, and how each column is read,
        as text. Opens the data files and their pages, but reads no values.

        analyze: also reads the scan, and reports the number of rows and the times of planning and reading
        """
        started = time.perf_counter()
        plan, snapshot = self.plan, self.snapshot
        planned = time.perf_counter()
        lines = [f"scan of {snapshot.name} version {snapshot.manifest.version}"]
        lines.append("  columns: " + (", ".join(column.name for column in self.columns) or "(none)"))
        if plan.lineage:
            lines.append("  filter, from the manifest: " + " AND ".join(map(str, plan.lineage)))
        if plan.residual is not None:
            lines.append(f"  filter, on rows: {plan.residual}")
            if passing := plan.count_passing():
                lines.append(f"  filter, known to be true of: {passing} rows")
        if self.limit is not None:
            lines.append(f"  limit: {self.limit}")
        for evidence, ruled_out in plan.ruled_out():
            lines.append(f"  ruled out by {evidence.source}: {ruled_out}")
            lines.extend(f"    {note}" for note in evidence.notes)
        lines.append(f"  fragments: {plan.count_fragments()}")
        lines.append(f"  pages: {plan.count_pages()}")
        lines.append(f"  rows: {plan.count_rows()}")
        if snapshot.manifest.names_log and (notice := write_ahead_log.notice(snapshot)):
            lines.append(f"  in no version: {notice}")
        lines += [f"  {line}" for line in ways(plan.read, plan.fragments(), self.batch_size)]
        if analyze:
            begun = time.perf_counter()
            returned = sum(batch.num_rows for batch in self._reading())
            took = (
                f"planned in {1000 * (planned - started):.1f} ms, read in {1000 * (time.perf_counter() - begun):.1f} ms"
            )
            lines.append(f"  returned: {returned} of {plan.num_candidates} rows, {took}")
        return "\n".join(lines)

    def tasks(self, target_count: int) -> list[ScanTask]:
        """Splits the scan into at most `target_count` parts of nearly equal size, in scan order; each can be read
        anywhere."""
        fragments = self.plan.fragments()
        if self.limit is not None:
            return [self.task(fragments)] if fragments else []
        return [self.task(each) for each in fragments.split(target_count)]

    def task(self, fragments: Iterable[FragmentScan]) -> ScanTask:
        """Returns a part of the scan: these rows, to which the residual filter still applies."""
        chosen = fragments if isinstance(fragments, FragmentScans) else tuple(fragments)
        return ScanTask(self.read_plan, self.schema, chosen, self.limit, self.batch_size)

    def __repr__(self) -> str:
        parts = [repr(self.snapshot.label), f"columns={[column.name for column in self.columns]}"]
        parts += [f"filter={str(self.predicate)!r}"] if self.predicate is not None else []
        parts += [f"limit={self.limit}"] if self.limit is not None else []
        return f"Scan({', '.join(parts)})"

    def _repr_html_(self) -> str | None:
        from lance_sql.values import html

        filter = None if self.predicate is None else str(self.predicate)
        return html.part("scan_part", name=self.snapshot.label, filter=filter, limit=self.limit, schema=self.schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if requested_schema is not None:
            return self.to_reader().__arrow_c_stream__(requested_schema)
        return self._reading().to_capsule()

    def _reading(self, *, keeps_all: bool = False) -> Reading:
        watch = observing.begin("scan")
        plan = self.plan
        # without a filter, planning has left only the wanted rows
        limit = self.limit if plan.residual is not None else None
        reading = Reading(plan.read, self.schema, plan.fragments(), limit, self.batch_size, keeps_all, watch)
        if watch is not None:
            reading.note(filter=self.predicate, limit=self.limit)
        return reading

    def __reduce__(self) -> tuple[type[Scan], tuple[object, ...]]:
        # without the plan, which is computed again from the manifest
        return Scan, (self.snapshot, self.columns, self.predicate, self.limit, self.batch_size)


@dataclass(frozen=True, slots=True)
class FilterSample:
    """Estimates for a filter from a few rows.

    share: share of the version's rows that pass
    is_free: rows are not read, because the manifest or page layouts answer the filter
    """

    share: float
    is_free: bool


@methods_suggest_keywords
@dataclass(frozen=True, repr=False)
class ScanTask(Batched):
    """A part of a scan: some rows of some fragments, with everything needed to read them. Picklable.

    Reading it opens the data files and deletion files of its fragments, but no manifest and no other fragments.

    read: plan for reading the rows
    schema: of every batch
    limit: maximum number of rows
    """

    read: ReadPlan
    schema: pa.Schema
    fragments: Sequence[FragmentScan]
    limit: int | None = None
    batch_size: int | None = None

    @property
    def num_candidates(self) -> int:
        """Number of rows to be read, before removing deleted ones and applying the rest of the filter."""
        return num_rows(self.fragments)

    def __repr__(self) -> str:
        return f"ScanTask({len(self.fragments)} fragments, {self.num_candidates} candidate rows)"

    def project(self, columns: tuple[OutputColumn, ...], schema: pa.Schema) -> ScanTask:
        """Returns the same rows with other columns.

        schema: of these columns
        """
        return replace(self, read=replace(self.read, columns=Columns.of(columns)), schema=schema)

    def _batches(self, *, keeps_all: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the task."""
        return iter(self._reading(keeps_all=keeps_all))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if requested_schema is not None:
            return self.to_reader().__arrow_c_stream__(requested_schema)
        return self._reading().to_capsule()

    def _reading(self, *, keeps_all: bool = False) -> Reading:
        watch = observing.begin("scan")
        reading = Reading(self.read, self.schema, self.fragments, self.limit, self.batch_size, keeps_all, watch)
        if watch is not None:
            reading.note(filter=self.read.residual, limit=self.limit)
        return reading
