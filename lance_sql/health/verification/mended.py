"""The commit after which a table needed its damaged files no longer."""

from __future__ import annotations

from collections.abc import Sequence

from lance_sql.errors import TABLE_ERRORS
from lance_sql.health.verification.verification_report import Problem
from lance_sql.table.snapshot import Snapshot


def mended(snapshots: Sequence[Snapshot], problems: Sequence[Problem]) -> str | None:
    """Describes the first commit after the newest damaged version; None if the newest version is damaged, or none is.

    snapshots: of all checked versions
    """
    damaged = {version for problem in problems for version in problem.versions}
    later = sorted(
        (each for each in snapshots if each.version > max(damaged, default=0)), key=lambda each: each.version
    )
    if not damaged or not later:
        return None
    try:
        transaction = later[0].transaction()
    except TABLE_ERRORS:
        return None
    if transaction is None:
        return None
    if transaction.restored is not None:
        return f"version {later[0].version} returned to version {transaction.restored}"
    done = transaction.operation or "commit"
    return f"version {later[0].version} ({done.replace('_', ' ')}) does not need what is damaged"
