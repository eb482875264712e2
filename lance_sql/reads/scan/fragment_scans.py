"""Rows of fragments to be read, in scan order.

A plan of many fragments is columns: fragments are parsed one by one, when their rows are read or skipped over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import overload

import numpy as np

from lance_sql.errors import at
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.pruning.known_rows import renumbered, rows_at
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.fragment import Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges


@dataclass(frozen=True, slots=True)
class FragmentScan:
    """Candidate rows of one fragment.

    rows: physical offsets; deleted ones are left out when they are read
    passing: offsets of rows known to pass the whole filter, which need not be among `rows`; None if none are
    """

    fragment: Fragment
    rows: RowRanges
    passing: RowRanges | None = None

    @property
    def num_rows(self) -> int:
        return row_ranges.count(self.rows)

    def part(self, rows: RowRanges) -> FragmentScan:
        """Returns some of the rows, at least one."""
        known = row_ranges.EMPTY if self.passing is None else row_ranges.clip(self.passing, *row_ranges.bounds(rows))
        return FragmentScan(self.fragment, rows, known if len(known) else None)


@dataclass(frozen=True, eq=False)
class FragmentScans(Sequence[FragmentScan]):
    """Candidate rows of some fragments of a version. Pickled with these fragments alone.

    label: of the version, for messages
    fragments: of the version
    indices: of the chosen ones in `fragments`, ascending: int64[k]
    counts: their rows, before `skipped` and `left_over` are left out: int64[k]
    parts: rows of partial fragments, by index; without deleted rows
    passing: for each source of evidence with such rows, the rows that are known to pass; numbers as in `KnownRows`
    skipped, left_over: rows at the beginning of the first fragment and at the end of the last that are left out
    """

    label: str
    fragments: Fragments
    indices: I64
    counts: I64
    parts: Mapping[int, RowRanges]
    passing: tuple[RowRanges, ...]
    skipped: int = 0
    left_over: int = 0

    @classmethod
    def of(cls, candidates: Candidates, passing: Iterable[RowRanges]) -> FragmentScans:
        """Returns the candidate rows of a version."""
        indices, parts = candidates.fragment_indices, candidates.parts
        counts = candidates.physical_rows()
        partial = list(parts)
        for index, position in zip(partial, indices.searchsorted(partial).tolist(), strict=True):
            if position < len(indices) and indices[position] == index:
                counts[position] = row_ranges.count(parts[index])
        snapshot = candidates.snapshot
        return cls(snapshot.label, candidates.fragments, indices, counts, parts, tuple(passing))

    def __len__(self) -> int:
        return len(self.indices)

    @overload
    def __getitem__(self, position: int) -> FragmentScan: ...
    @overload
    def __getitem__(self, position: slice) -> list[FragmentScan]: ...
    def __getitem__(self, position: int | slice) -> FragmentScan | list[FragmentScan]:
        if isinstance(position, slice):
            return [self[each] for each in range(*position.indices(len(self)))]
        position = range(len(self))[position]
        index, count = int(self.indices[position]), int(self.counts[position])
        part = self.parts.get(index)
        rows = row_ranges.single(0, count) if part is None else part
        known = [each for each in (rows_at(index, every) for every in self.passing) if len(each)]
        with at(table=self.label):
            fragment = self.fragments[index]
        scan = FragmentScan(fragment, rows, reduce(row_ranges.union, known) if known else None)
        start = self.skipped if position == 0 else 0
        end = count - self.left_over if position == len(self) - 1 else count
        return scan if end - start == count else scan.part(row_ranges.compose(rows, row_ranges.single(start, end)))

    def __iter__(self) -> Iterator[FragmentScan]:
        return (self[position] for position in range(len(self)))

    @cached_property
    def num_rows(self) -> int:
        """Number of candidate rows, with the deleted ones of whole fragments."""
        return self.fragments.total(self.counts) - self.skipped - self.left_over

    @property
    def num_live_rows(self) -> int | None:
        """Number of rows without deleted ones; None if only files record it."""
        recorded, table = self.fragments.recorded_live_rows, self.fragments.table
        if not len(self):
            return 0
        if recorded is None:
            return None
        ends = [index for index, cut in ((0, self.skipped), (-1, self.left_over)) if cut]
        if any(int(self.indices[end]) not in self.parts and table.have_deletions[self.indices[end]] for end in ends):
            return None
        counts = recorded[self.indices]
        for position in np.isin(self.indices, list(self.parts)).nonzero()[0].tolist() if self.parts else ():
            counts[position] = self.counts[position]
        return self.fragments.total(counts) - self.skipped - self.left_over

    def split(self, target_count: int) -> list[FragmentScans]:
        """Splits the rows into at most `target_count` parts of nearly equal size, in scan order."""
        total = self.num_rows
        count = max(min(target_count, total), 1)
        starts = np.concatenate(([0], self.counts.cumsum())) - self.skipped
        starts[0] = 0
        starts[-1] = total
        bounds = [share * total // count for share in range(count + 1)]
        made = []
        for begin, end in pairwise(bounds):
            if begin == end:
                continue
            first = int(starts.searchsorted(begin, side="right")) - 1
            last = int(starts.searchsorted(end, side="left")) - 1
            skipped = begin - int(starts[first]) + (self.skipped if first == 0 else 0)
            left_over = int(starts[last + 1]) - end + (self.left_over if last == len(self) - 1 else 0)
            chosen = slice(first, last + 1)
            made.append(
                replace(
                    self,
                    indices=self.indices[chosen],
                    counts=self.counts[chosen],
                    skipped=skipped,
                    left_over=left_over,
                )
            )
        return made

    def __reduce__(self) -> tuple[Callable[..., FragmentScans], tuple[object, ...]]:
        parts = {
            position: self.parts[index] for position, index in enumerate(self.indices.tolist()) if index in self.parts
        }
        passing = tuple(renumbered(each, self.indices) for each in self.passing)
        numbers = np.arange(len(self))
        fragments = self.fragments.picked(self.indices)
        return FragmentScans, (
            self.label,
            fragments,
            numbers,
            self.counts,
            parts,
            passing,
            self.skipped,
            self.left_over,
        )


def most_rows(scans: Sequence[FragmentScan]) -> int:
    """Returns the largest number of candidate rows of a fragment, without parsing fragments."""
    if isinstance(scans, FragmentScans):
        return int(scans.counts.max()) if len(scans) else 0
    return max([each.num_rows for each in scans], default=0)


def num_rows(scans: Sequence[FragmentScan]) -> int:
    """Returns the number of candidate rows."""
    return scans.num_rows if isinstance(scans, FragmentScans) else sum(each.num_rows for each in scans)
