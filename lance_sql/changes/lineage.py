"""Row ids that contradict the recorded operation of a commit. The feed identifies rows by id, so it would report
changes that did not happen, and miss others.

    operation                                          rows that come                rows that go
    append                                             ids above all before          none
    update, overwrite                                  ids above all before          any
    merge                                              ids above all before          none
    delete                                             none                          any
    compaction, indices, other columns, config         none                          none

A row with the same id at another place has moved, which only updates, overwrites and compactions do. If a transaction
records the ids of new fragments, their rows must have these ids: nothing else detects swapped ids. Restores and commits
without a record are not checked: their values are compared. The feed ignores row versions, which old writers often set
wrongly.

Source: row lineage, what each operation does, and deviations between writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from lance_sql.changes.changed_rows import RowSelection
from lance_sql.errors import DamagedLineage, LanceError
from lance_sql.table import row_ids
from lance_sql.table.transactions import GivenIds
from lance_sql.values.arrays import U64

_INSERTING: Final = frozenset({"append", "update", "overwrite", "merge"})
_MOVING: Final = frozenset({"update", "overwrite", "rewrite"})
_REMOVING: Final = frozenset({"delete", "update", "overwrite"})
# the other operations leave rows unchanged
_NOT_JUDGED: Final = frozenset({"restore", "clone", "update_mem_wal_state", "append_fragment_reuse_transitions", None})


def check(
    label: str, operation: str | None, added: RowSelection, removed: RowSelection, moved: U64, given: int
) -> None:
    """Checks that added, removed and moved rows match the operation of a commit.

    label: of the version that it created, for messages
    added, removed: rows that only the later version has, and only the earlier one
    moved: ids of rows that both have, at different places
    given: upper bound, exclusive, of the ids assigned before
    raises: DamagedLineage
    """
    if operation in _NOT_JUDGED:
        return
    bounds = added.id_bounds()
    # bounds suffice for appended rows
    if bounds is not None and (operation not in _INSERTING or bounds[0] < given):
        _check_added(label, operation, added.ids, given)
    if removed.num_rows:
        _check_removed(label, operation, removed.ids)
    _check_moved(label, operation, moved)


def check_recorded(label: str, recorded: Sequence[GivenIds], added: RowSelection) -> None:
    """Checks that new fragments have the row ids that the transaction of their commit records.

    added: rows in new fragments
    raises: DamagedLineage
    """
    if not recorded:
        return
    by_files = {each.files: each.row_ids for each in recorded}
    for part, opened in zip(added.parts, added.opened, strict=True):
        fragment = part.fragment
        given = by_files.get(tuple([file.path for file in fragment.files]))
        if given is None or given == fragment.row_ids:
            continue
        try:
            wanted = row_ids.parse_prefix(given, fragment.physical_rows).expand()
        except LanceError:
            # an invalid sequence records nothing
            continue
        stored = opened.row_id_sequence.expand(0, len(wanted))
        differs = np.flatnonzero(wanted != stored)
        if len(differs):
            first = int(differs[0])
            raise _contradiction(
                label,
                f"{len(differs)} row{'s' * (len(differs) != 1)} of fragment {fragment.id} have other ids than the"
                f" transaction assigned, such as {int(stored[first])} instead of {int(wanted[first])}",
            )


def check_ids(label: str, operation: str | None, before: U64, after: U64, given: int) -> None:
    """Checks like `check`, from the ids of rows whose place is only in one of the versions.

    before, after: of the earlier version and of the later one; some are in both
    raises: DamagedLineage
    """
    if operation in _NOT_JUDGED:
        return
    old = after[after < np.uint64(given)] if operation in _INSERTING else after
    if len(old):
        _check_added(label, operation, old[np.isin(old, before, invert=True)], given)
    if len(before) and len(after) and operation not in _MOVING:
        _check_moved(label, operation, before[np.isin(before, after)])
    if len(before) and operation not in _REMOVING:
        _check_removed(label, operation, before[np.isin(before, after, invert=True)])


def _check_removed(label: str, operation: str | None, removed: U64) -> None:
    if len(removed) and operation not in _REMOVING:
        raise _contradiction(label, f"{_rows(removed)} are missing after a commit of {operation!r}, which removes none")


def _check_moved(label: str, operation: str | None, moved: U64) -> None:
    if len(moved) and operation not in _MOVING:
        raise _contradiction(label, f"{_rows(moved)} moved in a commit of {operation!r}, which moves none")


def _check_added(label: str, operation: str | None, added: U64, given: int) -> None:
    if len(added) and operation not in _INSERTING:
        raise _contradiction(label, f"{_rows(added)} are new after a commit of {operation!r}, which adds none")
    reused = added[added < np.uint64(given)]
    if len(reused):
        raise _contradiction(label, f"{_rows(reused)} are new under ids that were assigned before")


def _rows(ids: U64) -> str:
    return f"{len(ids)} row{'s' * (len(ids) != 1)} (row id {int(ids.min())}{' and others' * (len(ids) > 1)})"


def _contradiction(label: str, problem: str) -> DamagedLineage:
    return DamagedLineage(
        f"{label}: {problem}, so row ids do not identify rows: run lance_sql.audit, or pass trust_snapshots=True to"
        " compare the values of rows with equal ids"
    )
