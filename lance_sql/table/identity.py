"""Whether a version that was read earlier is still the one of its number.

A number alone does not name a commit: a table that was restored from a backup or written again, and a branch that was
created again, count the same versions. Everything that acts on a version from a handle checks it here; everything that
stores a position stores `Snapshot.token` beside it.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from lance_sql.errors import CorruptFile, LanceError, TableNotFound, VersionNotFound
from lance_sql.store import Store
from lance_sql.table import manifest, refs, versions
from lance_sql.table.manifest import Manifest, Outline
from lance_sql.table.manifest_file import ReadSections

if TYPE_CHECKING:
    from lance_sql.table.files import FileLocation
    from lance_sql.table.snapshot import Snapshot

CommitId: TypeAlias = tuple[int, datetime, str]


def commit_id_of(read: Manifest | Outline) -> CommitId:
    """The identity of the commit that has made a manifest."""
    return read.version, read.timestamp, read.transaction_file


def read(store: Store, path: str, table: str) -> tuple[CommitId, ReadSections]:
    """The commit that has a manifest now, and of the manifest's sections what came with it.

    raises: CorruptFile, UnsupportedFeature
    """
    outline, sections = manifest.read_outline(store, path, table)
    return commit_id_of(outline), sections


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
        is_same = snapshot.is_still(file)
    except CorruptFile as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise VersionNotFound(f"Version {snapshot.version} of {where} was cleaned up") from error
        raise
    if not is_same:
        raise replaced(snapshot.label, snapshot.branch)


def lost(location: FileLocation, error: CorruptFile) -> LanceError:
    """What a file of a version that cannot be read means: where it is missing, the version may be gone.

    error: of the file
    """
    if not isinstance(error.__cause__, FileNotFoundError):
        return error
    try:
        commit_id, _ = read(location.store, location.manifest_path, location.label)
    except CorruptFile as other:
        return gone(location.label) if isinstance(other.__cause__, FileNotFoundError) else error
    return error if commit_id == location.commit_id else replaced(location.label, location.branch)


def replaced(label: str, branch: str | None, who: str = "this handle has read") -> VersionNotFound:
    """The error for a version whose number another commit has now.

    label, branch: of the version
    who: what refers to the earlier commit
    """
    cause = "the table was restored from a backup or written again"
    if branch is not None:
        cause = "the branch was created again or restored from a backup"
    return VersionNotFound(f"{label} is another commit than the one that {who}: {cause}. Open it again")


def ended(snapshot: Snapshot, how: str) -> LanceError:
    """The error for a table or branch of which no version is left.

    how: the rest of the sentence that says that it was dropped or deleted
    """
    if snapshot.branch is None:
        return TableNotFound(f"{snapshot.name} was dropped or moved{how}")
    return VersionNotFound(f"The branch {snapshot.branch!r} of {snapshot.name} was deleted{how}")


def gone(label: str) -> VersionNotFound:
    """The error for a version whose manifest is missing.

    label: of the version
    """
    return VersionNotFound(f"{label} is gone: it was cleaned up, or the table was dropped")
