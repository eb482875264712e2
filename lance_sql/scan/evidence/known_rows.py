"""Rows of some fragments that may pass a filter, while of other fragments nothing is known.

    fragment    0            1         2
    known       [10, 20)     nothing   no row        AND, OR of two such answers, fragment by fragment

Rows are numbers with the fragment's place in the manifest above its physical offset, so that one set of ranges holds
those of all fragments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lance_sql import row_ranges
from lance_sql.arrays import I64
from lance_sql.row_ranges import RowRanges
from lance_sql.scan.candidates import Candidates

_Number = TypeVar("_Number", bound=np.integer[Any])

_OFFSET_BITS = 32


@dataclass(frozen=True, slots=True)
class KnownRows:
    """No row of the fragments at `places` passes but for `rows`.

    places: ascending, distinct: int64[k]
    rows: (place << 32 | offset), all of these places
    """

    places: I64
    rows: RowRanges

    @classmethod
    def of_numbers(cls, places: I64, numbers: I64) -> KnownRows:
        """Single rows.

        numbers: in any order, repeated or not, all of these places
        """
        return cls(places, row_ranges.from_sorted(distinct(numbers)))

    @classmethod
    def but_for(cls, places: I64, ruled_out: RowRanges) -> KnownRows:
        """All rows of some fragments but for some ranges."""
        return cls(places, row_ranges.difference(everything(places), ruled_out))

    def both(self, other: KnownRows) -> KnownRows:
        """What is known when both must hold."""
        places = np.union1d(self.places, other.places)
        rows = row_ranges.intersect(self._beside(places), other._beside(places))
        return KnownRows(places, rows)

    def either(self, other: KnownRows) -> KnownRows:
        """What is known when one of the two suffices."""
        places = np.intersect1d(self.places, other.places)
        rows = row_ranges.union(self.rows, other.rows)
        return KnownRows(places, row_ranges.intersect(rows, everything(places)))

    def with_segment(self, other: KnownRows) -> KnownRows:
        """What two segments of an index know: each of its own fragments."""
        places = np.union1d(self.places, other.places)
        return KnownRows(places, row_ranges.union(self.rows, other.rows))

    def narrow(self, candidates: Candidates) -> Candidates:
        """Those of the candidates that are not ruled out; of fragments with some rows left their deletions are read."""
        touched = set(_places_of(self.rows).tolist())
        known = set(self.places.tolist())
        places = [place for place in candidates.places.tolist() if place not in known or place in touched]
        parts = {}
        for place in places:
            if place not in known:
                continue
            inside = rows_at(place, self.rows)
            total = int(candidates.fragments.table.physical_rows[place]) if candidates.fragments.trust_rows else 0
            if len(inside) == 1 and inside[0, 0] == 0 and 0 < total <= inside[0, 1]:
                continue
            parts[place] = row_ranges.intersect(candidates.live_rows(place), inside)
        return candidates.narrowed(np.array(places, np.int64), parts)

    def _beside(self, places: I64) -> RowRanges:
        """The rows, and all rows of the other ones of these places."""
        others = np.setdiff1d(places, self.places, assume_unique=True)
        return row_ranges.union(self.rows, everything(others)) if len(others) else self.rows


def distinct(numbers: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """The numbers in ascending order, each once; what index files hold is in this order as a rule."""
    return numbers if (numbers[1:] > numbers[:-1]).all() else np.unique(numbers)


def everything(places: I64) -> RowRanges:
    """Every row that the fragments at these places, ascending, can have."""
    return row_ranges.coalesce(np.stack((places << _OFFSET_BITS, (places + 1) << _OFFSET_BITS), axis=1), 0)


def numbers_of(places: I64 | int, offsets: I64) -> I64:
    """Rows as numbers."""
    numbers: I64 = (np.int64(places) if isinstance(places, int) else places) << _OFFSET_BITS | offsets
    return numbers


def rows_at(place: int, rows: RowRanges) -> RowRanges:
    """The physical offsets of those of the rows that are of one fragment.

    rows: as numbers
    """
    first = place << _OFFSET_BITS
    return row_ranges.clip(rows, first, first + (1 << _OFFSET_BITS)) - first


def together(answers: Iterable[KnownRows], *, of_moved_rows: bool = False) -> KnownRows:
    """What all segments of an index know.

    answers: of at least one
    of_moved_rows: several may know of one fragment, each of the rows that it has at their old addresses
    """
    return reduce(KnownRows.both if of_moved_rows else KnownRows.with_segment, answers)


def _places_of(rows: RowRanges) -> I64:
    """The places that ranges touch, ascending."""
    if len(rows) == 0:
        return np.empty(0, np.int64)
    firsts, lasts = rows[:, 0] >> _OFFSET_BITS, (rows[:, 1] - 1) >> _OFFSET_BITS
    long = np.flatnonzero(lasts > firsts)
    between = [np.arange(firsts[i], lasts[i] + 1) for i in long.tolist()]
    return np.unique(np.concatenate([firsts, *between]))
