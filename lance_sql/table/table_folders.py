"""Operations on whole tables: dropping and moving to another path."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import chain
from typing import Final

from lance_sql.errors import InvalidArgument, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.store import Store
from lance_sql.store.access import Access
from lance_sql.store.local import remove_empty_folders
from lance_sql.store.open import local_path, open_store
from lance_sql.table import address, refs
from lance_sql.table.open_snapshot import close_unused
from lance_sql.table.paths import (
    APPLIED,
    CHECKSUMS,
    CURSORS,
    DATA,
    DELETIONS,
    INDICES,
    TRANSACTIONS,
    VERSIONS,
    parse_manifest_name,
)

_FIRST: Final = (APPLIED, CHECKSUMS, DATA, TRANSACTIONS)
"""Folders that the first version of a table may have."""

_PARTS: Final = (*_FIRST, CURSORS, DELETIONS, INDICES, "_mem_wal", "_refs", "tree")
"""References are removed before branches, so that a writer of a branch sees that it is gone, and removes its
version."""


def drop(uri: str) -> int:
    """Removes a table with all of its versions, tags and branches. Manifests are removed first, the newest one last of
    them: an interrupted removal leaves no table, or the rows of the newest version.

    returns: the number of removed files
    raises: TableNotFound; InvalidArgument for a folder with other content, of which nothing is removed;
        UnsupportedFeature for manifests recorded in another store
    """
    store, folder, manifests, others = _files(uri)
    num_files = len(manifests) + len(others)
    left = set(others)
    while manifests:
        # no older version becomes the latest one
        for path in sorted(manifests, key=_version):
            store.delete(path)
        if folder is not None:
            remove_empty_folders(os.path.join(folder, VERSIONS))
        # a writer may have committed in the meantime, unless the folder is gone
        manifests = list(_below(store, VERSIONS))
        if manifests:
            left.update(_others(store))
    # none of the folders that the first version of another table at the same place may have
    since = (path for part in _PARTS if part not in _FIRST for path in _below(store, part))
    for path in chain(left, since):
        store.delete(path)
    close_unused()
    if folder is not None:
        remove_empty_folders(folder)
        if os.path.islink(_given(uri)):
            os.unlink(_given(uri))
    return num_files


def count(uri: str) -> int:
    """Returns the number of files that `drop` would remove.

    raises: as `drop`
    """
    _, _, manifests, others = _files(uri)
    return len(manifests) + len(others)


def move(uri: str, target: str, *, dry_run: bool = False) -> None:
    """Moves a table to another path on the same disk.

    raises: TableNotFound, TableExists; UnsupportedFeature for remote stores; InvalidArgument for a table with
        branches, which refer to its files by path
    """
    folder, other = _local(uri), _local(target)
    if os.path.islink(_given(uri)):
        raise InvalidArgument(f"{uri} is a link to a table: rename the link itself, or {folder}")
    if folder is None or other is None:
        raise UnsupportedFeature(f"{uri} is not on a local disk, so it cannot be renamed: write it to the new place")
    if not os.path.isdir(os.path.join(folder, VERSIONS)):
        raise TableNotFound(f"No Lance table at {uri!r} to rename")
    _check_root(uri)
    if branches := refs.branches(open_store(folder)):
        names = ", ".join(repr(name) for name in list(branches)[:5])
        raise InvalidArgument(
            f"{uri} has branches ({names}), which refer to its files by path: publish or delete them first"
        )
    if os.path.lexists(other):
        raise TableExists(f"{target!r} exists already: choose another name")
    if dry_run:
        return
    try:
        os.rename(folder, other)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise UnsupportedFeature(f"{target} is on another disk than {uri}: write the rows there") from error
        raise


def plain_path(uri: str) -> str:
    """Returns the plain path of a file URI; other URIs unchanged."""
    return (local_path(uri) or uri) if uri.startswith("file:///") else uri


def _files(uri: str) -> tuple[Store, str | None, list[str], list[str]]:
    """Returns the store of a table, its local folder or None, its manifests, and its other files."""
    if uri.startswith("s3+ddb://"):
        raise UnsupportedFeature(
            f"{uri} has entries in DynamoDB, which cannot be removed here: drop it with its own writer"
        )
    store = open_store(uri)
    _check_root(uri)
    manifests = list(_below(store, VERSIONS))
    if not manifests:
        raise TableNotFound(f"No Lance table at {uri!r} to drop")
    folder = _local(uri)
    if folder is not None:
        strangers = sorted(set(os.listdir(folder)) - {VERSIONS, *_PARTS})
        if strangers:
            raise InvalidArgument(
                f"{uri} contains other files, such as {strangers[0]!r}: move them, or remove the table by hand"
            )
    return store, folder, manifests, _others(store)


def _others(store: Store) -> list[str]:
    """Returns all files of a table except its manifests."""
    return [path for part in _PARTS for path in _below(store, part)]


def _version(path: str) -> int:
    """Returns the version of a manifest; -1 for other files beside manifests."""
    parsed = parse_manifest_name(path.rpartition("/")[2])
    return -1 if parsed is None else parsed[0]


def _below(store: Store, folder: str) -> Iterator[str]:
    """Yields all files below a folder."""
    yield from [each.path for each in store.files(folder)]
    for name in list(store.folders(folder)):
        yield from _below(store, f"{folder}/{name}")


def _local(uri: str) -> str | None:
    """Returns the folder of a local table, with links resolved."""
    path = local_path(uri)
    return None if path is None else os.path.realpath(path)


def _given(uri: str) -> str:
    return (local_path(uri) or uri).rstrip("/")


def _check_root(uri: str) -> None:
    """
    raises: InvalidArgument for the folder of a branch
    """
    root, branch = address.resolve(uri, Access.of())
    if branch is not None:
        raise InvalidArgument(f"{uri} is the branch {branch!r} of {root}: remove it with branches.delete({branch!r})")
