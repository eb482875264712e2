"""Audit of the lineage of rows: every version against the required effect of its commit on the version before.

Some early writers recorded wrong row versions, which later commits inherit; one misplaced zones of indices. No page is
decoded, unless it contains row ids.
"""

from __future__ import annotations

import dataclasses
from uuid import UUID

import numpy as np

from lance_sql.changes.fragment_difference import changed_fragments
from lance_sql.changes.history import BranchHistory, origin
from lance_sql.errors import TABLE_ERRORS, CorruptFile, LanceError, UnsupportedFeature
from lance_sql.health.commit_records import CommitRecord, commit_record
from lance_sql.health.lineage_audit import invariants, plain_inserts, rules, zones
from lance_sql.health.lineage_audit.audited_rows import LiveRows
from lance_sql.health.lineage_audit.faults import Audited, Fault, Findings, Kind
from lance_sql.health.lineage_audit.rules import Step
from lance_sql.table.fragment import Fragment
from lance_sql.table.fragments import Fragments
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import read_bytes
from lance_sql.writes.commit import transactions
from lance_sql.writes.commit.operations import Clone, Operation, Other, Overwrite, Restore

_NOT_RECORDED = "which is not recorded"
_GONE = "for the version before is gone"


class Lineage:
    """Audit of versions in ascending order, each against the version before.

    job: of the commits to audit, for the result; None for all
    """

    def __init__(self, history: BranchHistory, job: str | None = None) -> None:
        self._audited: list[int] = []
        self._without: list[int] = []
        self._partly: dict[int, str] = {}
        self._changed: set[str] = set()
        self._zones: set[UUID] = set()
        self._history = history
        self._commits: list[CommitRecord] = []
        self._job = job
        self._handed_out = 0
        self._faults: list[Fault] = []

    def result(self) -> Audited:
        faults = sorted(self._with_rows_now(), key=lambda fault: fault.version)
        return Audited(
            tuple(self._audited),
            tuple(self._without),
            dict(sorted(self._partly.items())),
            tuple(faults),
            tuple(self._commits),
            self._job,
        )

    def unreadable(self, version: int, error: LanceError) -> None:
        """Records a version that cannot be audited."""
        self._partly[version] = f"for it cannot be read: {error.in_table}"

    def check(self, snapshot: Snapshot) -> None:
        """Audits the commit of a version, and the zones of its indices."""
        version = snapshot.version
        self._commits.append(commit_record(snapshot))
        try:
            (self._audited if self._version(snapshot) else self._without).append(version)
            findings = _findings(snapshot)
            zones.check(snapshot, self._zones, findings)
            self._faults += findings.faults
        except (CorruptFile, UnsupportedFeature) as error:
            self.unreadable(version, error)
        except MemoryError:
            self._partly[version] = "for that takes more memory than there is"

    def file_changed(self, snapshot: Snapshot, fragment: int | None, error: LanceError) -> None:
        """Records a file that changed since it was written, for the first version that has it.

        fragment: its id; None for a file of an index
        """
        message = error.in_table
        if message not in self._changed:
            self._changed.add(message)
            findings = _findings(snapshot)
            findings.add(Kind.CHANGED_FILE, message, fragment)
            self._faults += findings.faults

    def _version(self, later: Snapshot) -> bool:
        """Audits one version; returns False if it has no lineage."""
        version = later.version
        earlier = self._earlier(version)
        had_lineage = earlier is not None and earlier.manifest.has_stable_row_ids
        operation, name, reason = _operation(later)
        findings = Findings(version, name, origin(later).job)
        if not later.manifest.has_stable_row_ids:
            if had_lineage and not isinstance(operation, Restore):
                findings.add(Kind.LOST_LINEAGE, "the table has no stable row ids any longer")
            self._faults += findings.faults
            return bool(findings.faults)
        if had_lineage and earlier is not None:
            invariants.check_next_id(later, earlier.manifest.next_row_id, findings)
            self._handed_out = max(self._handed_out, earlier.manifest.next_row_id)
        compared = self._compared_with(earlier, operation) if had_lineage else None
        begins = version == 1 and isinstance(operation, Overwrite)
        if compared is None and not begins:
            self._alone(later, findings)
            if reason or (version > 1 and earlier is None and not isinstance(operation, Clone)):
                self._partly[version] = reason or _GONE
        else:
            if reason:
                self._partly[version] = reason
            self._step(compared, later, name, operation, findings)
        self._handed_out = max(self._handed_out, later.manifest.next_row_id)
        self._faults += findings.faults
        return True

    def _earlier(self, version: int) -> Snapshot | None:
        """Returns the version before; None if there is none, or it cannot be read."""
        earlier = self._history.base_of(version)
        if earlier is not None:
            try:
                _ = earlier.manifest
            except TABLE_ERRORS:
                return None
        return earlier

    def _compared_with(self, earlier: Snapshot | None, operation: Operation | None) -> Snapshot | None:
        """Returns the version that rows are compared with; None if it was removed."""
        if not isinstance(operation, Restore):
            return earlier
        if operation.version not in self._history.files:
            return None
        restored = self._history.snapshot_at(operation.version)
        return restored if restored.manifest.has_stable_row_ids else None

    def _alone(self, snapshot: Snapshot, findings: Findings) -> None:
        """Checks the invariants of a version that cannot be compared with another one."""
        rows = LiveRows.of(snapshot, snapshot.manifest.fragments)
        invariants.check_sequences(rows, findings)
        invariants.check_given(snapshot, rows.ids, findings)
        invariants.check_versions(snapshot, rows, findings)
        invariants.check_distinct(rows, findings)

    def _step(
        self,
        earlier: Snapshot | None,
        later: Snapshot,
        name: str | None,
        operation: Operation | None,
        findings: Findings,
    ) -> None:
        before: list[Fragment] = []
        after: list[Fragment] = []
        old_fragments = earlier.manifest.fragments if earlier is not None else Fragments.of(())
        for old, new in changed_fragments(old_fragments, later.manifest.fragments, with_unchanged=False):
            before += [old] if old is not None else []
            after += [new] if new is not None else []
        looked_at = plain_inserts.others(later, before, after, operation, self._handed_out)
        step = Step(earlier, later, tuple(before), looked_at, name, operation, self._handed_out)
        rules.check(step, findings)
        # ids are distinct if new ones are new, and kept ones were distinct
        trusts = operation is not None and not isinstance(operation, Restore) and not findings.faults
        if not trusts:
            invariants.check_distinct(LiveRows.of(later, later.manifest.fragments), findings)

    def _with_rows_now(self) -> list[Fault]:
        """Returns the faults, each with the number of its rows that still have the fault in the newest version."""
        if not self._audited or not any(fault.num_rows for fault in self._faults):
            return self._faults
        newest = self._history.snapshot_at(self._audited[-1])
        if not newest.manifest.has_stable_row_ids:
            return self._faults
        rows = LiveRows.of(newest, newest.manifest.fragments)
        return [
            dataclasses.replace(fault, newest=(newest.version, _count_now(fault, rows))) if fault.num_rows else fault
            for fault in self._faults
        ]


