"""Invariants of every version, whatever its commit did."""

from __future__ import annotations

import numpy as np

from lance_sql.health.lineage_audit.audited_rows import LiveRows
from lance_sql.health.lineage_audit.faults import Findings, Kind, rows_text
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U64


def check_next_id(snapshot: Snapshot, before: int, findings: Findings) -> None:
    """Checks that assigned ids are not assigned again.

    before: the next id of the version before
    """
    number = snapshot.manifest.next_row_id
    if number < before:
        findings.add(Kind.UNRESERVED_ID, f"the next row id is {number}, and ids below {before} were given away before")


def check_given(snapshot: Snapshot, ids: U64, findings: Findings) -> None:
    """Checks that no row has an id that the table has not assigned yet."""
    number = snapshot.manifest.next_row_id
    over = np.sort(ids[ids >= np.uint64(number)])
    if len(over):
        has = rows_text(len(over), "has", "have")
        message = f"the next row id is {number}, and {has} it or a later one, such as {over[0]}"
        findings.add(Kind.UNRESERVED_ID, message, ids=over)


def check_versions(snapshot: Snapshot, rows: LiveRows, findings: Findings) -> None:
    """Checks the versions of rows: none is in the future, and no row was updated before it was created."""
    now = np.full(rows.num_rows, snapshot.version, np.uint64)
    for kind, what, versions in (
        (Kind.CREATED_AT, "created-at", rows.created),
        (Kind.LAST_UPDATED_AT, "last-updated-at", rows.updated),
    ):
        findings.add_versions(kind, what, rows, versions, now, versions > now)
    early = (rows.updated < rows.created) & (rows.created <= now)
    findings.add_versions(Kind.LAST_UPDATED_AT, "last-updated-at", rows, rows.updated, rows.created, early)


def check_distinct(rows: LiveRows, findings: Findings) -> None:
    """Checks that no two rows have the same id.

    rows: all of a version
    """
    repeated = rows.repeated()
    if len(repeated):
        count = len(repeated)
        what = "row ids belong" if count > 1 else "row id belongs"
        findings.add(Kind.REPEATED_ID, f"{count} {what} to several live rows, the first is {repeated[0]}", ids=repeated)


def check_sequences(rows: LiveRows, findings: Findings) -> None:
    for fragment, message in rows.unreadable.items():
        findings.add(Kind.UNREADABLE, message, fragment)
    for fragment, message in rows.wrong_lengths.items():
        findings.add(Kind.WRONG_LENGTH, message, fragment)
