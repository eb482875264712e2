"""Sets of rows of fragments: the changed rows of the feed before they are read.

    fragment 3    rows [0, 40)                 positions   0 .. 39
    fragment 7    rows [5, 6), [9, 11)         positions  40 .. 42

A row is identified by its position in such a set. The set already excludes deleted rows, so its fragments have no
deletion files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from lance_sql.reads.scan.fragment_scans import FragmentScan
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_fragments import OpenFragments
from lance_sql.table.row_ids import RowIds
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64
from lance_sql.values.row_ranges import RowRanges

MOST_KNOWN_IDS: Final = 16 * 1024
"""Number of rows up to which all ids may be in memory."""


@dataclass(frozen=True)
class RowSelection:
    """Some rows of some fragments, in the order of the fragments and ascending in each.

    files: opens the fragments
    parts: the fragments, each with at least one row
    """

    files: OpenFragments
    parts: tuple[FragmentScan, ...]

    def __reduce__(self) -> tuple[type[RowSelection], tuple[OpenFragments, tuple[FragmentScan, ...]]]:
        # without the open fragments
        return RowSelection, (self.files, self.parts)

    @classmethod
    def of(cls, files: OpenFragments, parts: Iterable[tuple[Fragment, RowRanges]]) -> RowSelection:
        """Returns a set of these rows; skips fragments without rows."""
        return cls(
            files, tuple([FragmentScan(fragment.without_deletions, rows) for fragment, rows in parts if len(rows)])
        )

    @cached_property
    def _ranges(self) -> RowRanges:
        """The rows of all parts, one after the other: each range is one of a fragment."""
        return np.concatenate([part.rows for part in self.parts]) if self.parts else row_ranges.EMPTY

    @cached_property
    def num_rows(self) -> int:
        return row_ranges.count(self._ranges)

    @cached_property
    def starts(self) -> I64:
        """Position of the first row of each part, followed by the number of rows."""
        ends: I64 = np.concatenate(([0], (self._ranges[:, 1] - self._ranges[:, 0]).cumsum()))
        starts: I64 = ends[np.cumsum([0, *(len(part.rows) for part in self.parts)])]
        return starts

    @cached_property
    def opened(self) -> Sequence[OpenFragment]:
        """Open fragment of each part."""
        return [self.files.get(part.fragment) for part in self.parts]

    @cached_property
    def _sequences(self) -> Sequence[RowIds]:
        return [fragment.row_id_sequence for fragment in self.opened]

    @cached_property
    def ids(self) -> U64:
        """Row id of each row: stable ids, or addresses on a table without them."""
        ranges = [sequence.as_range() for sequence in self._sequences]
        firsts = [each.start for each in ranges if each is not None]
        if len(firsts) == len(ranges):
            offsets = row_ranges.expand(self._ranges).astype(np.uint64)
            return offsets + (np.array(firsts, np.uint64)).repeat(self.starts[1:] - self.starts[:-1])
        taken = [
            sequence.take(row_ranges.expand(part.rows))
            for sequence, part in zip(self._sequences, self.parts, strict=True)
        ]
        return np.concatenate(taken)

    @cached_property
    def versions(self) -> U64:
        """Versions that inserted and last changed each row: uint64[num_rows, 2]."""
        created, updated = [], []
        for fragment, part in zip(self.opened, self.parts, strict=True):
            offsets = row_ranges.expand(part.rows)
            created.append(fragment.created_at_sequence.take(offsets))
            updated.append(fragment.last_updated_at_sequence.take(offsets))
        if not self.parts:
            return np.empty((0, 2), np.uint64)
        return np.stack((np.concatenate(created), np.concatenate(updated)), axis=1)

    def id_bounds(self) -> tuple[int, int] | None:
        """Returns a lower and an upper bound of the row ids, those of few rows exactly; None without rows."""
        if 0 < self.num_rows <= MOST_KNOWN_IDS:
            return int(self.ids.min()), int(self.ids.max())
        bounds = [each for sequence in self._sequences if (each := sequence.bounds()) is not None]
        return (min([least for least, _ in bounds]), max([greatest for _, greatest in bounds])) if bounds else None

    def are_ranges(self) -> bool:
        """Whether the ids of each fragment are one range, and these ranges do not overlap: no id occurs twice."""
        if self.num_rows <= 1:
            return True
        ranges = []
        for sequence in self._sequences:
            only = sequence.as_range()
            if only is None:
                return False
            ranges.append((only.start, only.end))
        ranges.sort()
        return all(before[1] <= after[0] for before, after in pairwise(ranges))

    def pick(self, positions: I64) -> RowSelection:
        """Returns the rows at ascending positions."""
        if len(positions) == self.num_rows:
            return self
        picked = RowSelection(self.files, tuple([part for part, _ in self.split(positions)]))
        if (ids := self.__dict__.get("ids")) is not None:
            picked.__dict__["ids"] = ids[positions]
        return picked

    def split(self, positions: I64) -> Sequence[tuple[FragmentScan, I64]]:
        """Splits the rows at ascending positions by fragment.

        returns: the rows of each fragment that has some, and their range in `positions`, as [start, end)
        """
        borders = positions.searchsorted(self.starts)
        parts = []
        for part, first, start, end in zip(self.parts, self.starts, borders, borders[1:], strict=False):
            if start < end:
                chosen = row_ranges.from_sorted(positions[start:end] - first)
                rows = row_ranges.compose(part.rows, chosen)
                parts.append((FragmentScan(part.fragment, rows), np.array([start, end], np.int64)))
        return parts

    def with_ids(self, wanted: U64) -> RowSelection:
        """Returns the rows that have one of these ids; does not expand ids that are stored as a range.

        wanted: ascending, each once
        """
        parts = []
        for part, sequence in zip(self.parts, self._sequences, strict=True):
            bounds = sequence.bounds()
            if bounds is None:
                continue
            first = wanted.searchsorted(np.uint64(bounds[0]), "left")
            last = wanted.searchsorted(np.uint64(bounds[1]), "right")
            _, offsets = sequence.positions(wanted[first:last])
            offsets = np.sort(offsets[row_ranges.within(part.rows, offsets)])
            parts.append((part.fragment, row_ranges.from_sorted(offsets)))
        return RowSelection.of(self.files, parts)
