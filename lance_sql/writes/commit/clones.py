"""Clones and branches: a table whose first version refers to the files of another one.

    events.lance version 7          a.lance, b.lance
    copy.lance version 7            base path 0 -> events.lance;  a.lance and b.lance of base path 0

A branch is a clone below the table, at `tree/<name>`, and an entry in `_refs/branches`. A cleanup of the source
removes files that its clones need, but keeps those of branches.

Source: table format, base paths and branches; message lance.table.Transaction.Clone.

Files of one branch below a folder, without those of branches nested in it.

tree/etl/data/5c1f.lance               a data file of the branch etl
tree/etl/data/_versions/7.manifest     the branch etl/data
tree/etl/data/data/a7d0.lance
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

from lance_sql.errors import (
    BranchExists,
    CorruptFile,
    InvalidArgument,
    LanceError,
    RetryableConflict,
    TableExists,
    UnsupportedFeature,
    VersionNotFound,
)
from lance_sql.store import Store, open_store
from lance_sql.store.contract import ObjectInfo
from lance_sql.store.open import absolute, files_uri, local_path
from lance_sql.table import features, identity, indices, refs, versions
from lance_sql.table.commit_summary import CommitSummary
from lance_sql.table.fragment import ExternalSequence, Fragment
from lance_sql.table.identity import commit_id_of
from lance_sql.table.location import branch_store
from lance_sql.table.open_snapshot import close_unused
from lance_sql.table.paths import (
    APPLIED,
    CHECKSUMS,
    DATA,
    DELETIONS,
    INDICES,
    TRANSACTIONS,
    VERSIONS,
    BasePath,
    NamingScheme,
)
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import unknown_name
from lance_sql.values import names
from lance_sql.values.local_paths import shown
from lance_sql.writes.commit.draft import NextVersion, recounted
from lance_sql.writes.commit.operations import Clone
from lance_sql.writes.commit.put_version import put_version, take_back
from lance_sql.writes.commit.transactions import Transaction

_FOLDERS: Final = (VERSIONS, TRANSACTIONS, DATA, DELETIONS, INDICES, CHECKSUMS, APPLIED)


def shallow_clone(snapshot: Snapshot, uri: str) -> Snapshot:
    """Creates a new table that begins with this version.

    returns: its first version, with the number of the cloned one
    raises: TableExists; UnsupportedFeature
    """
    uri = absolute(uri)
    store = open_store(uri, snapshot.access)
    if versions.list_versions(store):
        raise TableExists(f"table {shown(uri)!r} exists already")
    identity.check(snapshot)
    version, transaction = _clone(snapshot, None)
    file = put_version(store, version, transaction, NamingScheme.V2)
    if file is None:
        raise TableExists(f"table {shown(uri)!r} exists already: another writer was first")
    # the clone needs access to the files of its source
    access = snapshot.access.allowing(root_of(snapshot))
    commit_id = commit_id_of(version.manifest)
    return Snapshot(uri, store, store, file, access=access, commit_id=commit_id)


def create_branch(snapshot: Snapshot, name: str) -> Snapshot:
    """Creates a new branch that begins with this version.

    returns: its first version, with the number of the one it begins with
    raises: InvalidArgument for an invalid name; BranchExists; UnsupportedFeature
    """
    names.check_new_reference(name, "branch")
    is_named = name in refs.branches(snapshot.main)
    store = branch_store(snapshot.uri, name, snapshot.access)
    has_versions = bool(versions.list_versions(store))
    if is_named and has_versions:
        raise BranchExists(f"Branch {name!r} exists already: choose another name, or delete it first")
    if is_named:
        # of a creation that was taken back before its last request arrived
        refs.remove_branch(snapshot.main, name)
    if has_versions:
        raise InvalidArgument(f"files of a deleted branch {name!r} are left: delete it first")
    identity.check(snapshot)
    size, _ = snapshot.store.tail(snapshot.manifest_path, 0)
    version, transaction = _clone(snapshot, name)
    written = (store, version, transaction, NamingScheme.V2)
    try:
        file = put_version(*written)
    except FileNotFoundError:
        take_back(*written)
        raise
    if file is None:
        raise BranchExists(f"Branch {name!r} exists already: another writer was first")
    try:
        # From here on the branch exists for cleanups. One that did not see it has removed the version by the check.
        refs.add_branch(snapshot.main, name, snapshot.version, parent=snapshot.branch, manifest_size=size)
        identity.check(snapshot)
    except BaseException as error:
        # the original error matters more. If the reference cannot be removed, the branch stays, and is complete
        with suppress(OSError, LanceError):
            if not isinstance(error, BranchExists):
                refs.remove_branch(snapshot.main, name)
            take_back(*written)
        raise
    return Snapshot(
        snapshot.uri,
        snapshot.main,
        store,
        file,
        branch=name,
        access=snapshot.access,
        commit_id=commit_id_of(version.manifest),
    )


def delete_branch(snapshot: Snapshot, name: str, *, head: Snapshot | None = None) -> None:
    """Removes a branch and its files, including those of an unfinished creation.

    snapshot: any version of the table
    head: the expected newest version of the branch
    raises: VersionNotFound; InvalidArgument if a tag or another branch refers to it; RetryableConflict if the
        newest version is not `head`
    """
    names.check_new_reference(name, "branch")
    check_unneeded(snapshot, name)
    store = branch_store(snapshot.uri, name, snapshot.access)
    branches = refs.branches(snapshot.main)
    if name not in branches and not versions.list_versions(store):
        raise VersionNotFound(unknown_name("branch", name, snapshot.name, branches))
    put_back = refs.remove_branch(snapshot.main, name)
    try:
        # A writer that refers to the branch from now on finds that it is gone.
        check_unneeded(snapshot, name)
        if head is not None and not _is_head(head, store):
            raise RetryableConflict(f"{snapshot.name}: the branch {name!r} has a newer commit, and was not deleted")
    except BaseException:
        put_back()
        raise
    for part in _FOLDERS:
        for info in own_files(store, part):
            store.delete(info.path)
    close_unused()


def check_unneeded(snapshot: Snapshot, name: str) -> None:
    """Makes sure that no tag and no other branch refers to a branch.

    raises: InvalidArgument
    """
    needed = [f"branch {other.name!r}" for other in refs.branches(snapshot.main).values() if other.branch == name]
    needed += [f"tag {tag.name!r}" for tag in refs.tags(snapshot.main).values() if tag.branch == name]
    if needed:
        raise InvalidArgument(f"branch {name!r} cannot be deleted: delete {', '.join(needed[:5])} first")


def _is_head(head: Snapshot, store: Store) -> bool:
    """Whether no commit came after a version; another deletion may be removing the versions."""
    newest = versions.newest(store)
    if newest is None or newest.version < head.version:
        return True
    try:
        return head.is_still(newest)
    except CorruptFile as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return True
        raise


def root_of(snapshot: Snapshot) -> str:
    """Returns the root of a snapshot's branch: an absolute path without links, or a URI."""
    return real_root(files_uri(snapshot.store.uri))


