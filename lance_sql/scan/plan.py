"""What a scan reads: the rows of each fragment that can match, and the filter that is left for them.

Planning reads the manifest, deletion files, row lineage and statistics, and no page of values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.row_ranges import RowRanges
from lance_sql.scan import lineage
from lance_sql.scan.fragments import FragmentRows
from lance_sql.scan.open_files import OpenFiles
from lance_sql.scan.predicates import And, Const, Predicate, conjuncts
from lance_sql.scan.projection import OutputColumn, filter_fields
from lance_sql.scan.pruning import prune
from lance_sql.schema import Field, arrow_field


@dataclass(frozen=True, slots=True)
class FragmentScan:
    """The rows of one fragment that are still candidates; `index` is its place in the manifest."""

    index: int
    rows: RowRanges

    @property
    def num_rows(self) -> int:
        return row_ranges.count(self.rows)


@dataclass(frozen=True, slots=True)
class Counter:
    """How many of something there are, and how many of them are read."""

    total: int
    selected: int

    def __str__(self) -> str:
        return f"{self.selected} of {self.total} ({self.total - self.selected} pruned)"


@dataclass(frozen=True)
class ScanPlan:
    """A planned scan of one version.

    fragments: those with rows left, in scan order
    lineage, residual: the parts of the filter that planning has answered, and that rows have yet to pass
    """

    files: OpenFiles
    columns: tuple[OutputColumn, ...]
    fragments: tuple[FragmentScan, ...]
    lineage: tuple[Predicate, ...]
    residual: Predicate | None
    limit: int | None

    @property
    def num_candidates(self) -> int:
        """Rows that planning left."""
        return sum(fragment.num_rows for fragment in self.fragments)

    def open(self, fragment: FragmentScan) -> FragmentRows:
        """The fragment, opened for reading."""
        return FragmentRows(self.files, self.files.snapshot.manifest.fragments[fragment.index], self._delivered)

    @cached_property
    def _delivered(self) -> dict[int, pa.DataType]:
        """The types that columns have in the result, where those are not the table's."""
        return {
            column.field.id: column.arrow.type
            for column in self.columns
            if column.field is not None and not column.path and column.arrow.type != arrow_field(column.field).type
        }

    @cached_property
    def fields(self) -> list[Field]:
        """The fields that are read, filter columns first."""
        fields = list(self.filter_fields)
        fields += [column.field for column in self.columns if column.field is not None and column.field not in fields]
        return fields

    @cached_property
    def filter_fields(self) -> list[Field]:
        """The fields that the residual filter reads."""
        return filter_fields(self.files.snapshot, self.residual.columns)[0] if self.residual else []

    @cached_property
    def filter_system_columns(self) -> list[str]:
        """The system columns that the residual filter reads."""
        return filter_fields(self.files.snapshot, self.residual.columns)[1] if self.residual else []

    def count_fragments(self) -> Counter:
        """Fragments of the version."""
        return Counter(len(self.files.snapshot.manifest.fragments), len(self.fragments))

    def count_rows(self) -> Counter:
        """Live rows of the version."""
        manifest = self.files.snapshot.manifest
        total = sum(row_ranges.count(FragmentRows(self.files, each).live_rows()) for each in manifest.fragments)
        return Counter(total, self.num_candidates)

    def count_pages(self) -> Counter:
        """Pages of the columns that the scan reads; opens the data files."""
        selected_rows = {fragment.index: fragment.rows for fragment in self.fragments}
        total = selected = 0
        for index, fragment in enumerate(self.files.snapshot.manifest.fragments):
            rows = selected_rows.get(index, row_ranges.EMPTY)
            for field in self.fields:
                for column in FragmentRows(self.files, fragment).columns_of(field):
                    for start, end in pairwise(column.row_starts.tolist()):
                        total += 1
                        selected += len(row_ranges.clip(rows, start, end)) > 0
        return Counter(total, selected)


def make_plan(
    files: OpenFiles, columns: Sequence[OutputColumn], predicate: Predicate | None, limit: int | None
) -> ScanPlan:
    """Plans a scan.

    predicate: over the table's fields and system columns
    limit: at most so many rows
    """
    parts = conjuncts(predicate) if predicate is not None else []
    parts = [part for part in parts if part != Const(True)]
    by_lineage = tuple(part for part in parts if lineage.is_lineage(part))
    on_rows = tuple(part for part in parts if not lineage.is_lineage(part))
    residual = None if not on_rows else on_rows[0] if len(on_rows) == 1 else And(on_rows)
    opened = [FragmentRows(files, fragment) for fragment in files.snapshot.manifest.fragments]
    fragments: list[FragmentScan] = []
    left = limit if residual is None else None
    fields = {field.name: field for field in files.snapshot.manifest.schema.fields}
    if by_lineage:
        selected = lineage.select(opened, by_lineage)
    for index, fragment in enumerate(opened):
        if left == 0:
            break
        rows = selected[index] if by_lineage else fragment.live_rows()
        if residual is not None:
            rows = prune(fragment, rows, residual, fields)
        if left is not None:
            rows = row_ranges.head(rows, left)
            left -= row_ranges.count(rows)
        if len(rows):
            fragments.append(FragmentScan(index, rows))
    return ScanPlan(files, tuple(columns), tuple(fragments), by_lineage, residual, limit)
