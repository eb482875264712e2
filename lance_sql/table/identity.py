"""Identity of commits: checks that a version read earlier was not replaced by another one of the same number.

A number alone does not identify a commit. A table that was restored from a backup or written again, and a branch
that was created again, reuse version numbers. Operations on the version of a handle check it here. Stored positions
include `Snapshot.token`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
    """Returns the identity of the commit of a manifest."""
    return read.version, read.timestamp, read.transaction_file


def read(store: Store, path: str, table: str) -> tuple[CommitId, ReadSections]:
    """Reads the identity of the commit at a manifest path, and the sections of the manifest read with it.

    raises: CorruptFile, UnsupportedFeature
    """
    outline, sections = manifest.read_outline(store, path, table)
    return commit_id_of(outline), sections


@contextmanager
def sections(snapshot: Snapshot, section: int | None) -> Iterator[ReadSections | None]:
    """Reads a section of the manifest file in the block, and checks that it is still of the commit of the version. A
    remote manifest is read again, in a request that also returns most sections.

    section: its offset; None without one
    returns: the sections read with the manifest
    raises: VersionNotFound if the manifest was replaced, or is gone
    """
    known = None
    try:
        if section is not None and snapshot.store.identity(snapshot.manifest_path) is None:
            commit_id, known = read(snapshot.store, snapshot.manifest_path, snapshot.name)
            if commit_id != snapshot.commit_id:
                raise replaced(snapshot.label, snapshot.branch)
        yield known
    except CorruptFile:
        check(snapshot)
        raise
    if section is not None and (known is None or section < known.start):
        check(snapshot)


def check(snapshot: Snapshot) -> None:
    """Makes sure that a version still exists, and is the commit that was read.

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
    """Converts the error of an unreadable file: if the file is missing, the version may be gone.

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
    """Returns the error for a version whose number another commit has now.

    label, branch: of the version
    who: the object that refers to the earlier commit
    """
    cause = "the table was restored from a backup or written again"
    if branch is not None:
        cause = "the branch was created again or restored from a backup"
    return VersionNotFound(f"{label} is another commit than {who}: {cause}. Open it again")


def ended(snapshot: Snapshot, how: str) -> LanceError:
    """Returns the error for a table or branch without any version left.

    how: the end of the sentence about the drop or deletion
    """
    if snapshot.branch is None:
        return TableNotFound(f"{snapshot.name} was dropped or moved{how}")
    return VersionNotFound(f"The branch {snapshot.branch!r} of {snapshot.name} was deleted{how}")


def gone(label: str) -> VersionNotFound:
    """Returns the error for a version whose manifest is missing.

    label: of the version
    """
    return VersionNotFound(f"{label} is missing: it was cleaned up, or the table was dropped")