def _count_now(fault: Fault, rows: LiveRows) -> int:
    """Counts the rows that still have a fault."""
    values = {Kind.CREATED_AT: rows.created, Kind.LAST_UPDATED_AT: rows.updated}.get(fault.kind)
    if values is None or not len(fault.wrong_versions):
        return int(np.isin(rows.ids, fault.ids).sum())
    positions = np.minimum(np.searchsorted(fault.ids, rows.ids), len(fault.ids) - 1)
    return int(((fault.ids[positions] == rows.ids) & (fault.wrong_versions[positions] == values)).sum())


def _findings(snapshot: Snapshot) -> Findings:
    return Findings(snapshot.version, _operation(snapshot)[1], origin(snapshot).job)


def _operation(snapshot: Snapshot) -> tuple[Operation | None, str | None, str | None]:
    """Returns the operation of a version, its name, and the reason why it cannot be checked, if any."""
    try:
        content = read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest)
        if content is None:
            return None, None, _NOT_RECORDED
        recorded = snapshot.transaction()
        operation = transactions.parse(content).operation
    except CorruptFile:
        return None, None, "which cannot be read"
    name = recorded.operation if recorded is not None else None
    if isinstance(operation, Other):
        return None, name, f"whose changes this release does not support: {name or 'an operation'}"
    return operation, name, None
