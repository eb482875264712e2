"""Exactly-once commits of changes that were read from another table.

    property  lance_sql.consumed.<cursor id> = 37-42 5c1f..    of the transaction: the versions of these changes,
                                                               and the identity of the last one
    config    lance_sql.consumed.<cursor id> = 42 5c1f..       of the table from then on: the last consumed version

The commit succeeds only if the table has none of these changes, and nothing of a later id of the cursor. So a second
run over the same changes cannot commit them again, regardless of later cleanups of the table's history. A restore
reverts the config with the rows. The table has one position of a cursor: that of its latest id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from lance_sql.errors import CommitConflict
from lance_sql.table import cursor_ids
from lance_sql.table.commit_summary import CONSUMED

_RANGE: Final = re.compile(r"(\d{1,19})-((\d{1,19})( .+)?)", re.ASCII)
_POSITION: Final = re.compile(r"(\d{1,19})(?: (.+))?", re.ASCII)


class Consumed(NamedTuple):
    """Position of a cursor in a target table.

    id: of the cursor when its changes were read
    version: the last consumed version
    commit: its identity, see `Snapshot.token`; None if an earlier release left it out
    """

    id: str
    version: int
    commit: str | None


def properties(cursor_id: str, first: int, last: int, commit: str) -> dict[str, str]:
    """Returns the properties of a commit with the changes of the versions `first` to `last`.

    commit: the identity of the last one, see `Snapshot.token`
    """
    return {CONSUMED + cursor_id: f"{first}-{last} {commit}"}


def cursor_ids_of(properties: Mapping[str, str]) -> list[str]:
    """Returns the ids of the cursors whose changes a commit with these properties has."""
    return [key.removeprefix(CONSUMED) for key in properties if key.startswith(CONSUMED)]


def position(config: Mapping[str, str], cursor_id: str) -> Consumed | None:
    """Returns the position in the config of a target, of the latest id that the cursor had; None without any."""
    family = cursor_ids.family(cursor_id)
    latest = max((id for id in cursor_ids_of(config) if cursor_ids.family(id) == family), default="")
    match = _POSITION.fullmatch(config.get(CONSUMED + latest, ""))
    return None if match is None else Consumed(latest, int(match[1]), match[2])


def config(latest: Mapping[str, str], given: Mapping[str, str] | None, table: str) -> dict[str, str | None]:
    """Returns the config values that a commit with these properties sets.

    latest: the config of the version before the commit
    raises: CommitConflict if the table already has some of the changes, or those of a later seek
    """
    values: dict[str, str | None] = {}
    for key, value in (given or {}).items():
        match = _RANGE.fullmatch(value) if key.startswith(CONSUMED) else None
        if match is None:
            continue
        id = key.removeprefix(CONSUMED)
        consumed = position(latest, id)
        if consumed is not None and consumed.id == id and consumed.version >= int(match[1]):
            raise CommitConflict(
                f"{table} has the changes up to version {consumed.version} of this cursor already, so versions"
                f" {match[1]} to {match[3]} cannot be applied: another run was first. Read from the cursor again"
                " with target="
            )
        if consumed is not None and cursor_ids.is_later(consumed.id, id):
            raise CommitConflict(
                f"{table} has changes of this cursor from a later seek, so versions {match[1]} to {match[3]} cannot be"
                " applied. Read from the cursor again"
            )
        if consumed is not None and consumed.id != id:
            values[CONSUMED + consumed.id] = None
        values[key] = match[2]
    return values
