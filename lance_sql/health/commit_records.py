"""Commits as reports list them: when each was made, by which operation, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lance_sql.changes.history import origin
from lance_sql.changes.version_history.history import operation
from lance_sql.errors import TABLE_ERRORS
from lance_sql.table.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """Commit that made a version; unknown values are None.

    timestamp: UTC
    operation: from the user's view, such as "update"
    job, user, host: as the commit records them
    """

    version: int
    timestamp: datetime
    operation: str | None
    job: str | None
    user: str | None
    host: str | None


def commit_record(snapshot: Snapshot) -> CommitRecord:
    """Returns the commit of a version whose manifest can be read."""
    by = origin(snapshot)
    return CommitRecord(snapshot.version, snapshot.manifest.timestamp, _operation(snapshot), by.job, by.user, by.host)


def _operation(snapshot: Snapshot) -> str | None:
    try:
        return operation(snapshot)
    except TABLE_ERRORS:
        return None
