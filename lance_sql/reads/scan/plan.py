"""Scan plans: the rows of each fragment that can match, and the residual filter for them.

Planning works on the columns of the manifest: fragments that are pruned or taken whole are never parsed. It reads
no page of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import pyarrow as pa

from lance_sql.format.file.column import Column
from lance_sql.format.schema import Field, Schema
from lance_sql.format.schema.types import is_json
from lance_sql.reads.scan import lineage
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.fragment_scans import FragmentScan, FragmentScans
from lance_sql.reads.scan.predicates import (
    And,
    Const,
    Path,
    Predicate,
    Step,
    answer_null_tests,
    conjuncts,
    divided,
    null_tests,
    num_bytes,
)
from lance_sql.reads.scan.predicates.json_functions import DOCUMENT, documents_of
from lance_sql.reads.scan.projection import (
    Columns,
    OutputColumn,
    ReadTogether,
    filter_fields,
    key_of,
    restrict,
)
from lance_sql.reads.scan.pruning import SOURCES, Evidence
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.fragment import Fragment
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_fragments import OpenFragments
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges

MAX_PREFETCHED = 64
"""Number of fragments whose files are opened ahead of their rows."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Total number of items, and number of those that are read."""

    total: int
    selected: int

    def __str__(self) -> str:
        return f"{self.selected} of {self.total} ({self.total - self.selected} pruned)"


@dataclass(frozen=True, slots=True)
class RuledOut:
    """Counts before and after pruning by one source of evidence.

    pages, num_bytes: of the columns that the scan reads; bytes as stored in the data files
    """

    fragments: Counter
    pages: Counter
    rows: Counter
    num_bytes: Counter

    def __str__(self) -> str:
        parts = (("fragments", self.fragments), ("pages", self.pages), ("rows", self.rows), ("bytes", self.num_bytes))
        return ", ".join(f"{each.total - each.selected} of {each.total} {name}" for name, each in parts)


@dataclass(frozen=True, slots=True)
class _Pages:
    pages: int
    num_bytes: int


