"""The versions that other writers committed since one was read, judged against an own operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lance_sql.errors import CommitConflict, CorruptFile, RetryableConflict
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import TooLong, read_bytes
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit import conflicts, transactions
from lance_sql.writes.commit.conflicts import Outcome
from lance_sql.writes.commit.operations import Operation
from lance_sql.writes.commit.transactions import Transaction


def newer(snapshot: Snapshot, files: Sequence[VersionFile]) -> Iterator[Snapshot]:
    """Yields every version after a snapshot.

    files: of all versions
    raises: RetryableConflict if one was removed
    """
    by_version = {file.version: file for file in files}
    for version in range(snapshot.version + 1, files[-1].version + 1):
        if version not in by_version:
            raise RetryableConflict(
                f"{snapshot.name}: version {snapshot.version} is too old to commit from, because version {version} was"
                " cleaned up: open the newest version"
            )
        yield snapshot.sibling(by_version[version])


def judge(operation: Operation, other: Snapshot, theirs: Transaction | None, *, inserts_by_key: bool) -> Operation:
    """Returns the operation of another version, if ours is compatible with it.

    theirs: its transaction; None if not recorded or unreadable
    raises: CommitConflict, RetryableConflict
    """
    if theirs is None:
        raise CommitConflict(
            f"{other.label}: its transaction is missing or unreadable, so an earlier version cannot be the base of a"
            " commit: open the newest version"
        )
    outcome = conflicts.judge(operation, theirs.operation)
    if outcome is Outcome.COMPATIBLE and inserts_by_key and conflicts.adds_rows(theirs.operation):
        outcome = Outcome.RETRYABLE
    if outcome is not Outcome.COMPATIBLE:
        theirs_name = type(theirs.operation).__name__
        message = f"{type(operation).__name__} conflicts with {theirs_name} of {other.label}"
        raise (RetryableConflict if outcome is Outcome.RETRYABLE else CommitConflict)(message)
    return theirs.operation


def transaction(snapshot: Snapshot) -> Transaction | None:
    """Reads the transaction of a version; None if not recorded, or if the version is damaged."""
    try:
        _ = snapshot.manifest
    except CorruptFile:
        return None
    try:
        content = read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest)
    except TooLong:
        return None
    return transactions.parse(content) if content is not None else None
