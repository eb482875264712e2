"""Required effects of a commit on row ids and row versions, operation by operation.

    operation                   new rows   rows go   rows that stay have
    append                      yes        -         what they had
    delete                      -          yes       what they had
    update                      yes        yes       this version as last updated where the commit wrote them
    merge                       yes        -         the same as below; new rows are in fragments of their own
    data replacement            -          -         this version as last updated in fragments with new data files
    overwrite                   yes        all       -
    restore                     what the restored version had
    every other                 -          -         what they had

A new row has an id that no row had before, and this version as created and last updated. A row that stays, or moves to
another fragment, keeps its id and the version that inserted it.

Source: row lineage, what each operation does, and deviations between writers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from lance_sql.errors import TABLE_ERRORS
from lance_sql.health.lineage_audit.audited_rows import LiveRows
from lance_sql.health.lineage_audit.faults import Findings, Kind, rows_text
from lance_sql.health.lineage_audit.invariants import check_given, check_sequences
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table import row_ids
from lance_sql.table.fragment import Fragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.writes.commit import data_files
from lance_sql.writes.commit.operations import (
    Append,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Rewrite,
    Update,
    UpdateMode,
)

_INSERTING: Final = (Append, Update, Overwrite)
_REMOVING: Final = (Delete, Update, Overwrite)


@dataclass(frozen=True)
class Step:
    """Commit, and the fragments that differ between the versions before and after it.

    earlier: the version that rows are compared with: the one before, the restored one of a restore, or None before the
        first version of a table
    before, after: these fragments in both versions
    name: of the operation
    operation: None if it is not recorded or not known: its effect is not checked then
    handed_out: upper bound, exclusive, of all row ids ever assigned
    """

    earlier: Snapshot | None
    later: Snapshot
    before: tuple[Fragment, ...]
    after: tuple[Fragment, ...]
    name: str | None
    operation: Operation | None
    handed_out: int

    @cached_property
    def old(self) -> LiveRows:
        """Live rows of `before`."""
        return LiveRows.of(self.later, ()) if self.earlier is None else LiveRows.of(self.earlier, self.before)

    @cached_property
    def new(self) -> LiveRows:
        """Live rows of `after`."""
        return LiveRows.of(self.later, self.after)

    @cached_property
    def old_fragments(self) -> Mapping[int, Fragment]:
        """Fragments of `before` by id."""
        return {fragment.id: fragment for fragment in self.before}

    @property
    def version(self) -> int:
        """Version of the commit."""
        return self.later.version


def check(step: Step, findings: Findings) -> None:
    """Checks a version against the required effect of its commit on the version before."""
    new, old = step.new, step.old
    check_sequences(new, findings)
    _check_ids_in_place(step, findings)
    is_whole = not (new.unreadable or old.unreadable)
    positions = old.positions_of(new.ids)
    # an overwrite keeps no row, whatever ids it assigns
    existed = (positions >= 0) & (not isinstance(step.operation, Overwrite))
    check_given(step.later, new.ids[~existed], findings)
    if step.operation is not None and is_whole:
        _check_comings_and_goings(step, existed, findings)
        _check_ids_of_transaction(step, findings)
    if step.operation is None:
        # every operation keeps it, also a restore for rows that are the same
        expected = np.where(existed, _at(old.created, positions), new.created)
        findings.add_versions(Kind.CREATED_AT, "created-at", new, new.created, expected, new.created != expected)
        return
    if old.unreadable:
        return
    created = np.where(existed, _at(old.created, positions), np.uint64(step.version))
    findings.add_versions(Kind.CREATED_AT, "created-at", new, new.created, created, new.created != created)
    updated = np.where(existed, _at(old.updated, positions), np.uint64(step.version))
    updated[existed & _written(step)] = step.version
    wrong = new.updated != updated
    for fragment in _with_unrecorded_rows(step):
        inside = new.fragments == fragment
        unchanged = inside & (new.updated != step.version)
        # the changed rows are not recorded: all or none may have the new version
        wrong &= ~inside
        if unchanged.any():
            findings.add(
                Kind.LAST_UPDATED_AT,
                f"columns were rewritten in place, in which rows is not recorded, and last-updated-at of"
                f" {rows_text(int(unchanged.sum()))} is not this version",
                fragment,
                new.ids[unchanged],
            )
    findings.add_versions(Kind.LAST_UPDATED_AT, "last-updated-at", new, new.updated, updated, wrong)


def _check_ids_in_place(step: Step, findings: Findings) -> None:
    """Checks that rows in place keep their ids. An overwrite may restart fragment ids."""
    if step.earlier is None or isinstance(step.operation, Overwrite | None):
        return
    for fragment in step.after:
        before = step.old_fragments.get(fragment.id)
        if before is None or before.row_ids == fragment.row_ids:
            continue
        with suppress(*TABLE_ERRORS):
            was = step.earlier.open(before).row_id_sequence.expand()
            now = step.later.open(fragment).row_id_sequence.expand()
            if len(was) != len(now):
                findings.add(Kind.OTHER_ID, f"there are {len(now)} rows where there were {len(was)}", fragment.id, now)
            elif (was != now).any():
                differs = was != now
                first = int(np.flatnonzero(differs)[0])
                findings.add(
                    Kind.OTHER_ID,
                    f"ids of {rows_text(int(differs.sum()))} became others where they are, such as {was[first]} the id"
                    f" {now[first]}",
                    fragment.id,
                    now[differs],
                )


def _check_comings_and_goings(step: Step, existed: BoolMask, findings: Findings) -> None:
    """Checks that rows are added and removed only if the operation allows it, and that no id is assigned twice."""
    new, old = step.new, step.old
    fresh = ~existed
    inserted = fresh & _may_insert(step)
    if inserted.any():
        reused = inserted & (new.ids < np.uint64(step.handed_out))
        for fragment in np.unique(new.fragments[reused]).tolist():
            ids = np.sort(new.ids[reused & (new.fragments == fragment)])
            findings.add(
                Kind.REUSED_ID,
                f"{rows_text(len(ids), 'has an id', 'have ids')} given before, such as {ids[0]}",
                fragment,
                ids,
            )
    appeared = fresh & ~inserted
    if appeared.any():
        for fragment in np.unique(new.fragments[appeared]).tolist():
            ids = np.sort(new.ids[appeared & (new.fragments == fragment)])
            findings.add(
                Kind.UNEXPECTED_ID,
                f"{rows_text(len(ids), 'was', 'were')} not there before, such as {ids[0]}",
                fragment,
                ids,
            )
    if not isinstance(step.operation, _REMOVING):
        lost = np.sort(old.ids[new.positions_of(old.ids) < 0])
        if len(lost):
            findings.add(Kind.LOST_ID, f"{rows_text(len(lost), 'is', 'are')} gone, such as {lost[0]}", ids=lost)


def _may_insert(step: Step) -> BoolMask:
    """Returns a mask of the rows of the later version that may be new."""
    new = step.new
    if isinstance(step.operation, Merge):
        listed = {_files(fragment) for fragment in step.operation.fragments}
        new_ids = [each.id for each in step.after if each.id not in step.old_fragments and _files(each) in listed]
        return new.in_fragments(new_ids)
    return np.full(new.num_rows, isinstance(step.operation, _INSERTING))


def _check_ids_of_transaction(step: Step, findings: Findings) -> None:
    """Checks that new fragments have the recorded ids, and that a compaction keeps the order of rows."""
    match step.operation:
        case Update(new_fragments=new_fragments):
            by_files = {_files(fragment): fragment for fragment in step.after if fragment.id not in step.old_fragments}
            pairs = [(each, by_files[_files(each)]) for each in new_fragments if _files(each) in by_files]
        case Rewrite(groups):
            by_id = {fragment.id: fragment for fragment in step.after}
            listed = [fragment for group in groups for fragment in group.new_fragments]
            pairs = [(each, by_id[each.id]) for each in listed if each.id in by_id]
        case _:
            return
    for given, fragment in pairs:
        if not isinstance(given.row_ids, bytes):
            continue
        with suppress(*TABLE_ERRORS):
            wanted = row_ids.parse_prefix(given.row_ids, fragment.physical_rows).expand()
            ids = step.later.open(fragment).row_id_sequence.expand(0, len(wanted))
            differs = wanted != ids
            if differs.any():
                first = int(np.flatnonzero(differs)[0])
                findings.add(
                    Kind.OTHER_ID,
                    f"{rows_text(int(differs.sum()), 'has another id', 'have other ids')} than the transaction gave,"
                    f" such as {ids[first]} instead of {wanted[first]}",
                    fragment.id,
                    ids[differs],
                )


def _written(step: Step) -> BoolMask:
    """Returns a mask of the rows of the later version that the commit rewrote."""
    new = step.new
    match step.operation:
        case Update() as update:
            written = ~new.in_fragments(step.old_fragments)
            for fragment, offsets in update.updated_offsets.items():
                inside = new.fragments == fragment
                written[inside] |= np.isin(new.offsets[inside], offsets.astype(np.int64))
            return written
        case Merge() | DataReplacement():
            return new.in_fragments(_with_new_files(step))
        case _:
            return np.zeros(new.num_rows, np.bool_)


def _with_unrecorded_rows(step: Step) -> Iterator[int]:
    """Yields fragments in which an update rewrote columns without recording the rows."""
    operation = step.operation
    if isinstance(operation, Update) and (operation.fields_modified or operation.mode is UpdateMode.REWRITE_COLUMNS):
        yield from (number for number in _with_new_files(step) if number not in operation.updated_offsets)


def _with_new_files(step: Step) -> list[int]:
    """Returns fragments of both versions that have new data files."""
    return [
        fragment.id
        for fragment in step.after
        if fragment.id in step.old_fragments and data_files.added(step.old_fragments[fragment.id], fragment)
    ]


def _at(values: U64, positions: I64) -> U64:
    """Returns values at positions; the value for -1 is arbitrary and unused."""
    return values[positions] if len(values) else np.zeros(len(positions), np.uint64)


def _files(fragment: Fragment) -> tuple[str, ...]:
    return tuple(file.path for file in fragment.files)
