"""Opening a version of a table by its path or URI.

Local versions that were opened last stay open, so that the next open of the same version reads nothing again.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from datetime import date, datetime
from typing import Any, Final

from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.file.learned import Learning
from lance_sql.store import LocalStore, Store
from lance_sql.store.allowed_bases import with_allowed
from lance_sql.table import address, identity, location, versions
from lance_sql.table.files import LEARNS
from lance_sql.table.recent_snapshots import RecentSnapshots
from lance_sql.table.snapshot import Snapshot, read_manifest
from lance_sql.table.versions import VersionFile

_RECENT: Final[RecentSnapshots[Snapshot]] = RecentSnapshots()


def open_snapshot(
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    use_indices: bool = True,
    learning: Learning = LEARNS,
) -> Snapshot:
    """One version of the table at a path or URI; the latest one of main unless something else is named.

    version, tag, as_of: at most one of them; `branch` goes with `version` and `as_of`
    version: below 0 counted from the newest of those that there are: -1 is the one before it
    as_of: the newest version that was not committed later, as a datetime or ISO 8601 text; a time without a
        zone is read as UTC
    storage_options: for the file system of the URI
    use_indices: whether scans may look into secondary indices
    learning: whether scans learn statistics, and use what others have learned
    raises: TableNotFound, VersionNotFound, InvalidArgument; CorruptFile and UnsupportedFeature for a manifest
        that cannot be read - an older version is never served in its place
    """
    text = os.fspath(uri)
    storage_options = with_allowed(storage_options, None)
    root, main, store, found_branch, file, is_latest = location.locate(
        text, version=version, tag=tag, branch=branch, as_of=as_of, storage_options=storage_options
    )
    key = _key(root, store, found_branch, file, storage_options, use_indices, learning)
    recent = _RECENT.get(key) if key is not None else None
    if recent is not None:
        return recent
    snapshot = Snapshot(
        root,
        main,
        store,
        file,
        branch=found_branch,
        storage_options=storage_options,
        use_indices=use_indices,
        learning=learning,
    )
    try:
        of_branch = snapshot.manifest.branch is not None and found_branch is None
    except CorruptFile as error:
        if isinstance(error.__cause__, FileNotFoundError) and versions.find_version(store, file.version) is None:
            if not is_latest:
                raise identity.gone(snapshot.label) from error
            # it went while it was opened
            return open_snapshot(
                root, branch=found_branch, storage_options=storage_options, use_indices=use_indices, learning=learning
            )
        if is_latest:
            error.message += _newest_readable(store, file, snapshot.name)
        raise
    if of_branch and (linked := address.resolve_links(root, storage_options)) is not None:
        return open_snapshot(
            linked.root,
            version=version,
            branch=branch or linked.branch,
            as_of=as_of,
            storage_options=storage_options,
            use_indices=use_indices,
            learning=learning,
        )
    if key is not None:
        _RECENT.keep(key, snapshot)
    return snapshot


def _key(
    uri: str,
    store: Store,
    branch: str | None,
    file: VersionFile,
    storage_options: Mapping[str, Any] | None,
    use_indices: bool,
    learning: Learning,
) -> Hashable | None:
    """What a snapshot depends on; None where it is opened anew each time."""
    # what is learned for a folder is saved when nobody has the version any more; and files of Windows cannot be removed
    # while they are mapped
    if not isinstance(store, LocalStore) or learning.folder is not None or os.name != "posix":
        return None
    options = tuple(sorted((storage_options or {}).items()))
    if not all(isinstance(value, str) for _, value in options):
        return None
    return uri, store.root, branch, file.path, options, use_indices, learning


def close_unused() -> None:
    """Closes the versions that stay open for the next open. Until then, removed files that are mapped still take space
    on disk."""
    _RECENT.clear()


def list_snapshots(
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[Snapshot]:
    """Every version of a branch, ascending, or the one that is named. No manifest is read, so damaged ones are there
    too.

    raises: TableNotFound, VersionNotFound, InvalidArgument
    """
    text = os.fspath(uri)
    storage_options = with_allowed(storage_options, None)
    located = location.locate(text, version=version, tag=tag, branch=branch, storage_options=storage_options)
    files = [located.file] if version is not None or tag is not None else versions.list_versions(located.store)
    return [
        Snapshot(
            located.root, located.main, located.store, file, branch=located.branch, storage_options=storage_options
        )
        for file in files
    ]


def _newest_readable(store: Store, damaged: VersionFile, table: str) -> str:
    """The end of the message about a damaged latest version."""
    older = [file for file in versions.list_versions(store) if file.version < damaged.version]
    for file in reversed(older[-10:]):
        try:
            read_manifest(store, file, table)
        except LanceError:
            continue
        return f". The newest version whose manifest can be read is {file.version}"
    return ""
