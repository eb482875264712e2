"""The rows that one commit changed.

The fragments of both versions show which rows moved to another place. The commit's operation decides what that means:

    operation                          rows at another place that both versions have
    rewrite                            moved: no change
    restore, overwrite, not recorded   changed where their values differ
    every other                        changed: the commit wrote them again

An overwrite assigns new row ids, so it has such rows only if rows are compared by key. A comparison by key uses only
values, for every operation.

Rows at the same place with columns in other files are changed if the values of these columns differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lance_sql.changes import earlier_columns, lineage, values
from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.earlier_columns import ColumnSource, Sources
from lance_sql.changes.fragment_difference import ComparedVersion, FragmentDifference, compare
from lance_sql.changes.history import Commit
from lance_sql.changes.image_matching import Matching, Pairs, RowIdMatch, in_place
from lance_sql.values.arrays import U64

_BY_VALUES: Final = ("restore", "overwrite", "rewrite", None)


class UpdateEvidence(StrEnum):
    """Evidence that the rows of a pair were updated."""

    WRITTEN = "written"
    """The commit rewrote the row, perhaps with the same values."""
    VALUES = "values"
    """The values were compared, and differ."""


@dataclass(frozen=True)
class CommitChanges:
    """Rows that a commit changed, each once.

    updated: the updated rows with their evidence
    """

    inserted: RowSelection
    deleted: RowSelection
    updated: tuple[tuple[Pairs, UpdateEvidence], ...]


def changed_rows(
    commit: Commit,
    old: ComparedVersion,
    new: ComparedVersion,
    was: Sources,
    now: Sources,
    match: Matching,
    *,
    versions_tell: Callable[[], bool],
    given: int | None,
    inserts_only: bool = False,
) -> CommitChanges:
    """Returns the rows that a commit changed. Reads pages only if values must be compared.

    old, new: the versions before and after
    was, now: the columns of the feed in both
    versions_tell: whether rows of a restore with the same versions have the same values
    given: upper bound, exclusive, of the row ids assigned before; None if ids are not checked
    inserts_only: return inserted rows only
    raises: DamagedLineage if the ids of rows contradict the operation
    """
    difference = split_rewritten(compare(old, new, was, now), old, new, was, now, match)
    if given is not None and commit.operation is not None:
        lineage.check_recorded(commit.later.label, commit.given_ids, difference.after)
    if commit.operation == "rewrite" and _only_moves(difference):
        return CommitChanges(RowSelection(new.files, ()), RowSelection(old.files, ()), ())
    matched = match(difference.before, difference.after, was, now)
    if given is not None:
        lineage.check(commit.later.label, commit.operation, matched.inserted, matched.deleted, matched.pairs.ids, given)
    if inserts_only:
        return CommitChanges(matched.inserted, RowSelection(old.files, ()), ())
    updated = []
    moved = matched.pairs
    if (
        moved.num_rows
        and commit.operation == "restore"
        and versions_tell()
        and earlier_columns.are_stored_alike(was, now)
    ):
        moved = moved.where((moved.old.versions[moved.at_old] != moved.new.versions[moved.at_new]).any(axis=1))
    if moved.num_rows and (commit.operation in _BY_VALUES or not isinstance(match, RowIdMatch)):
        updated.append((moved.where(values.differing(moved, was, now)), UpdateEvidence.VALUES))
    elif moved.num_rows:
        updated.append((moved, UpdateEvidence.WRITTEN))
    updated += [(pairs, UpdateEvidence.VALUES) for pairs in rewritten(difference, old, new, was, now)]
    return CommitChanges(matched.inserted, matched.deleted, tuple(each for each in updated if each[0].num_rows))


def touched_rows(
    commit: Commit,
    old: ComparedVersion,
    new: ComparedVersion,
    was: Sources,
    now: Sources,
    *,
    versions_tell: Callable[[], bool],
    given: int | None,
) -> list[tuple[U64, UpdateEvidence]]:
    """Returns the ids of the rows that a commit changed, without pairing images: an id may occur twice.

    The arguments are those of `changed_rows`.

    raises: DamagedLineage
    """
    if commit.operation in _BY_VALUES:
        changed = changed_rows(commit, old, new, was, now, RowIdMatch(), versions_tell=versions_tell, given=given)
        touched = [(changed.inserted.ids, UpdateEvidence.WRITTEN), (changed.deleted.ids, UpdateEvidence.WRITTEN)]
        return touched + [(pairs.ids, evidence) for pairs, evidence in changed.updated]
    difference = compare(old, new, was, now)
    before, after = difference.before.ids, difference.after.ids
    if given is not None:
        lineage.check_recorded(commit.later.label, commit.given_ids, difference.after)
        lineage.check_ids(commit.later.label, commit.operation, before, after, given)
    touched = [(before, UpdateEvidence.WRITTEN), (after, UpdateEvidence.WRITTEN)]
    return touched + [(pairs.ids, UpdateEvidence.VALUES) for pairs in rewritten(difference, old, new, was, now)]


def split_rewritten(
    difference: FragmentDifference,
    old: ComparedVersion,
    new: ComparedVersion,
    was: Sources,
    now: Sources,
    match: Matching,
) -> FragmentDifference:
    """Moves rows at the same place that may be different rows to the rows before and after."""
    moved = [each for each in difference.rewritten if match.may_differ(each[0], each[1], was, now)]
    if not moved:
        return difference
    before = RowSelection.of(old.files, [(earlier, rows) for earlier, _, rows in moved])
    after = RowSelection.of(new.files, [(later, rows) for _, later, rows in moved])
    certain = tuple(each for each in difference.rewritten if not match.may_differ(each[0], each[1], was, now))
    return FragmentDifference(
        RowSelection(old.files, (*difference.before.parts, *before.parts)),
        RowSelection(new.files, (*difference.after.parts, *after.parts)),
        certain,
    )


def rewritten(
    difference: FragmentDifference,
    old: ComparedVersion,
    new: ComparedVersion,
    was: Sequence[ColumnSource],
    now: Sequence[ColumnSource],
) -> list[Pairs]:
    """Returns the rows at the same place in both versions that have another value in a column."""
    differing = []
    for earlier, later, rows in difference.rewritten:
        touched = [i for i in range(len(was)) if earlier_columns.is_rewritten(earlier, later, was[i], now[i])]
        if touched:
            pairs = in_place(RowSelection.of(old.files, [(earlier, rows)]), RowSelection.of(new.files, [(later, rows)]))
            differing.append(pairs.where(values.differing(pairs, [was[i] for i in touched], [now[i] for i in touched])))
    return [pairs for pairs in differing if pairs.num_rows]


def _only_moves(difference: FragmentDifference) -> bool:
    """Whether as many rows were added as removed, as a compaction requires."""
    return not difference.rewritten and difference.before.num_rows == difference.after.num_rows
