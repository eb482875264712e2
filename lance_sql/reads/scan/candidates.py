"""Candidate rows of a version, which planning prunes step by step.

    index of the fragment      0     2     3
    rows                       all   all   [40, 60)      only partial fragments have ranges

Whole fragments stay columns, so that planning takes the same few array operations for any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.fragments import Fragments
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges


@dataclass(frozen=True)
class Candidates:
    """Rows of some fragments of a snapshot, ascending.

    fragment_indices: of the fragments in the manifest: int64[k]
    parts: the remaining live rows of partial fragments, by these indices
    """

    snapshot: Snapshot
    fragment_indices: I64
    parts: Mapping[int, RowRanges]

    @classmethod
    def all_of(cls, snapshot: Snapshot) -> Candidates:
        """Returns every row of a version."""
        return cls(snapshot, np.arange(len(snapshot.manifest.fragments)), {}).without_empty()

    def __len__(self) -> int:
        """Returns the number of fragments with remaining rows."""
        return len(self.fragment_indices)

    def __iter__(self) -> Iterator[tuple[int, RowRanges]]:
        """Yields the index of each fragment, and its rows as physical offsets; for a whole fragment including
        deleted ones."""
        totals = self.physical_rows()
        for fragment_index, total in zip(self.fragment_indices.tolist(), totals.tolist(), strict=True):
            part = self.parts.get(fragment_index)
            yield fragment_index, row_ranges.single(0, total) if part is None else part

    @property
    def fragments(self) -> Fragments:
        """Fragments of the version."""
        return self.snapshot.manifest.fragments

    def open(self, fragment_index: int) -> OpenFragment:
        """Opens the fragment at an index."""
        return self.snapshot.open(self.fragments[fragment_index])

    def live_rows(self, fragment_index: int) -> RowRanges:
        """Returns the remaining live rows of the fragment at an index; reads its deletion file."""
        part = self.parts.get(fragment_index)
        return self.open(fragment_index).live_rows() if part is None else part

    @cached_property
    def num_rows(self) -> int:
        """Number of live rows."""
        recorded = self.fragments.num_recorded_live_rows
        is_everything = not self.parts and len(self.fragment_indices) == len(self.fragments)
        return recorded if is_everything and recorded is not None else self.fragments.total(self.counts())

    def counts(self) -> I64:
        """Returns the live rows of each fragment, from the manifest if it records the number of deleted ones."""
        parts = [self.parts.get(fragment_index) for fragment_index in self.fragment_indices.tolist()]
        is_whole = any(part is None for part in parts)
        counts = self._counts_of_whole() if is_whole else np.empty(len(parts), np.int64)
        for i, part in enumerate(parts):
            if part is not None:
                counts[i] = row_ranges.count(part)
        return counts

    def _counts_of_whole(self) -> I64:
        """Returns the live rows of each whole fragment."""
        recorded = self.fragments.recorded_live_rows
        if recorded is not None:
            return recorded[self.fragment_indices]
        table = self.fragments.table
        deleted = table.num_deleted_rows[self.fragment_indices].astype(np.int64)
        counts = self.physical_rows() - deleted
        unknown = table.have_deletions[self.fragment_indices] & (deleted == 0)
        for i in (unknown | (counts < 0)).nonzero()[0].tolist():
            counts[i] = row_ranges.count(self.open(int(self.fragment_indices[i])).live_rows())
        return counts

    def narrowed(self, fragment_indices: I64, parts: Mapping[int, RowRanges]) -> Candidates:
        """Returns some of these rows.

        fragment_indices: some of those here
        parts: rows of fragments with fewer rows left than here; fragments without any are removed
        """
        left = [index for index in fragment_indices.tolist() if index not in parts or len(parts[index])]
        return replace(self, fragment_indices=np.array(left, np.int64), parts={**self.parts, **parts})

    def without_empty(self) -> Candidates:
        """Returns the candidates without fragments that have no rows at all."""
        if self.fragments.recorded_rows is not None:
            return self
        return replace(self, fragment_indices=self.fragment_indices[self.physical_rows() > 0])

    def head(self, num_rows: int) -> Candidates:
        """Returns the first rows."""
        before = 0
        parts = {}
        taken = 0
        for fragment_index in self.fragment_indices.tolist():
            if before >= num_rows:
                break
            rows = row_ranges.head(self.live_rows(fragment_index), num_rows - before)
            before += row_ranges.count(rows)
            parts[fragment_index] = rows
            taken += 1
        return self.narrowed(self.fragment_indices[:taken], parts)

    def physical_rows(self) -> I64:
        """Returns the physical rows of each fragment; from its data files if the manifest does not record them."""
        recorded = self.fragments.recorded_rows
        if recorded is not None:
            return recorded[self.fragment_indices]
        if not self.fragments.trust_rows:
            return np.array([self.open(index).num_rows for index in self.fragment_indices.tolist()], np.int64)
        totals = self.fragments.table.physical_rows[self.fragment_indices].astype(np.int64)
        for i in (totals <= 0).nonzero()[0].tolist():
            totals[i] = self.open(int(self.fragment_indices[i])).num_rows
        return totals