def real_root(uri: str) -> str:
    """Returns a path without links, or a URI: one text for every spelling of a place."""
    path = local_path(uri)
    return uri.rstrip("/") if path is None else os.path.realpath(path)


def _clone(snapshot: Snapshot, branch: str | None) -> tuple[NextVersion, Transaction]:
    manifest = snapshot.manifest
    features.check_writable(manifest.reader_flags, manifest.writer_flags, snapshot.label)
    if any(field.dictionary is not None for field in manifest.schema.by_id.values()):
        raise UnsupportedFeature(
            "cloning tables of file version 0.1 with dictionaries in the manifest is not supported"
        )
    if repeated := manifest.fragments.repeated_ids():
        raise UnsupportedFeature(
            f"{snapshot.label}: several fragments have the id {repeated[0]}; commit a change of the table first, which"
            " assigns new ids"
        )
    root = root_of(snapshot)
    base = BasePath(max(manifest.base_paths, default=-1) + 1, snapshot.branch, True, root)
    transaction = Transaction(
        snapshot.version,
        str(uuid4()),
        Clone(snapshot.version, root, snapshot.branch, branch),
        CommitSummary("create_branch" if branch is not None else "shallow_clone").to_properties(),
    )
    inherited = recounted(snapshot)
    fragments = inherited.edited(replaced=[_with_base(fragment, base.id) for fragment in inherited])
    section = indices.read_bytes(snapshot.store, snapshot.manifest_path, manifest)
    reader_flags, writer_flags = features.describe(
        fragments,
        stable_row_ids=manifest.has_stable_row_ids,
        has_config=bool(manifest.config),
        has_base_paths=True,
        has_covering_indices=indices.have_covering_fields(section),
        before=manifest.reader_flags,
    )
    cloned = dataclasses.replace(
        manifest,
        timestamp=datetime.now(UTC),
        fragments=fragments,
        reader_flags=reader_flags,
        writer_flags=writer_flags,
        base_paths={**manifest.base_paths, base.id: base},
        branch=branch,
        transaction_file=transaction.file_name,
    )
    return NextVersion(cloned, indices.with_base(section, base.id)), transaction


def _with_base(fragment: Fragment, base_id: int) -> Fragment:
    """Returns the fragment for another table: files in the table's own folder move to a base path."""
    if any(
        isinstance(source, ExternalSequence)
        for source in (fragment.row_ids, fragment.created_at, fragment.last_updated_at)
    ):
        raise UnsupportedFeature("cloning tables with row ids or versions in separate files is not supported")
    files = tuple(
        dataclasses.replace(file, base_id=base_id) if file.base_id is None else file for file in fragment.files
    )
    deletion_file = fragment.deletion_file
    if deletion_file is not None and deletion_file.base_id is None:
        deletion_file = dataclasses.replace(deletion_file, base_id=base_id)
    return dataclasses.replace(fragment, files=files, deletion_file=deletion_file)


_PARTS: Final = frozenset({APPLIED, CHECKSUMS, DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS})
"""Folders of every branch."""


def own_files(store: Store, folder: str) -> Iterator[ObjectInfo]:
    """Yields the files below a folder of the branch of this store. Other branches begin at folders with manifests."""
    yield from list(store.files(folder))
    names = list(store.folders(folder))
    inside = VERSIONS in names
    for name in names:
        if not (inside and name in _PARTS):
            yield from own_files(store, f"{folder}/{name}")
