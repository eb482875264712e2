"""The bounds of a range as users give them: versions, tags and times.

start       belongs to the range      a time: the first version that was committed at it or later
since       does not                  a time: the first version that was committed later
end         belongs to the range      a time: the last version that was committed at it or earlier
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TypeAlias

from lance_sql.changes.history import History
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.table import versions

Bound: TypeAlias = int | str | datetime | date
"""A version, a tag, or a time; text is a tag, or a time where no tag is called so."""


def first(history: History, start: Bound | None, since: Bound | None) -> int:
    """The first version of a range.

    raises: InvalidArgument, VersionNotFound
    """
    if start is not None and since is not None:
        raise InvalidArgument("Give start, which belongs to the range, or since, which does not; not both")
    if since is not None:
        instant = _instant(history, since)
        return _version(history, since, "since") + 1 if instant is None else _after(history, instant, included=False)
    if start is None:
        return history.beginning
    instant = _instant(history, start)
    return _version(history, start, "start") if instant is None else _after(history, instant, included=True)


def last(history: History, end: Bound | None) -> int:
    """The last version of a range; that of the handle without one.

    raises: InvalidArgument, VersionNotFound
    """
    if end is None:
        return history.snapshot.version
    instant = _instant(history, end)
    if instant is not None:
        before = [version for version in history.files if _time(history, version) <= instant]
        return max(before, default=min(history.files) - 1)
    return _version(history, end, "end")


def _version(history: History, bound: Bound, name: str) -> int:
    if isinstance(bound, int) and not isinstance(bound, bool):
        if not 0 <= bound < 2**63:
            raise InvalidArgument(f"{name}={bound} is not the number of a version")
        return bound
    if not isinstance(bound, str):
        raise InvalidArgument(f"{name}={bound!r} is neither a version, nor a tag, nor a time")
    tags = history.snapshot.tags()
    tag = tags.get(bound)
    if tag is None:
        raise VersionNotFound(f"{name}={bound[:100]!r} is neither a tag of {history.snapshot.name} nor a time")
    if not history.has(tag.branch, tag.version):
        of = "main" if tag.branch is None else f"branch {tag.branch!r}"
        own = "main" if history.snapshot.branch is None else f"branch {history.snapshot.branch!r}"
        raise InvalidArgument(
            f"The tag {bound!r} names version {tag.version} of {of}, which is not in the history of {own}"
        )
    return tag.version


def _instant(history: History, bound: Bound) -> datetime | None:
    """The moment that a bound means; None for versions and tags."""
    if isinstance(bound, datetime | date):
        return versions.instant(bound)
    if not isinstance(bound, str) or bound in history.snapshot.tags():
        return None
    try:
        return versions.instant(bound)
    except InvalidArgument:
        return None


def _after(history: History, instant: datetime, *, included: bool) -> int:
    """The first version that was committed at or after a moment; one more than the newest where there is none."""
    late = [
        version
        for version in history.files
        if (_time(history, version) >= instant if included else _time(history, version) > instant)
    ]
    return min(late, default=history.newest + 1)


def _time(history: History, version: int) -> datetime:
    return history.snapshot_at(version).manifest.timestamp
