"""Whether a version that was read earlier is still the one of its number.

A number alone does not name a commit: a table that was restored from a backup or written again, and a branch that was
created again, count the same versions. Everything that acts on a version from a handle checks it here; everything that
stores a position stores `Snapshot.token` beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_sql.errors import CorruptFile, VersionNotFound
from lance_sql.table import refs, versions

if TYPE_CHECKING:
    from lance_sql.table.snapshot import Snapshot


def check(snapshot: Snapshot) -> None:
    """Makes sure that a version is still there, and is the commit that was read.

    raises: VersionNotFound
    """
    where = snapshot.name if snapshot.branch is None else f"{snapshot.name}, branch {snapshot.branch!r}"
    if snapshot.branch is not None and not refs.has_branch(snapshot.main, snapshot.branch):
        raise VersionNotFound(f"The branch {snapshot.branch!r} of {snapshot.name} was deleted")
    file = versions.find_version(snapshot.store, snapshot.version)
    if file is None:
        raise VersionNotFound(f"Version {snapshot.version} of {where} was cleaned up")
    try:
        is_same = snapshot.is_still(file, exact=True)
    except CorruptFile as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise VersionNotFound(f"Version {snapshot.version} of {where} was cleaned up") from error
        raise
    if not is_same:
        raise replaced(snapshot)


def replaced(snapshot: Snapshot, who: str = "this handle has read") -> VersionNotFound:
    """The error for a version whose number another commit has now.

    who: what refers to the earlier commit
    """
    what, cause = (
        f"Version {snapshot.version} of {snapshot.name}",
        "the table was restored from a backup or written again",
    )
    if snapshot.branch is not None:
        what, cause = f"{what}, branch {snapshot.branch!r},", "the branch was created again or restored from a backup"
    return VersionNotFound(f"{what} is another commit than the one that {who}: {cause}. Open it again")


def gone(label: str) -> VersionNotFound:
    """The error for a version whose manifest is missing.

    label: of the version
    """
    return VersionNotFound(f"{label} is gone: it was cleaned up, or the table was dropped")
