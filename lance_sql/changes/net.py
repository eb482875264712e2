"""Net changes of a range: the versions at its ends, compared by row id.

Only rows that a commit of the range changed are compared, so a compaction between costs nothing. Of these, only rows
whose fragments differ at the ends are compared.

    commits                              before      after      net
    insert 7, update 7, delete 7                                nothing
    update 3, compaction, update 3       at 0:3      at 9:1     one update, from the first image to the last
    delete 4, restore                    at 0:4      at 0:4     nothing
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lance_sql.changes import values
from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.commit import CommitChanges, UpdateEvidence, rewritten
from lance_sql.changes.earlier_columns import Sources
from lance_sql.changes.fragment_difference import ComparedVersion, compare
from lance_sql.changes.image_matching import Pairs, by_row_id
from lance_sql.values.arrays import U64


@dataclass(frozen=True)
class Touched:
    """Rows that some commits changed.

    ids: ascending, each once
    commits: parallel, integers of any width; the number of the last commit of the range that changed each
    is_written: parallel; every change of the row rewrote, inserted or deleted it
    """

    ids: U64
    commits: np.ndarray[tuple[int], np.dtype[np.integer[Any]]]
    is_written: np.ndarray[tuple[int], np.dtype[np.bool_]]


def touched(commits: Iterable[Sequence[tuple[U64, UpdateEvidence]]]) -> Touched:
    """Merges the ids of changed rows, given by commit in ascending order."""
    ids: list[U64] = [np.empty(0, np.uint64)]
    of_commit: list[int] = [0]
    of_written: list[bool] = [False]
    for number, parts in enumerate(commits):
        for part, evidence in parts:
            ids.append(part)
            of_commit.append(number)
            of_written.append(evidence is UpdateEvidence.WRITTEN)
    lengths = [len(part) for part in ids]
    together = _joined(ids)
    # most ranges have few commits, and may have very many rows
    numbers = np.repeat(np.array(of_commit, np.min_scalar_type(max(of_commit))), lengths)
    written = np.repeat(np.array(of_written, np.bool_), lengths)
    if (together[1:] > together[:-1]).all():
        # commits that only inserted rows, one after the other
        return Touched(together, numbers, written)
    order = np.argsort(together, kind="stable")
    ascending = together[order]
    firsts = np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))
    lasts = np.concatenate((firsts[1:], [len(ascending)])) - 1
    return Touched(
        ascending[firsts],
        numbers[order][lasts],
        np.logical_and.reduceat(written[order], firsts),
    )


def _joined(parts: list[U64]) -> U64:
    """Concatenates all parts; frees each part after copying it."""
    joined: U64 = np.empty(sum(map(len, parts)), np.uint64)
    end = len(joined)
    while parts:
        part = parts.pop()
        joined[end - len(part) : end] = part
        end -= len(part)
    return joined


def net_changes(
    touched_rows: Touched, old: ComparedVersion, new: ComparedVersion, was: Sources, now: Sources, *, has_restores: bool
) -> CommitChanges:
    """Returns the net changes between the ends of the range.

    old, new: the versions before and after
    was, now: the columns of the feed in both
    has_restores: a commit of the range restored a version, or its operation is unknown
    """
    if not len(touched_rows.ids):
        return CommitChanges(RowSelection(new.files, ()), RowSelection(old.files, ()), ())
    difference = compare(old, new, was, now)
    matched = by_row_id(difference.before.with_ids(touched_rows.ids), difference.after.with_ids(touched_rows.ids))
    pairs = matched.pairs
    updated: list[tuple[Pairs, UpdateEvidence]] = []
    if pairs.num_rows:
        is_written = touched_rows.is_written[np.searchsorted(touched_rows.ids, pairs.ids)]
        if has_restores:
            # one may have brought back the image that was there before an update
            is_written = np.zeros(pairs.num_rows, np.bool_)
        updated.append((pairs.where(is_written), UpdateEvidence.WRITTEN))
        others = pairs.where(~is_written)
        updated.append((others.where(values.differing(others, was, now)), UpdateEvidence.VALUES))
    if difference.rewritten:
        parts = []
        for earlier, later, rows in difference.rewritten:
            touched_parts = RowSelection.of(old.files, [(earlier, rows)]).with_ids(touched_rows.ids)
            parts += [(earlier, later, part.rows) for part in touched_parts.parts]
        narrowed = type(difference)(difference.before, difference.after, tuple(parts))
        updated += [(each, UpdateEvidence.VALUES) for each in rewritten(narrowed, old, new, was, now)]
    return CommitChanges(matched.inserted, matched.deleted, tuple(each for each in updated if each[0].num_rows))
