"""Rows of fragments that are read together: runs of a fragment, and the pieces of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of one fragment.

    is_short: so few and narrow rows that they may be read together with others
    is_few: so few rows of a longer fragment that the requesting thread reads them at once
    passes: every row is known to pass the filter
    """

    fragment: OpenFragment
    rows: RowRanges
    is_short: bool = False
    is_few: bool = False
    passes: bool = False

    @property
    def num_rows(self) -> int:
        return row_ranges.count(self.rows)


Batch: TypeAlias = Sequence[Piece]
"""Rows that are read together: of one fragment, or of several short ones."""


@dataclass(frozen=True, slots=True)
class FragmentRun:
    """Rows of one fragment that are read batch after batch.

    ends: cumulative row counts at the end of each batch, int64[batches]
    is_short, is_few: as for `Piece`
    passes: every row is known to pass the filter
    most_joined: row limit for batches read as one if few rows pass
    is_alone: no other rows of the fragment are read, so that bytes beyond these are of no use
    is_wide: so many columns that they are read at once, without a stream
    """

    fragment: OpenFragment
    rows: RowRanges
    ends: I64
    is_short: bool = False
    is_few: bool = False
    passes: bool = False
    most_joined: int = 0
    is_alone: bool = False
    is_wide: bool = False

    @property
    def why_arrays(self) -> str | None:
        """The reason to read its columns at once, without a stream, which takes longer to prepare than their rows to
        decode; None without one."""
        if self.is_short:
            return "a short fragment"
        if self.is_few:
            return "few rows"
        return "many columns of few rows" if self.is_wide else None

    @property
    def whole(self) -> Piece:
        """All rows of the run as one piece."""
        return Piece(self.fragment, self.rows, self.is_short, self.is_few, self.passes)

    def pieces(self) -> Iterator[Piece]:
        """Yields the rows of each batch."""
        if len(self.ends) == 1:
            yield self.whole
            return
        for start, end in pairwise([0, *self.ends.tolist()]):
            yield Piece(self.fragment, between(self.rows, start, end), passes=self.passes)


def between(rows: RowRanges, start: int, end: int) -> RowRanges:
    """Returns the rows at these positions."""
    return row_ranges.compose(rows, row_ranges.single(start, end))


def cut(rows: RowRanges, most: int) -> Iterator[RowRanges]:
    """Yields the rows in pieces of at most `most` rows."""
    total = row_ranges.count(rows)
    for start in range(0, total, most):
        yield between(rows, start, min(start + most, total))
