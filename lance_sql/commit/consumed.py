"""Commits that have the rows of changes that were taken from another table: exactly once.

    property  lance_sql.consumed.<cursor id> = 37-42     of the transaction: the rows are those of these versions
    config    lance_sql.consumed.<cursor id> = 42        of the table from then on: up to where it has the changes

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

_RANGE: Final = re.compile(r"(\d{1,19})-(\d{1,19})", re.ASCII)


def properties(cursor_id: str, first: int, last: int) -> dict[str, str]:
    """What a commit says that has the changes of the versions `first` to `last`."""
    return {CONSUMED + cursor_id: f"{first}-{last}"}


def up_to(config: Mapping[str, str], cursor_id: str) -> int | None:
    """The last version whose changes a table has; None where it has none."""
    return _number(config.get(CONSUMED + cursor_id))


def config(latest: Mapping[str, str], given: Mapping[str, str] | None, table: str) -> dict[str, str]:
    """What a commit with these properties sets in the table's config.

    latest: the config of the version that it is made on top of
    raises: CommitConflict where the table has some of the changes already
    """
    values = {}
    for key, value in (given or {}).items():
        match = _RANGE.fullmatch(value) if key.startswith(CONSUMED) else None
        if match is None:
            continue
        first, last = map(int, match.groups())
        consumed = _number(latest.get(key))
        if consumed is not None and consumed >= first:
            raise CommitConflict(
                f"{table} has the changes up to version {consumed} of this cursor already, and these are those of"
                f" versions {first} to {last}: another run was first. Read from the cursor again"
            )
        values[key] = str(last)
    return values


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 20 else None
