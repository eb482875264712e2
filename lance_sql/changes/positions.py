"""Positions of cursors: where they begin, and which changes a target table or a database has received.

A source, and a target or database, can be restored from backups independently. A position is therefore compared with
the commit at its version, and with the id and the record of the cursor.
"""

from __future__ import annotations

import re
from typing import Final

from lance_sql.changes import bounds
from lance_sql.changes.bounds import Bound
from lance_sql.changes.history import BranchHistory
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.table import cursor_ids
from lance_sql.table.cursor_files import CursorRecord, Origin
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.consumed import Consumed

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
SNAPSHOT: Final = "snapshot"
_POSITION: Final = re.compile(r"(\w+) (\d{1,19}) (.*)", re.ASCII)


def origin(latest: Snapshot, start: Bound) -> Origin:
    """Returns the position after which a cursor begins.

    start: as for `Dataset.cursors.open`
    raises: VersionNotFound, InvalidArgument
    """
    history = BranchHistory(latest)
    if start in (LATEST, SNAPSHOT):
        return Origin(latest.version, commit_at(history, latest.version), needs_snapshot=start == SNAPSHOT)
    if start == EARLIEST:
        oldest = history.oldest_start
        position, needs_snapshot = oldest - 1, oldest != history.beginning
    else:
        first, _ = bounds.resolve(history, start, None, None)
        history.check_range(first, latest.version)
        position, needs_snapshot = first - 1, False
    return Origin(position, commit_at(history, position), needs_snapshot)


def commit_at(history: BranchHistory, position: int) -> str | None:
    """Returns the identity of the commit at a position; None if there is no such version."""
    return history.snapshot_at(position).token if position in history.files else None


def text(cursor_id: str, position: int, commit: str | None) -> str:
    """Returns a position as text for a database."""
    return f"{cursor_id} {position} {commit or ''}"


def check(record: CursorRecord, history: BranchHistory, position: int, commit: str | None, holder: str) -> bool:
    """Checks that a position still refers to the same commit.

    holder: the object that refers to it, for the message
    returns: False if the commit is not known, or was cleaned up
    raises: VersionNotFound
    """
    if commit is None or (position < history.newest and position not in history.files):
        return False
    if position not in history.files or commit_at(history, position) != commit:
        branch = history.snapshot.branch
        cause = "the table was restored from a backup or written again"
        if branch is not None:
            cause = "the branch was created again or restored from a backup"
        raise VersionNotFound(
            f"The cursor {record.name!r} of {history.snapshot.name}: version {position}, which {holder}, is another"
            f" commit now: {cause}. Call seek('snapshot') to make a new copy, or seek a version to continue there"
        )
    return True


def of_database(record: CursorRecord, history: BranchHistory, position: str | None) -> CursorRecord:
    """Returns the record as of the position of a database.

    position: the text that the database has, or None
    raises: InvalidArgument for other text; VersionNotFound for a position that the table does not have
    """
    if position is None:
        return record.at_origin()
    match = _POSITION.fullmatch(position)
    if match is None:
        raise InvalidArgument(f"after={position!r} is not a cursor position: pass the position of earlier changes")
    id, version, commit = match[1], int(match[2]), match[3] or None
    if cursor_ids.is_later(id, record.id) and not record.is_new:
        raise _earlier(record, history, version, "the database")
    if id != record.id and not record.is_new:
        # the cursor was moved by seek, or created again
        return record
    is_here = check(record, history, version, commit, "the database has the changes of")
    is_own = cursor_ids.family(id) == cursor_ids.family(record.id)
    return record.at(version, commit) if is_own or is_here else record


def of_target(record: CursorRecord, history: BranchHistory, consumed: Consumed | None, target: str) -> CursorRecord:
    """Returns the record as of the position of a target table.

    consumed: in the config of the target
    target: the name of the target, for messages
    raises: VersionNotFound for a position that the table does not have, and for a target that lost its position
    """
    if consumed is not None and cursor_ids.is_later(consumed.id, record.id) and not record.is_new:
        raise _earlier(record, history, consumed.version, target)
    if consumed is not None and (consumed.id == record.id or record.is_new):
        is_ahead = consumed.version > record.position or record.needs_snapshot
        was_restored = record.delivered is not None and consumed.version < record.delivered
        if not is_ahead and not was_restored:
            return record
        check(record, history, consumed.version, consumed.commit, "the target has the changes of")
        return record.at(consumed.version, consumed.commit)
    if record.delivered is not None:
        raise VersionNotFound(
            f"The cursor {record.name!r} of {history.snapshot.name} has delivered the changes up to version"
            f" {record.delivered} to a target, but {target} lacks them: it was dropped, overwritten, or is another"
            " table. Call seek('earliest') or seek('snapshot') to fill it from the beginning, or seek a version to"
            " continue there"
        )
    return record


def _earlier(record: CursorRecord, history: BranchHistory, version: int, holder: str) -> VersionNotFound:
    return VersionNotFound(
        f"The cursor {record.name!r} of {history.snapshot.name} was restored from a backup: {holder} has the changes up"
        f" to version {version}, read after a seek that the cursor lacks. Call seek('snapshot') to make a new copy, or"
        " seek a version to continue there"
    )
