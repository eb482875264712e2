"""Commits that have the rows of changes that were taken from another table: exactly once.

    property  lance_sql.consumed.<cursor id> = 37-42 5c1f..    of the transaction: the rows are those of these versions,
                                                               and the identity of the last one
    config    lance_sql.consumed.<cursor id> = 42 5c1f..       of the table from then on: up to where it has the changes

The commit is made only where the table has none of these changes. So a second run over the same
changes cannot commit them again, whenever it comes, and however much of the table's history is cleaned up by then. A
restore takes the config back with the rows.
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
    """The properties of a commit that has the changes of the versions `first` to `last`.

    commit: the identity of the last one, see `Snapshot.token`
    """
    return {CONSUMED + cursor_id: f"{first}-{last} {commit}"}


def up_to(config: Mapping[str, str], cursor_id: str) -> tuple[int, str | None] | None:
    """The last version whose changes a table has, and the identity of its commit, which earlier releases left out; None
    where it has none."""
    match = _POSITION.fullmatch(config.get(CONSUMED + cursor_id, ""))
    return None if match is None else (int(match[1]), match[2])


def config(latest: Mapping[str, str], given: Mapping[str, str] | None, table: str) -> dict[str, str | None]:
    """What a commit with these properties sets in the table's config.

    latest: the config of the version that it is made on top of
    raises: CommitConflict where the table has some of the changes already
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
