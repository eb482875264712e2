"""Exactly-once commits of changes that were read from another table.

    property  lance_sql.consumed.<cursor id> = 37-42 5c1f..    of the transaction: the versions of these changes,
                                                               and the identity of the last one
    config    lance_sql.consumed.<cursor id> = 42 5c1f..       of the table from then on: the last consumed version

The commit succeeds only if the table has none of these changes. So a second run over the same changes cannot commit
them again, regardless of later cleanups of the table's history. A restore reverts the config with the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lance_sql.errors import CommitConflict
from lance_sql.table.commit_summary import CONSUMED

_RANGE: Final = re.compile(r"(\d{1,19})-((\d{1,19})( .+)?)", re.ASCII)
_POSITION: Final = re.compile(r"(\d{1,19})(?: (.+))?", re.ASCII)


def properties(cursor_id: str, first: int, last: int, commit: str) -> dict[str, str]:
    """Returns the properties of a commit with the changes of the versions `first` to `last`.

    commit: the identity of the last one, see `Snapshot.token`
    """
    return {CONSUMED + cursor_id: f"{first}-{last} {commit}"}


def up_to(config: Mapping[str, str], cursor_id: str) -> tuple[int, str | None] | None:
    """Returns the last consumed version, and the identity of its commit, which earlier releases left out; None
    without any."""
    match = _POSITION.fullmatch(config.get(CONSUMED + cursor_id, ""))
    return None if match is None else (int(match[1]), match[2])


def config(latest: Mapping[str, str], given: Mapping[str, str] | None, table: str) -> dict[str, str | None]:
    """Returns the config values that a commit with these properties sets.

    latest: the config of the version before the commit
    raises: CommitConflict if the table already has some of the changes
    """
    values: dict[str, str | None] = {}
    for key, value in (given or {}).items():
        match = _RANGE.fullmatch(value) if key.startswith(CONSUMED) else None
        if match is None:
            continue
        consumed = up_to(latest, key.removeprefix(CONSUMED))
        if consumed is not None and consumed[0] >= int(match[1]):
            raise CommitConflict(
                f"{table} has the changes up to version {consumed[0]} of this cursor already, and these are those of"
                f" versions {match[1]} to {match[3]}: another run was first. Read from the cursor again"
            )
        values[key] = match[2]
    return values
