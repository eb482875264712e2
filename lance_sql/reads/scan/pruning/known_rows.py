"""Rows of some fragments that may pass a filter, while of other fragments nothing is known.

    fragment    0            1         2
    known       [10, 20)     nothing   no row        AND, OR of two such answers, fragment by fragment

Rows are numbers with the fragment's index in the manifest above its physical offset, so that one set of ranges holds
those of all fragments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lance_sql.reads.scan.candidates import Candidates
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

_Number = TypeVar("_Number", bound=np.integer[Any])

_OFFSET_BITS = 32


@dataclass(frozen=True, slots=True)
class KnownRows:
    """No row of the fragments at `fragment_indices` passes but for `rows`.

    fragment_indices: ascending, distinct: int64[k]
    rows: (fragment index << 32 | offset), all of these fragments
    """

    fragment_indices: I64
    rows: RowRanges

    @classmethod
    def of_numbers(cls, fragment_indices: I64, numbers: I64) -> KnownRows:
        """Single rows.

        numbers: in any order, repeated or not, all of these fragments
        """
        return cls(fragment_indices, row_ranges.from_sorted(distinct(numbers)))

    @classmethod
    def but_for(cls, fragment_indices: I64, ruled_out: RowRanges) -> KnownRows:
        """All rows of some fragments but for some ranges."""
        return cls(fragment_indices, row_ranges.difference(everything(fragment_indices), ruled_out))

    def both(self, other: KnownRows) -> KnownRows:
        """What is known when both must hold."""
        fragment_indices = np.union1d(self.fragment_indices, other.fragment_indices)
        rows = row_ranges.intersect(self._beside(fragment_indices), other._beside(fragment_indices))
        return KnownRows(fragment_indices, rows)

    def either(self, other: KnownRows) -> KnownRows:
        """What is known when one of the two suffices."""
        fragment_indices = np.intersect1d(self.fragment_indices, other.fragment_indices)
        rows = row_ranges.union(self.rows, other.rows)
        return KnownRows(fragment_indices, row_ranges.intersect(rows, everything(fragment_indices)))

    def with_segment(self, other: KnownRows) -> KnownRows:
        """What two segments of an index know: each of its own fragments."""
        fragment_indices = np.union1d(self.fragment_indices, other.fragment_indices)
        return KnownRows(fragment_indices, row_ranges.union(self.rows, other.rows))

    def narrow(self, candidates: Candidates) -> Candidates:
        """Those of the candidates that are not ruled out; of fragments with some rows left their deletions are read."""
        touched = set(_fragment_indices_of(self.rows).tolist())
        known = set(self.fragment_indices.tolist())
        left = [index for index in candidates.fragment_indices.tolist() if index not in known or index in touched]
        parts = {}
        for fragment_index in left:
            if fragment_index not in known:
                continue
            inside = rows_at(fragment_index, self.rows)
            fragments = candidates.fragments
            total = int(fragments.table.physical_rows[fragment_index]) if fragments.trust_rows else 0
            if len(inside) == 1 and inside[0, 0] == 0 and 0 < total <= inside[0, 1]:
                continue
            parts[fragment_index] = row_ranges.intersect(candidates.live_rows(fragment_index), inside)
        return candidates.narrowed(np.array(left, np.int64), parts)

    def _beside(self, fragment_indices: I64) -> RowRanges:
        """The rows, and all rows of the other ones of these fragments."""
        others = np.setdiff1d(fragment_indices, self.fragment_indices, assume_unique=True)
        return row_ranges.union(self.rows, everything(others)) if len(others) else self.rows


def distinct(numbers: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """The numbers in ascending order, each once; what index files hold is in this order as a rule."""
    return numbers if (numbers[1:] > numbers[:-1]).all() else np.unique(numbers)


def everything(fragment_indices: I64) -> RowRanges:
    """Every row that the fragments at these indices, ascending, can have."""
    starts = fragment_indices << _OFFSET_BITS
    return row_ranges.coalesce(np.stack((starts, starts + (1 << _OFFSET_BITS)), axis=1), 0)


def numbers_of(fragment_indices: I64 | int, offsets: I64) -> I64:
    """Rows as numbers."""
    upper = np.int64(fragment_indices) if isinstance(fragment_indices, int) else fragment_indices
    numbers: I64 = upper << _OFFSET_BITS | offsets
    return numbers


def rows_at(fragment_index: int, rows: RowRanges) -> RowRanges:
    """The physical offsets of those of the rows that are of one fragment.

    rows: as numbers
    """
    first = fragment_index << _OFFSET_BITS
    return row_ranges.clip(rows, first, first + (1 << _OFFSET_BITS)) - first


def combined(answers: Iterable[KnownRows], *, of_moved_rows: bool = False) -> KnownRows:
    """What all segments of an index know.

    answers: of at least one
    of_moved_rows: several may know of one fragment, each of the rows that it has at their old addresses
    """
    return reduce(KnownRows.both if of_moved_rows else KnownRows.with_segment, answers)


def _fragment_indices_of(rows: RowRanges) -> I64:
    """The indices of the fragments that ranges touch, ascending."""
    if len(rows) == 0:
        return np.empty(0, np.int64)
    firsts, lasts = rows[:, 0] >> _OFFSET_BITS, (rows[:, 1] - 1) >> _OFFSET_BITS
    long = np.flatnonzero(lasts > firsts)
    between = [np.arange(firsts[i], lasts[i] + 1) for i in long.tolist()]
    return np.unique(np.concatenate([firsts, *between]))
