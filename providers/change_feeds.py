"""Change feeds as SQL asks for them: bounds as values of an engine, the newest version unless an end is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from lance_sql.errors import InvalidArgument
from lance_sql.table.version_names import as_version

from .snapshots import open_version

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.changes.row_history import RowHistory

Bound: TypeAlias = int | str | datetime | date | None


def open_changes(
    path: str,
    start: Bound = None,
    end: Bound = None,
    *,
    since: Bound = None,
    mode: Any = None,
    drop_unchanged: bool | None = None,
    key: Sequence[str] | None = None,
    branch: str | None = None,
    trust_snapshots: bool | None = None,
) -> ChangeFeed:
    """The change feed of a table, up to its newest version unless an end is given.

    start, end, since: as for `Dataset.changes`, or the same as text: a version's number, a tag, a time
    raises: as `lance_sql.open` and `Dataset.changes`
    """
    dataset = open_version(path, branch=branch)
    return dataset.changes(
        bound(start),
        bound(end),
        since=bound(since),
        mode="all" if mode is None else mode,
        drop_unchanged=bool(drop_unchanged),
        key=key,
        trust_snapshots=bool(trust_snapshots),
    )


def open_row_history(path: str, start: Bound = None, end: Bound = None, *, branch: str | None = None) -> RowHistory:
    """Every image of the rows of a table, up to its newest version unless an end is given.

    raises: as `open_changes`
    """
    return open_version(path, branch=branch).row_history(bound(start), bound(end))


def bound(value: Bound) -> Bound:
    """A bound of a range, where a number may have come as text.

    raises: InvalidArgument for what cannot be one
    """
    number = as_version(value) if isinstance(value, str) and value.isascii() else None
    if number is not None:
        return number
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | str | datetime | date)):
        raise InvalidArgument(f"{value!r} is not a version, a tag or a time")
    return value
