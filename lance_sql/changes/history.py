"""Versions of a range of the feed, and the records of the commits that created them.

    branch dev           ....... 6 -- 7 -- 8        version 5 of dev is a copy of version 5 of main
    main        3 -- 4 -- 5 -- 6 -- 7               the history of dev is 3, 4, 5 of main, then 6, 7, 8

Versions are numbered without gaps. A gap means that a cleanup removed versions; the changes of its commits are lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from lance_sql.changes.fragment_difference import ComparedVersion
from lance_sql.errors import CorruptFile, UnsupportedFeature, VersionNotFound
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import Store, concurrently
from lance_sql.table import identity, location, versions
from lance_sql.table.commit_origin import UNKNOWN, CommitOrigin
from lance_sql.table.commit_summary import recorded_origin
from lance_sql.table.open_fragments import OpenFragments
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.transactions import GivenIds, RecordedTransaction
from lance_sql.table.versions import VersionFile

_KNOWN: Final = frozenset(
    {
        "append",
        "delete",
        "overwrite",
        "create_index",
        "rewrite",
        "merge",
        "restore",
        "reserve_fragments",
        "update",
        "project",
        "update_config",
        "data_replacement",
        "clone",
        "update_bases",
        "update_mem_wal_state",
        "append_fragment_reuse_transitions",
    }
)
"""Operations whose effect on rows is fully visible in the fragments of the versions before and after."""

_VERSIONED: Final = _KNOWN - {"merge", "data_replacement", "update_mem_wal_state"}
"""Operations that set the version of every row that they write, or that write no rows."""


@dataclass(frozen=True)
class Commit:
    """Commit that created a version.

    earlier: the version before; None if the table began with this one
    later: the version that it created
    operation: None if it is not recorded, or cannot be read
    restored: the version that a restore went back to
    rewrites_columns: it rewrote column values in place
    given_ids: row ids of its new fragments, as its transaction records them
    origin: its job, user and host, as its transaction records them
    """

    earlier: Snapshot | None
    later: Snapshot
    operation: str | None
    restored: int | None = None
    rewrites_columns: bool = False
    given_ids: tuple[GivenIds, ...] = ()
    origin: CommitOrigin = UNKNOWN

    @property
    def version(self) -> int:
        """Version that it created."""
        return self.later.version

    @property
    def timestamp(self) -> datetime:
        """Time of the commit, in UTC."""
        return self.later.manifest.timestamp


@dataclass(frozen=True)
class _Branch:
    """Part of the history: versions up to `last` belong to this branch, unless the next part has them."""

    snapshot: Snapshot
    last: int | None


class BranchHistory:
    """Versions of a branch, and those of its parents from before it began.

    snapshot: any version of the branch
    opened: other versions, so that none of them is read again
    """

    def __init__(self, snapshot: Snapshot, opened: Iterable[Snapshot] = ()) -> None:
        self.snapshot = snapshot
        self._opened = {(each.store.uri, each.version): each for each in (snapshot, *opened)}
        self._open_fragments: dict[object, OpenFragments] = {}
        self._listed: dict[str, list[VersionFile]] = {}
        self._commits: dict[int, Commit] = {}

    @cached_property
    def _branches(self) -> tuple[_Branch, ...]:
        """This branch, then its parents."""
        branches = [_Branch(self.snapshot, None)]
        refs = self.snapshot.branches() if self.snapshot.branch is not None else {}
        branch = self.snapshot.branch
        while branch is not None:
            ref = refs.get(branch)
            if ref is None or len(branches) > len(refs):
                break
            branches.append(_Branch(self._first_of(ref.branch), ref.version))
            branch = ref.branch
        return tuple(branches)

    def _first_of(self, branch: str | None) -> Snapshot:
        """Returns a placeholder snapshot of another branch, without reading a manifest."""
        own = self.snapshot
        store = own.main if branch is None else location.branch_store(own.uri, branch, own.access)
        return Snapshot(own.uri, own.main, store, VersionFile(0, ""), branch=branch, access=own.access)

    @cached_property
    def files(self) -> dict[int, tuple[Snapshot, VersionFile]]:
        """All existing versions, ascending. The version that a branch begins with belongs to its parent.

        raises: VersionNotFound, TableNotFound if there is none
        """
        files: dict[int, tuple[Snapshot, VersionFile]] = {}
        newest: int | None = None
        for part in self._branches:
            newest = part.last if newest is None or part.last is None else min(newest, part.last)
            for file in self._own_files(part.snapshot.store):
                if newest is None or file.version <= newest:
                    files[file.version] = (part.snapshot, file)
        if not files:
            raise identity.ended(self.snapshot, f": {self.snapshot.store.uri} has no versions")
        located = files.get(self.snapshot.version)
        if located is not None and located[0] is self.snapshot and not self.snapshot.is_still(located[1]):
            raise identity.replaced(self.snapshot.label, self.snapshot.branch)
        return dict(sorted(files.items()))

    def has(self, branch: str | None, version: int) -> bool:
        """Whether a version of a branch, which is None for main, belongs to the history."""
        return any(
            part.snapshot.branch == branch and (part.last is None or version <= part.last) for part in self._branches
        )

    @property
    def newest(self) -> int:
        """Newest version."""
        return max(self.files)

    def snapshot_at(self, version: int) -> Snapshot:
        """Opens a version of the history.

        raises: VersionNotFound
        """
        located = self.files.get(version)
        if located is None:
            raise VersionNotFound(f"Version {version} does not exist in {self.snapshot.name}: {self._described()}")
        return self._open(*located)

    def unread(self, version: int) -> Snapshot:
        """Returns a version of the history, whose manifest may be damaged."""
        owner, file = self.files[version]
        return self._opened.setdefault((owner.store.uri, version), owner.sibling(file))

    def base_of(self, commit: int) -> Snapshot | None:
        """Returns the version before a commit, in the branch of that commit."""
        owner, _ = self.files[commit]
        own = next((file for file in self._own_files(owner.store) if file.version == commit - 1), None)
        if own is not None:
            return self._open(owner, own)
        return self.snapshot_at(commit - 1) if commit - 1 in self.files else None

    def _own_files(self, store: Store) -> list[VersionFile]:
        key = store.uri
        if key not in self._listed:
            self._listed[key] = versions.list_versions(store)
        return self._listed[key]

    def _open(self, owner: Snapshot, file: VersionFile) -> Snapshot:
        key = (owner.store.uri, file.version)
        if key not in self._opened:
            opened = owner.sibling(file)
            try:
                _ = opened.manifest
            except (CorruptFile, VersionNotFound) as error:
                if isinstance(error, VersionNotFound) or isinstance(error.__cause__, FileNotFoundError):
                    raise removed(self.snapshot.name, file.version) from error
                raise
            self._opened[key] = opened
        return self._opened[key]

    def side(self, snapshot: Snapshot | None) -> ComparedVersion:
        """Returns a version with its files; versions of one folder share open files."""
        if snapshot is None:
            return ComparedVersion(None, self.snapshot.open_fragments)
        manifest = snapshot.manifest
        if manifest.schema.has_stored_dictionaries:
            return ComparedVersion(snapshot, snapshot.open_fragments)
        key = _files_of(snapshot)
        files = self._open_fragments.get(key)
        if files is None:
            # the handle keeps open what it reads
            opened = self.snapshot if self.snapshot.is_read and _files_of(self.snapshot) == key else snapshot
            files = self._open_fragments[key] = opened.open_fragments
        return ComparedVersion(snapshot, files)

    def commit(self, version: int) -> Commit:
        """Returns the commit that created a version.

        raises: VersionNotFound if the version before it was cleaned up; UnsupportedFeature for an unknown operation
        """
        if version not in self._commits:
            self._commits[version] = self._read_commit(version)
        return self._commits[version]

    def whole(self, version: int) -> Commit:
        """Returns the commit of a version as if it had begun the table; the version before is not needed."""
        later = self.snapshot_at(version)
        return Commit(None, later, None, origin=origin(later))

    def load_commits(self, first: int, last: int) -> None:
        """Reads the commits of a range, concurrently if the store allows it.

        raises: as `commit`
        """
        concurrency = self.snapshot.store.concurrency
        if concurrency > 1:
            concurrently([partial(self.commit, version) for version in range(first, last + 1)], concurrency)

    def _read_commit(self, version: int) -> Commit:
        later = self.snapshot_at(version)
        transaction = _transaction(later)
        operation = transaction.operation if transaction is not None else None
        if transaction is not None and operation not in _KNOWN:
            what = f"the operation {operation!r}" if operation else "an operation"
            raise UnsupportedFeature(
                f"Version {version} of {self.snapshot.name} was made by {what}, whose changes this release does not"
                " support. Nothing was returned"
            )
        made_by = _origin(transaction)
        if version - 1 not in self.files:
            if version > 1 and not (operation == "clone" and later.branch is None):
                raise self.too_old(version)
            return Commit(None, later, operation, origin=made_by)
        restored = transaction.restored if transaction is not None else None
        in_place = transaction is not None and transaction.rewrites_columns
        given = transaction.given_ids if transaction is not None else ()
        return Commit(self.base_of(version), later, operation, restored, in_place, given, made_by)

    def versions_tell(self, restore: Commit) -> bool:
        """Whether equal version columns before and after a restore imply equal images of a row.

        They do if every commit between that wrote values set the version of its rows. Commits that write in place may
        not do so.
        """
        lowest, version = restore.restored, restore.version - 1
        if lowest is None:
            return False
        while version > lowest:
            if version - 1 not in self.files or version not in self.files:
                return False
            commit = self.commit(version)
            if commit.operation not in _VERSIONED or commit.rewrites_columns:
                return False
            if commit.restored is not None:
                lowest = min(lowest, commit.restored)
            version -= 1
        return True

    def check_range(self, first: int, last: int) -> None:
        """Checks that the changes of all commits of a range can be determined.

        raises: VersionNotFound
        """
        if last < first:
            return
        if last not in self.files:
            _ = self.snapshot_at(last)
        needed = range(first if first == self.beginning else first - 1, last + 1)
        missing = [version for version in needed if version not in self.files]
        if missing:
            raise self.too_old(missing[-1] + 1)

    def too_old(self, start: int) -> VersionNotFound:
        """Returns the error for a range that begins with a version whose predecessor was removed."""
        name = self.snapshot.name
        return VersionNotFound(
            f"The changes of version {start} of {name} are lost: version {start - 1} was cleaned up."
            f" {self._oldest_start()}"
        )

    @property
    def oldest_start(self) -> int:
        """First version from which on all changes can be determined."""
        run = self.newest
        while run - 1 in self.files:
            run -= 1
        return run if run == self.beginning else run + 1

    def _oldest_start(self) -> str:
        oldest = self.oldest_start
        if oldest > self.newest:
            return f"Start at version {oldest}, which has no changes yet"
        return f"Start at version {oldest} (since={oldest - 1})"

    def _described(self) -> str:
        files = [file for _, file in self.files.values()]
        return versions.describe(files, whole_history=self.snapshot.branch is None)

    @cached_property
    def beginning(self) -> int:
        """First version of the table: 1, or the version that it was cloned from."""
        first = min(self.files)
        if first > 1 and self.snapshot.branch is None:
            try:
                transaction = self.snapshot_at(first).transaction()
            except CorruptFile:
                return 1
            if transaction is not None and transaction.operation == "clone":
                return first
        return 1


def _files_of(snapshot: Snapshot) -> object:
    """Returns a value that is equal for versions whose files of one name are the same file."""
    manifest = snapshot.manifest
    bases: tuple[tuple[int, str], ...] = ()
    if manifest.base_paths:
        bases = tuple(sorted([(number, base.path) for number, base in manifest.base_paths.items()]))
    return snapshot.store.uri, bases, manifest.has_stable_row_ids


def origin(snapshot: Snapshot) -> CommitOrigin:
    """Returns the job, user and host of the commit that made a version, as far as they are recorded."""
    return _origin(_transaction(snapshot))


def _transaction(snapshot: Snapshot) -> RecordedTransaction | None:
    """Returns the transaction of a version; None if it is missing or unreadable."""
    try:
        return snapshot.transaction()
    except CorruptFile:
        return None


def _origin(transaction: RecordedTransaction | None) -> CommitOrigin:
    return recorded_origin(transaction.properties if transaction is not None else {})


def removed(table: str, version: int) -> VersionNotFound:
    """Returns the error for a version that was removed while it was read."""
    return VersionNotFound(f"Version {version} of {table} was cleaned up while its changes were read")
