"""The bounds of a range as users give them: versions, tags and times.

start       belongs to the range      a time: the first version that was committed at it or later
since       does not                  a time: the first version that was committed later
end         belongs to the range      a time: the last version that was committed at it or earlier
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from lance_sql.changes.history import BranchHistory
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import as_version
from lance_sql.table.versions import VersionLike
from lance_sql.values import moments

Bound: TypeAlias = VersionLike
"""A version, a tag, or a time: see `moments.instant`. Text is a number, a tag, or a time if no tag has that name."""


def first_after(snapshot: Snapshot, since: Bound) -> int:
    """Returns the first version after another version, a tag or a time.

    raises: as `resolve`
    """
    number = _numbered(since)
    if isinstance(number, int) and not isinstance(number, bool):
        return number + 1
    first, _ = resolve(BranchHistory(snapshot), None, None, since)
    return first


def resolve(history: BranchHistory, start: Bound | None, end: Bound | None, since: Bound | None) -> tuple[int, int]:
    """Returns the first and the last version of a range; for an empty range, the last is one less than the first.

    A range that is empty because nothing was committed yet is no error: since the newest version, or from the next one.
    A range that ends before it begins, or begins with a version that does not exist, is an error.

    raises: InvalidArgument, VersionNotFound
    """
    if start is not None and since is not None:
        raise InvalidArgument("Pass either start (inclusive) or since (exclusive), not both")
    name, bound = ("since", since) if since is not None else ("start", start)
    bound, end = _numbered(bound), _numbered(end)
    moment = None if bound is None else _instant(history, bound)
    _check_order(history, name, moment, end)
    stop = last(history, end)
    begin = _first(history, bound, moment, name)
    if moment is not None and end is None:
        # other writers may have committed since the handle was opened
        begin = min(begin, stop + 1)
    if begin > stop + 1 or (begin == stop + 1 and name == "start" and _is_version(history, bound, end)):
        raise _wrong_range(history, name, bound, begin, stop, end)
    return begin, stop


def last(history: BranchHistory, end: Bound | None) -> int:
    """Returns the last version of a range; without `end`, the version of the handle.

    raises: InvalidArgument, VersionNotFound
    """
    end = _numbered(end)
    if end is None:
        return history.snapshot.version
    instant = _instant(history, end)
    if instant is not None:
        before = [version for version in history.files if _time(history, version) <= instant]
        return max(before, default=min(history.files) - 1)
    version = _version(history, end, "end")
    if version > history.newest:
        _ = history.snapshot_at(version)
    return version


def _numbered(bound: Bound | None) -> Bound | None:
    """Converts the text of a number, which is a version in every door."""
    number = as_version(bound) if isinstance(bound, str) else None
    return bound if number is None else number


def _first(history: BranchHistory, bound: Bound | None, moment: datetime | None, name: str) -> int:
    """Returns the first version of a range.

    moment: the time of the bound, if it is a time
    """
    if bound is None:
        return history.beginning
    is_excluded = name == "since"
    if moment is None:
        return max(_version(history, bound, name) + is_excluded, history.beginning)
    return _after(history, moment, included=not is_excluded)


def _check_order(history: BranchHistory, name: str, moment: datetime | None, end: Bound | None) -> None:
    """Raises for times that end before they begin, and for times in the future."""
    if moment is None:
        return
    until = None if end is None else _instant(history, end)
    if until is not None and until < moment:
        raise InvalidArgument(f"The range ends before it begins: {name} is {moment}, end is {until}")
    # clocks of other machines may be ahead of this one's
    if moment > datetime.now(UTC) and moment > _time(history, history.newest):
        raise InvalidArgument(f"{name}={moment} is in the future: pass an earlier time")


def _is_version(history: BranchHistory, *bounds: Bound | None) -> bool:
    """Whether all bounds are versions or tags."""
    return all(bound is not None and _instant(history, bound) is None for bound in bounds)


def _wrong_range(
    history: BranchHistory, name: str, bound: Bound | None, begin: int, stop: int, end: Bound | None
) -> InvalidArgument | VersionNotFound:
    table = history.snapshot.name
    if end is not None:
        return InvalidArgument(
            f"The range ends before it begins: {name} is {_shown(bound)}, end is {_shown(end)} of {table}"
        )
    if begin <= history.newest + (name == "since"):
        return InvalidArgument(
            f"{name}={_shown(bound)} is later than version {stop} of {table}, the end of the range: open a later"
            " version"
        )
    return VersionNotFound(
        f"{name}={_shown(bound)} does not exist yet: the newest version of {table} is {history.newest}"
    )


def _shown(bound: Bound | None) -> str:
    return str(bound) if isinstance(bound, int | datetime | date | timedelta) else repr(bound)


def _version(history: BranchHistory, bound: Bound, name: str) -> int:
    if isinstance(bound, int) and not isinstance(bound, bool):
        if not 0 <= bound < 2**63:
            raise InvalidArgument(f"{name}={bound} is not a version number")
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


def _instant(history: BranchHistory, bound: Bound) -> datetime | None:
    """Returns the time of a bound; None for versions and tags."""
    if isinstance(bound, datetime | date | timedelta):
        return moments.instant(bound)
    if not isinstance(bound, str) or bound in history.snapshot.tags():
        return None
    try:
        return moments.instant(bound)
    except InvalidArgument:
        return None


def _after(history: BranchHistory, instant: datetime, *, included: bool) -> int:
    """Returns the first version committed at or after a moment; if there is none, one more than the newest."""
    late = [
        version
        for version in history.files
        if (_time(history, version) >= instant if included else _time(history, version) > instant)
    ]
    return min(late, default=history.newest + 1)


def _time(history: BranchHistory, version: int) -> datetime:
    return history.snapshot_at(version).manifest.timestamp
