"""Opening a version of a table by its path or URI.

Recently opened local versions stay open, so that opening the same version again reads nothing.
"""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from typing import Any

from lance_sql.errors import CorruptFile, LanceError, TableNotFound, VersionNotFound
from lance_sql.format.file.learned import Learning
from lance_sql.runtime import observing
from lance_sql.store import Store
from lance_sql.store.access import Access
from lance_sql.table import address, location, versions
from lance_sql.table.files import LEARNS
from lance_sql.table.snapshot import RECENT, Snapshot
from lance_sql.table.version_names import split_name
from lance_sql.table.versions import VersionFile, VersionLike
from lance_sql.values.local_paths import place_text


def open_snapshot(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | timedelta | str | None = None,
    access: Access | None = None,
    use_indices: bool = True,
    learning: Learning = LEARNS,
) -> Snapshot:
    """Opens one version of the table at a path or URI; by default the latest one of main.

    version, tag, as_of: at most one of them; `branch` goes with `version` and `as_of`
    version: a number, of which a negative one counts back from the newest existing version; or a tag, or a time
    as_of: the newest version committed at or before this time, a datetime or ISO 8601 text; a time without a zone
        is UTC
    access: to its files; by default, that of `Access.of`
    use_indices: whether scans may use secondary indices
    learning: whether scans learn statistics, and use those of earlier scans
    raises: TableNotFound, VersionNotFound, InvalidArgument; CorruptFile and UnsupportedFeature for an unreadable
        manifest - an older version is never returned instead
    """
    with observing.recorded("open", table=uri) as watch:
        opened = _open(place_text(uri), version, tag, branch, as_of, access or Access.of(), use_indices, learning)
        if watch is not None:
            watch.note(table=opened.store.uri, version=opened.version)
        return opened


def _open(
    text: str,
    version: VersionLike | None,
    tag: str | None,
    branch: str | None,
    as_of: datetime | date | timedelta | str | None,
    access: Access,
    use_indices: bool,
    learning: Learning,
) -> Snapshot:
    """Does the work of `open_snapshot`."""
    root, main, store, found_branch, file, is_latest = location.locate(
        text, version=version, tag=tag, branch=branch, as_of=as_of, access=access
    )
    snapshot = Snapshot.shared(
        root,
        main,
        store,
        file,
        branch=found_branch,
        access=access,
        use_indices=use_indices,
        learning=learning,
    )
    try:
        of_branch = snapshot.manifest.branch is not None and found_branch is None
    except VersionNotFound:
        if not is_latest:
            raise
        # it was removed while it was opened
        return open_snapshot(root, branch=found_branch, access=access, use_indices=use_indices, learning=learning)
    except CorruptFile as error:
        if is_latest:
            error.message += _newest_readable(store, file, snapshot.name)
        raise
    if of_branch and (linked := address.resolve_links(root, access)) is not None:
        return open_snapshot(
            linked.root,
            version=version,
            branch=branch or linked.branch,
            as_of=as_of,
            access=access,
            use_indices=use_indices,
            learning=learning,
        )
    return snapshot


def open_named(uri: str | os.PathLike[str], **options: Any) -> Snapshot:
    """Opens one version of the table at a path or URI, which may end in an @ and a version, a tag, a branch or a time
    if no argument names a version.

    options, raises: as for `open_snapshot`
    """
    if any(options.get(name) is not None for name in ("version", "tag", "branch", "as_of")):
        return open_snapshot(uri, **options)
    path, version, name = split_name(place_text(uri))
    if (version, name) == (None, None):
        return open_snapshot(uri, **options)
    try:
        try:
            return open_snapshot(path, **{**options, "version": version, "tag": name})
        except VersionNotFound:
            if name is None:
                raise
            if name in open_snapshot(path, **options).branches():
                return open_snapshot(path, **{**options, "branch": name})
            return open_snapshot(path, **{**options, "version": name})
    except TableNotFound:
        # if the name without its suffix is not a table, the whole name may be one
        return open_snapshot(uri, **options)


def close_unused() -> None:
    """Closes the versions that are cached for the next open. Until then, mapped files that were removed still take
    space on disk."""
    RECENT.clear()


def list_snapshots(
    uri: str | os.PathLike[str],
    *,
    version: VersionLike | None = None,
    tag: str | None = None,
    branch: str | None = None,
    access: Access | None = None,
) -> list[Snapshot]:
    """Returns every version of a branch, ascending, or the named one. Reads no manifest, so damaged versions are
    included.

    raises: TableNotFound, VersionNotFound, InvalidArgument
    """
    text = place_text(uri)
    # damage is to be found, and not to stop the reader
    access = (Access.of() if access is None else access).without_checksums()
    located = location.locate(text, version=version, tag=tag, branch=branch, access=access)
    files = [located.file] if version is not None or tag is not None else versions.list_versions(located.store)
    return [
        Snapshot(located.root, located.main, located.store, file, branch=located.branch, access=access)
        for file in files
    ]


def _newest_readable(store: Store, damaged: VersionFile, table: str) -> str:
    """Returns the end of the message about a damaged latest version."""
    older = [file for file in versions.list_versions(store) if file.version < damaged.version]
    for file in reversed(older[-10:]):
        try:
            versions.read_manifest(store, file, table)
        except LanceError:
            continue
        return f". The newest version whose manifest can be read is {file.version}"
    return ""
