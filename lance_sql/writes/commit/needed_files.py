"""Files of a table: those that versions need, and those that no version names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from lance_sql import _kernels
from lance_sql._kernels import NamedKind
from lance_sql.errors import CorruptFile
from lance_sql.store import Store
from lance_sql.store.durable import TEMPORARY
from lance_sql.table import applied, features
from lance_sql.table.fragment import ExternalSequence, Fragment
from lance_sql.table.paths import APPLIED, DATA, DELETIONS, INDICES, TRANSACTIONS, VERSIONS
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.clones import own_files, real_root, root_of

MIN_LEFTOVER_AGE: Final = timedelta(days=7)
"""A writer that takes longer than this from its first file to its commit loses its files."""

_FOLDERS: Final = {NamedKind.DATA: DATA, NamedKind.DELETIONS: DELETIONS}
"""Folders by kind of file; the file of a sequence has a path of its own."""


def needed_files(snapshots: Iterable[Snapshot], of: Snapshot) -> set[str]:
    """Returns the files in the store of `of` that some versions need; folders of indices end in `/`.

    raises: CorruptFile, UnsupportedFeature
    """
    needed: set[str] = set()
    # names shared by most versions are processed once
    names_by_folders: dict[tuple[object, ...], _kernels.FragmentNames] = {}
    for snapshot in snapshots:
        manifest = snapshot.manifest
        features.check_writable(manifest.reader_flags, manifest.writer_flags, snapshot.label)
        folders = _folders_in(snapshot, of)
        key = tuple((base, *sorted(folders[base].items())) for base in folders)
        named, left = names_by_folders.setdefault(key, _kernels.FragmentNames()).add(manifest.fragments.content)
        needed.update(_named(named, folders))
        for number in left:
            needed.update(_files_of(manifest.fragments[number], folders))
        # The base path does not record which of its indices a clone uses, so none is removed.
        for index in snapshot.indices():
            needed.add(f"{INDICES}/{index.uuid}/")
        if None in folders and manifest.transaction_file:
            needed.add(f"{TRANSACTIONS}/{manifest.transaction_file}")
        # a branch uses files of main, whose names are unique to it
        if (changes := applied.of(manifest.config, snapshot.label)) is not None:
            needed.update(changes.files)
    return needed


def _named(
    files: Iterable[tuple[NamedKind, int | None, str]], folders: Mapping[int | None, Mapping[str, str]]
) -> Iterator[str]:
    """Yields the paths of files in the store of `of`; see `_kernels.FragmentNames` and `_folders_in`."""
    for kind, base, name in files:
        if base in folders:
            yield folders[base].get(_FOLDERS[kind], "") + name if kind in _FOLDERS else name


def _files_of(fragment: Fragment, folders: Mapping[int | None, Mapping[str, str]]) -> Iterator[str]:
    """Yields the files that a fragment needs; see `_folders_in`."""
    for file in fragment.files:
        if file.base_id in folders:
            yield folders[file.base_id].get(DATA, "") + file.path
    deletion_file = fragment.deletion_file
    if deletion_file is not None and deletion_file.base_id in folders:
        yield folders[deletion_file.base_id].get(DELETIONS, "") + deletion_file.name(fragment.id)
    if None in folders:
        yield from _external(fragment)


def _folders_in(snapshot: Snapshot, of: Snapshot) -> Mapping[int | None, Mapping[str, str]]:
    """Returns the base ids under which a version has files in the store of `of`, and their folders there."""
    own_folders = {DATA: f"{DATA}/", DELETIONS: f"{DELETIONS}/"}
    root = root_of(of)
    folders: dict[int | None, Mapping[str, str]] = {}
    if root_of(snapshot) == root:
        folders[None] = own_folders
    for base in snapshot.manifest.base_paths.values():
        path = real_root(base.path)
        if path == root:
            folders[base.id] = own_folders if base.is_dataset_root else {}
        elif path.startswith(root + "/"):
            inside = path.removeprefix(root + "/") + "/"
            nested = {DATA: f"{inside}{DATA}/", DELETIONS: f"{inside}{DELETIONS}/"}
            folders[base.id] = nested if base.is_dataset_root else {DATA: inside, DELETIONS: inside}
    return folders


def _external(fragment: Fragment) -> Iterator[str]:
    for source in (fragment.row_ids, fragment.created_at, fragment.last_updated_at):
        if isinstance(source, ExternalSequence):
            yield source.path


def table_files(store: Store) -> Iterator[tuple[str, int | None]]:
    """Yields the files that versions may need, and temporary files of writers, with their sizes if known."""
    for folder in (DATA, DELETIONS, TRANSACTIONS, INDICES, APPLIED):
        for info in own_files(store, folder):
            yield info.path, info.size
    for info in store.files(VERSIONS):
        if info.path.startswith(f"{VERSIONS}/{TEMPORARY}"):
            yield info.path, info.size


def owner_of(path: str) -> str:
    """Returns the name by which versions need this file: its data file for a blob, the folder for an index file."""
    if path.startswith(f"{INDICES}/"):
        parts = path.split("/", 2)
        return f"{INDICES}/{parts[1]}/" if len(parts) > 2 else path
    if path.endswith(".blob") and path.startswith(f"{DATA}/") and path.count("/") > 1:
        return f"{path.rpartition('/')[0]}.lance"
    return path


def is_leftover(store: Store, path: str, now: datetime) -> bool:
    """Whether an unreferenced file is too old to belong to an active writer."""
    try:
        modified = store.modified(path)
    except (FileNotFoundError, IsADirectoryError, CorruptFile):
        # removed since; the marker of a folder, or a name that no file of ours has
        return False
    return modified is not None and modified < now - MIN_LEFTOVER_AGE