@dataclass(frozen=True)
class ReadPlan:
    """Columns and residual filter of a scan, for any of its rows. Picklable: it needs no manifest.

    residual: the part of the filter still to be evaluated on rows
    filter_fields, filter_system_columns: inputs of that part
    """

    fragments: OpenFragments
    columns: Columns
    residual: Predicate | None
    filter_fields: tuple[Field, ...]
    filter_system_columns: tuple[str, ...]

    def __reduce__(self) -> tuple[type[ReadPlan], tuple[object, ...]]:
        # without what follows from these
        return ReadPlan, (
            self.fragments,
            self.columns,
            self.residual,
            self.filter_fields,
            self.filter_system_columns,
        )

    def open(self, fragment: Fragment) -> OpenFragment:
        """Opens the fragment for reading."""
        return self.fragments.get(fragment)

    def prefetched(self, fragments: Iterable[FragmentScan], *, has_limit: bool) -> Iterator[FragmentScan]:
        """Yields the fragments, and opens the next ones together if that saves waiting.

        has_limit: most of the later fragments may not be needed
        """
        if self.fragments.concurrency <= 1:
            yield from fragments
            return
        fields = frozenset(Schema(self.fields).by_id)
        left = iter(fragments)
        window = 1 if has_limit else MAX_PREFETCHED
        while part := list(islice(left, window)):
            self.fragments.prefetch([each.fragment for each in part], fields)
            yield from part
            window = min(2 * window, MAX_PREFETCHED)

    @property
    def delivered(self) -> Mapping[int, pa.DataType]:
        return self.columns.delivered

    @cached_property
    def documents(self) -> Mapping[int, pa.DataType]:
        """Types of columns of JSON that the filter needs as documents instead of text, by field id."""
        if self.residual is None or not any(map(is_json, self.filter_fields)):
            return {}
        names = documents_of(self.residual)
        return {field.id: DOCUMENT for field in self.filter_fields if is_json(field) and field.name in names}

    @cached_property
    def together(self) -> ReadTogether:
        """What follows from the columns and the fields of the filter alone."""
        return self.columns.beside(self.filter_fields)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields that are read, filter columns first."""
        return self.together.fields if self.filter_fields else self.columns.fields

    @cached_property
    def tested(self) -> Mapping[str, Field]:
        """The fields of the filter by name."""
        return Schema(self.filter_fields).by_name

    @property
    def to_read(self) -> FieldsToRead:
        """All fields, with the types of those in the result."""
        return self.together.to_read if self.filter_fields else self.columns.to_read

    @cached_property
    def key(self) -> object:
        """Identical object for plans that read the same columns in the same types, as long as it is cached."""
        return key_of((self.filter_fields, self.columns.key)) if self.filter_fields else self.columns.key

    @property
    def row_bytes(self) -> float:
        """Arrow bytes per row by the types of the columns, without the bytes of strings and lists."""
        return self.together.row_bytes if self.filter_fields else self.columns.row_bytes

    @property
    def has_blobs(self) -> bool:
        """Whether values may be outside the data files."""
        return self.together.has_blobs if self.filter_fields else self.columns.has_blobs

    @cached_property
    def reads_nothing(self) -> bool:
        """Whether only the number of rows is needed, with or without columns that have no values."""
        return self.residual is None and self.columns.are_null

    @property
    def reads_filter(self) -> bool:
        """Whether values of rows must be read to evaluate the filter."""
        return bool(self.filter_fields or self.filter_system_columns)

    @property
    def can_join(self) -> bool:
        """Whether columns of several fragments can be concatenated: each fragment has its own stored dictionaries."""
        return self.together.can_join if self.filter_fields else not self.columns.has_dictionaries

    @cached_property
    def steps(self) -> tuple[Sequence[Step], Predicate | None]:
        """Tests of encoded values that rows have to pass, and the rest of the filter, which needs decoded values."""
        return divided(self.residual) if self.residual is not None else ([], None)

    @cached_property
    def evaluations(self) -> dict[Predicate, object]:
        """Cache of `stream.evaluation.evaluated`."""
        return {}

    @cached_property
    def filter_bytes(self) -> int:
        """Approximate memory of the residual filter."""
        return 0 if self.residual is None else num_bytes(self.residual)

    @cached_property
    def null_tests(self) -> frozenset[Path]:
        """Columns of the table that the residual filter tests for NULL."""
        tested = null_tests(self.residual) if self.residual is not None else frozenset()
        return frozenset(path for path in tested if path[0] not in self.filter_system_columns)

    def answered(self, answers: Mapping[Path, bool]) -> ReadPlan:
        """Returns the plan for rows with known answers about NULL in these columns; the same object for the same
        answers."""
        if not answers or self.residual is None:
            return self
        key = frozenset(answers.items())
        plan = self._answered.get(key)
        if plan is None:
            plan = self._answered[key] = self._answer(answers, self.residual)
        return plan

    @cached_property
    def _answered(self) -> dict[frozenset[tuple[Path, bool]], ReadPlan]:
        return {}

    @cached_property
    def unfiltered(self) -> ReadPlan:
        """Plan for rows that are known to pass."""
        return replace(self, residual=None, filter_fields=(), filter_system_columns=())

    def _answer(self, answers: Mapping[Path, bool], residual: Predicate) -> ReadPlan:
        residual = answer_null_tests(residual, answers)
        if residual == Const(True):
            return self.unfiltered
        paths = residual.columns
        below = {field: [path[1:] for path in paths if path[0] == field.name] for field in self.filter_fields}
        return replace(
            self,
            residual=residual,
            filter_fields=tuple(restrict(field, inside) for field, inside in below.items() if inside),
            filter_system_columns=tuple(name for name in self.filter_system_columns if (name,) in paths),
        )

    def columns_of(self, fragment: OpenFragment) -> Iterator[Column]:
        """Yields the columns of all fields in a fragment, in the delivered types; opens its data files."""
        for field in self.fields:
            yield from fragment.columns_of(field, self.delivered.get(field.id))


@dataclass(frozen=True)
class ScanPlan:
    """A planned scan of one version.

    candidates: the remaining rows, in scan order
    evidence: results of the sources of evidence, in the order of evaluation
    lineage: the part of the filter that planning has evaluated
    """

    snapshot: Snapshot
    read: ReadPlan
    candidates: Candidates
    evidence: tuple[Evidence, ...]
    lineage: tuple[Predicate, ...]
    limit: int | None

    @property
    def residual(self) -> Predicate | None:
        """Part of the filter still to be evaluated on rows."""
        return self.read.residual

    @property
    def num_candidates(self) -> int:
        """Number of live rows that planning left."""
        return self.candidates.num_rows

    def fragments(self) -> FragmentScans:
        """Returns the fragments with remaining rows, and these rows."""
        passing = (each.passing for each in self.evidence if each.passing is not None)
        return FragmentScans.of(self.candidates, passing)

    def count_fragments(self) -> Counter:
        """Counts the fragments of the version."""
        return Counter(len(self.snapshot.manifest.fragments), len(self.candidates))

    def count_rows(self) -> Counter:
        """Counts the live rows of the version."""
        return Counter(Candidates.all_of(self.snapshot).num_rows, self.num_candidates)

    def count_passing(self) -> int:
        """Counts the remaining live rows that are known to pass the filter; reads deletions."""
        return sum(
            row_ranges.count(self.snapshot.open(each.fragment).live(row_ranges.intersect(each.rows, each.passing)))
            for each in self.fragments()
            if each.passing is not None
        )

    def count_pages(self) -> Counter:
        """Counts the pages of the columns that the scan reads; opens the data files."""
        whole, left = self._pages(Candidates.all_of(self.snapshot)), self._pages(self.candidates)
        return Counter(whole.pages, left.pages)

    def ruled_out(self) -> Iterator[tuple[Evidence, RuledOut]]:
        """Yields what each source has pruned after the sources before it; opens the data files."""
        before = Candidates.all_of(self.snapshot)
        for each in self.evidence:
            after = each.candidates
            pages, left = self._pages(before), self._pages(after)
            yield (
                each,
                RuledOut(
                    Counter(len(before), len(after)),
                    Counter(pages.pages, left.pages),
                    Counter(before.num_rows, after.num_rows),
                    Counter(pages.num_bytes, left.num_bytes),
                ),
            )
            before = after

    def _pages(self, candidates: Candidates) -> _Pages:
        """Counts the pages, of the columns that the scan reads, with rows of the candidates."""
        count = num_bytes = 0
        fragments = self.snapshot.manifest.fragments
        for fragment_index, rows in candidates:
            for column in self.read.columns_of(self.snapshot.open(fragments[fragment_index])):
                for number, (start, end) in enumerate(pairwise(column.row_starts.tolist())):
                    if len(row_ranges.clip(rows, start, end)):
                        count += 1
                        num_bytes += column.page_bytes(number)
        return _Pages(count, num_bytes)


def make_plan(
    snapshot: Snapshot, columns: Sequence[OutputColumn], predicate: Predicate | None, limit: int | None
) -> ScanPlan:
    """Plans a scan.

    predicate: over the table's fields and system columns
    limit: maximum number of rows
    """
    by_lineage, residual = _divide(predicate)
    candidates = Candidates.all_of(snapshot)
    evidence = []
    for source in SOURCES:
        narrowed = source.narrow(candidates, predicate) if predicate is not None else None
        if narrowed is not None:
            evidence.append(narrowed)
            candidates = narrowed.candidates
    if residual is None and limit is not None:
        candidates = candidates.head(limit)
    read = _read_plan(snapshot, columns, residual)
    return ScanPlan(snapshot, read, candidates, tuple(evidence), by_lineage, limit)


def make_read_plan(snapshot: Snapshot, columns: Sequence[OutputColumn], predicate: Predicate | None) -> ReadPlan:
    """Returns the plan for reading rows that planning has left; see `make_plan`."""
    return _read_plan(snapshot, columns, _divide(predicate)[1])


def _read_plan(snapshot: Snapshot, columns: Sequence[OutputColumn], residual: Predicate | None) -> ReadPlan:
    fields, system = filter_fields(snapshot, residual.columns) if residual is not None else ([], [])
    return ReadPlan(snapshot.open_fragments, Columns.of(columns), residual, tuple(fields), tuple(system))


def _divide(predicate: Predicate | None) -> tuple[tuple[Predicate, ...], Predicate | None]:
    """Splits a filter into the parts that the manifest answers, and the rest for rows."""
    parts = [part for part in conjuncts(predicate) if part != Const(True)] if predicate is not None else []
    are_lineage = [lineage.is_lineage(part) for part in parts]
    by_lineage = tuple([part for part, is_lineage in zip(parts, are_lineage, strict=True) if is_lineage])
    on_rows = tuple([part for part, is_lineage in zip(parts, are_lineage, strict=True) if not is_lineage])
    return by_lineage, None if not on_rows else on_rows[0] if len(on_rows) == 1 else And(on_rows)
