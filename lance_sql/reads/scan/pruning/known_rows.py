"""Rows of some fragments that may pass a filter, while nothing is known of other fragments.

    fragment    0            1         2
    known       [10, 20)     nothing   no row        AND, OR of two such answers, fragment by fragment

Rows are numbers with the fragment's index in the manifest above the physical offset, so that one set of ranges
contains the rows of all fragments.
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
    """Rows of the fragments at `fragment_indices` that may pass. All other rows of these fragments do not pass.

    fragment_indices: ascending, distinct: int64[k]
    rows: (fragment index << 32 | offset), all in these fragments
    """

    fragment_indices: I64
    rows: RowRanges

    @classmethod
    def of_numbers(cls, fragment_indices: I64, numbers: I64) -> KnownRows:
        """Returns single rows.

        numbers: in any order, possibly repeated, all in these fragments
        """
        return cls(fragment_indices, row_ranges.from_sorted(distinct(numbers)))

    @classmethod
    def but_for(cls, fragment_indices: I64, ruled_out: RowRanges) -> KnownRows:
        """Returns all rows of some fragments except some ranges."""
        return cls(fragment_indices, row_ranges.difference(everything(fragment_indices), ruled_out))

    def both(self, other: KnownRows) -> KnownRows:
        """Returns the rows that may pass both conditions."""
        fragment_indices = np.union1d(self.fragment_indices, other.fragment_indices)
        rows = row_ranges.intersect(self._beside(fragment_indices), other._beside(fragment_indices))
        return KnownRows(fragment_indices, rows)

    def either(self, other: KnownRows) -> KnownRows:
        """Returns the rows that may pass one of the conditions."""
        fragment_indices = np.intersect1d(self.fragment_indices, other.fragment_indices)
        rows = row_ranges.union(self.rows, other.rows)
        return KnownRows(fragment_indices, row_ranges.intersect(rows, everything(fragment_indices)))

    def with_segment(self, other: KnownRows) -> KnownRows:
        """Combines two segments of an index, each with its own fragments."""
        fragment_indices = np.union1d(self.fragment_indices, other.fragment_indices)
        return KnownRows(fragment_indices, row_ranges.union(self.rows, other.rows))

    def narrow(self, candidates: Candidates) -> Candidates:
        """Prunes candidates; reads the deletions of fragments with some rows left."""
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
        """Returns the rows, and all rows of the other ones of these fragments."""
        others = np.setdiff1d(fragment_indices, self.fragment_indices, assume_unique=True)
        return row_ranges.union(self.rows, everything(others)) if len(others) else self.rows


def distinct(numbers: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Returns the numbers in ascending order, without duplicates; index files mostly contain them so."""
    return numbers if (numbers[1:] > numbers[:-1]).all() else np.unique(numbers)


def everything(fragment_indices: I64) -> RowRanges:
    """Returns every row that the fragments at these ascending indices can have."""
    starts = fragment_indices << _OFFSET_BITS
    return row_ranges.coalesce(np.stack((starts, starts + (1 << _OFFSET_BITS)), axis=1), 0)


def numbers_of(fragment_indices: I64 | int, offsets: I64) -> I64:
    """Converts rows to numbers."""
    upper = np.int64(fragment_indices) if isinstance(fragment_indices, int) else fragment_indices
    numbers: I64 = upper << _OFFSET_BITS | offsets
    return numbers


def rows_at(fragment_index: int, rows: RowRanges) -> RowRanges:
    """Returns the physical offsets of the rows of one fragment.

    rows: as numbers
    """
    first = fragment_index << _OFFSET_BITS
    return row_ranges.clip(rows, first, first + (1 << _OFFSET_BITS)) - first


def renumbered(rows: RowRanges, fragment_indices: I64) -> RowRanges:
    """Returns the rows of some fragments, whose new indices are 0, 1, ...

    rows: as numbers
    """
    parts = [
        rows_at(fragment_index, rows) + (new_index << _OFFSET_BITS)
        for new_index, fragment_index in enumerate(fragment_indices.tolist())
    ]
    return np.concatenate(parts) if parts else row_ranges.EMPTY


def combined(answers: Iterable[KnownRows], *, of_moved_rows: bool = False) -> KnownRows:
    """Combines the answers of all segments of an index.

    answers: at least one
    of_moved_rows: several answers may concern one fragment, each for the rows at its old addresses
    """
    return reduce(KnownRows.both if of_moved_rows else KnownRows.with_segment, answers)


def _fragment_indices_of(rows: RowRanges) -> I64:
    """Returns the indices of the fragments that ranges touch, ascending."""
    if len(rows) == 0:
        return np.empty(0, np.int64)
    firsts, lasts = rows[:, 0] >> _OFFSET_BITS, (rows[:, 1] - 1) >> _OFFSET_BITS
    long = (lasts > firsts).nonzero()[0]
    between = [np.arange(firsts[i], lasts[i] + 1) for i in long.tolist()]
    return np.unique(np.concatenate([firsts, *between]))
