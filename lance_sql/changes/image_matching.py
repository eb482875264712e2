"""Matching of two sets of rows, by row id or by the values of key columns.

before   ids  4  9  2          after   ids  9  7          ->   deleted  4, 2     inserted  7     pair  9 - 9
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.earlier_columns import Sources
from lance_sql.errors import CorruptFile
from lance_sql.table.fragment import Fragment
from lance_sql.values.arrays import I64, U64


@dataclass(frozen=True)
class Pairs:
    """Pairs of images of the same rows.

    at_old, at_new: the positions of both images, parallel; `at_old` ascends
    """

    old: RowSelection
    new: RowSelection
    at_old: I64
    at_new: I64

    @property
    def num_rows(self) -> int:
        return len(self.at_old)

    @property
    def before(self) -> RowSelection:
        """Earlier images."""
        return self.old.pick(self.at_old)

    @property
    def after(self) -> RowSelection:
        """Later images."""
        return self.new.pick(np.sort(self.at_new))

    @property
    def ids(self) -> U64:
        return self.old.ids[self.at_old]

    def where(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Pairs:
        """Returns the pairs selected by a mask."""
        return self if mask.all() else replace(self, at_old=self.at_old[mask], at_new=self.at_new[mask])


def in_place(old: RowSelection, new: RowSelection) -> Pairs:
    """Pairs the rows at the same positions of both sets."""
    positions = np.arange(old.num_rows, dtype=np.int64)
    return Pairs(old, new, positions, positions)


@dataclass(frozen=True)
class Matched:
    """Result of matching two sets of rows.

    inserted: only in the second one
    deleted: only in the first one
    pairs: in both
    """

    inserted: RowSelection
    deleted: RowSelection
    pairs: Pairs


class Matching(Protocol):
    """Strategy that matches rows of two versions."""

    def __call__(self, old: RowSelection, new: RowSelection, was: Sources, now: Sources) -> Matched:
        """Compares rows before and rows after.

        was, now: the columns of the feed in both versions
        """
        ...

    def may_differ(self, old: Fragment, new: Fragment, was: Sources, now: Sources) -> bool:
        """Whether rows at the same place of two fragments may be different rows."""
        ...


@dataclass(frozen=True)
class RowIdMatch:
    """Matching by row id."""

    def __call__(self, old: RowSelection, new: RowSelection, was: Sources, now: Sources) -> Matched:
        """raises: CorruptFile when two rows of one set have the same id."""
        return by_row_id(old, new)

    def may_differ(self, old: Fragment, new: Fragment, was: Sources, now: Sources) -> bool:
        return False


def by_row_id(old: RowSelection, new: RowSelection) -> Matched:
    """Matches two sets of rows by row id.

    raises: CorruptFile when two rows of one set have the same id
    """
    bounds = old.id_bounds(), new.id_bounds()
    if bounds[0] is None or bounds[1] is None or bounds[0][1] < bounds[1][0] or bounds[1][1] < bounds[0][0]:
        # appended and overwritten rows have disjoint ranges of ids
        for rows in (old, new):
            if not rows.are_ranges():
                check_distinct(np.sort(rows.ids), "row id")
        nothing = np.empty(0, np.int64)
        return Matched(new, old, Pairs(old, new, nothing, nothing))
    return by_identity(old, new, old.ids, new.ids, "row id")


def by_identity(old: RowSelection, new: RowSelection, old_ids: U64, new_ids: U64, what: str) -> Matched:
    """Matches two sets of rows by one number for each row.

    what: the meaning of the number, for messages
    raises: CorruptFile when a number occurs twice in one set
    """
    order = np.argsort(new_ids, kind="stable")
    ascending = new_ids[order]
    check_distinct(ascending, what)
    check_distinct(np.sort(old_ids), what)
    positions = ascending.searchsorted(old_ids)
    are_matched = positions < len(ascending)
    are_matched[are_matched] = ascending[positions[are_matched]] == old_ids[are_matched]
    at_old = are_matched.nonzero()[0]
    at_new = order[positions[at_old]]
    is_new = np.ones(len(new_ids), np.bool_)
    is_new[at_new] = False
    return Matched(
        new.pick(is_new.nonzero()[0]), old.pick((~are_matched).nonzero()[0]), Pairs(old, new, at_old, at_new)
    )


def check_distinct(ascending: U64, what: str) -> None:
    """Checks that no number occurs twice.

    raises: CorruptFile
    """
    repeated = (ascending[1:] == ascending[:-1]).nonzero()[0]
    if len(repeated):
        raise CorruptFile(
            f"two rows of one version have the {what} {ascending[repeated[0]]}, so the changes cannot be determined"
        )
