"""The scan that users hold: columns, a filter, a limit; planned when asked, read as it is consumed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.scan import batches, read_ahead
from lance_sql.scan.open_files import OpenFiles
from lance_sql.scan.plan import FragmentScan, ScanPlan, make_plan
from lance_sql.scan.predicates import Predicate
from lance_sql.scan.projection import OutputColumn


@dataclass(frozen=True)
class Scan:
    """A read of some columns and rows of one version. Immutable; every reader starts anew.

    >>> scan = lance_sql.open("examples/orders.lance").scan(["id"], "id <= 3")
    >>> scan.to_table().num_rows
    3
    """

    files: OpenFiles
    columns: tuple[OutputColumn, ...]
    predicate: Predicate | None
    limit: int | None
    batch_size: int | None

    def deliver(self, types: Mapping[str, pa.DataType]) -> "Scan":
        """The same scan with other types for some of its columns, as `compact_types` proposes them.

        types: by column name; columns that the scan does not have are passed over
        """
        columns = tuple(
            replace(column, arrow=column.arrow.with_type(types.get(column.name, column.arrow.type)))
            for column in self.columns
        )
        return replace(self, columns=columns)

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of every batch: the columns in the order they were asked for."""
        manifest = self.files.snapshot.manifest
        return pa.schema([column.arrow for column in self.columns], manifest.schema.arrow.metadata)

    @cached_property
    def plan(self) -> ScanPlan:
        """The fragments and rows that are read; made once, from the manifest."""
        return make_plan(self.files, self.columns, self.predicate, self.limit)

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """The rows as a stream of batches, in fragment order. Nothing is read before the first batch is asked for.

        keeps_all: the caller keeps every batch until the end, so that larger ones are faster and take no more memory
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(None, keeps_all=keeps_all))

    def to_table(self) -> pa.Table:
        """All rows in memory."""
        return self.to_reader(keeps_all=True).read_all()

    def count_rows(self) -> int:
        """The number of rows; read from the manifest unless the filter needs values."""
        plan = self.plan
        if plan.residual is None:
            return plan.num_candidates
        without_columns = Scan(self.files, (), self.predicate, self.limit, self.batch_size)
        return sum(batch.num_rows for batch in without_columns._batches(None))

    def explain(self) -> str:
        """What the scan reads and what planning has ruled out, as text; opens the data files, reads no page."""
        plan, snapshot = self.plan, self.files.snapshot
        lines = [f"scan of {snapshot.name} version {snapshot.manifest.version}"]
        lines.append("  columns: " + (", ".join(column.name for column in self.columns) or "(none)"))
        if plan.lineage:
            lines.append("  filter, from the manifest: " + " AND ".join(map(str, plan.lineage)))
        if plan.residual is not None:
            lines.append(f"  filter, on rows: {plan.residual}")
        if self.limit is not None:
            lines.append(f"  limit: {self.limit}")
        lines.append(f"  fragments: {plan.count_fragments()}")
        lines.append(f"  pages: {plan.count_pages()}")
        lines.append(f"  rows: {plan.count_rows()}")
        return "\n".join(lines)

    def tasks(self, target_count: int) -> "list[ScanTask]":
        """The scan in about `target_count` parts of similar size, in scan order; each can be read anywhere."""
        if self.limit is not None:
            return [ScanTask(self, self.plan.fragments)] if self.plan.fragments else []
        per_task = max(1, -(-self.plan.num_candidates // max(target_count, 1)))
        pieces = [
            FragmentScan(fragment.index, row_ranges.compose(fragment.rows, row_ranges.single(start, end)))
            for fragment in self.plan.fragments
            for start in range(0, fragment.num_rows, per_task)
            for end in [min(start + per_task, fragment.num_rows)]
        ]
        tasks: list[list[FragmentScan]] = []
        room = 0
        for piece in pieces:
            if room < piece.num_rows or not tasks:
                tasks.append([])
                room = per_task
            tasks[-1].append(piece)
            room -= piece.num_rows
        return [ScanTask(self, tuple(task)) for task in tasks]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def _batches(
        self, fragments: Sequence[FragmentScan] | None, *, keeps_all: bool = False
    ) -> Iterator[pa.RecordBatch]:
        plan = self.plan
        chosen = plan.fragments if fragments is None else tuple(fragments)
        left = self.limit
        # with a limit, most of what is read ahead may be for nothing
        keeps_all = keeps_all and left is None
        work = batches.split(plan, chosen, self.batch_size, keeps_all=keeps_all)
        for batch in read_ahead.ordered(work, partial(batches.read, plan), keeps_all=keeps_all):
            if batch is None:
                continue
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def __reduce__(self) -> tuple[type["Scan"], tuple[object, ...]]:
        # without the plan, which is made again from the manifest
        return Scan, (self.files, self.columns, self.predicate, self.limit, self.batch_size)


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A part of a scan: some rows of some fragments. Picklable."""

    scan: Scan
    fragments: tuple[FragmentScan, ...]

    @property
    def num_candidates(self) -> int:
        """Rows to be read, before the part of the filter that needs values."""
        return sum(fragment.num_rows for fragment in self.fragments)

    def to_reader(self, *, keeps_all: bool = False) -> pa.RecordBatchReader:
        """The task's rows, as `Scan.to_reader`."""
        batches = self.scan._batches(self.fragments, keeps_all=keeps_all)
        return pa.RecordBatchReader.from_batches(self.scan.schema, batches)
