"""Snapshots: one version of a table, the entry point of every read.

    uri --locate--> manifest file --read--> Manifest --> Fragments --> deletions, row ids, row versions
                                                    `--> data files in stores

A snapshot never changes. It caches deletions and metadata, which scans of the same handle share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from threading import Lock
from typing import Any, Final

from lance_sql.errors import CorruptFile, at
from lance_sql.format.file.learned import Learning
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import LocalStore, Store
from lance_sql.store.access import Access
from lance_sql.table import identity, indices, location, refs, transactions, versions
from lance_sql.table.files import LEARNS, FileLocation, TableFiles
from lance_sql.table.fragment import Fragment
from lance_sql.table.identity import CommitId, commit_id_of
from lance_sql.table.indices import IndexSegment
from lance_sql.table.manifest import Manifest
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_fragments import OpenFragments
from lance_sql.table.open_indices import OpenIndices
from lance_sql.table.recent_snapshots import Key, RecentSnapshots
from lance_sql.table.refs import Ref
from lance_sql.table.transactions import RecordedTransaction
from lance_sql.table.version_infos import VersionInfo, version_info
from lance_sql.table.versions import VersionFile


class Snapshot:
    """One version of a table. Immutable and thread-safe. Pickled as its location, and read again on first use.

    uri: the root of the table, as an absolute path or a URI
    store: of the branch
    version, branch: identify the version; branch is None on main
    access: to its files, as it was opened with
    use_indices: whether scans may use secondary indices
    learning: whether scans learn statistics, and use those of earlier scans
    commit_properties: of the commit that made the version, if this process has just made it; otherwise None, and
        `transaction` reads them
    commit_id: of the commit expected in the manifest, if it was read before; else None
    earlier: another version of the branch, whose open indices this one takes over if their files are unchanged
    """

    def __init__(
        self,
        uri: str,
        main: Store,
        store: Store,
        file: VersionFile,
        *,
        branch: str | None = None,
        access: Access | None = None,
        use_indices: bool = True,
        learning: Learning = LEARNS,
        commit_properties: Mapping[str, str] | None = None,
        commit_id: CommitId | None = None,
        earlier: Snapshot | None = None,
    ) -> None:
        self._commit_id = commit_id
        self.uri = uri
        self.learning = learning
        self.commit_properties = commit_properties
        self.use_indices = use_indices
        self.store = store
        self.version = file.version
        self.branch = branch
        self._main = main
        self._file = file
        self.access = Access.of() if access is None else access
        self._manifest: Manifest | None = None
        # distinguishes the manifest that was read from a later one in its place; None if the store has no identities
        self._mark: str | None = None
        self._open_fragments: OpenFragments | None = None
        self._indices: tuple[IndexSegment, ...] | None = None
        self._open_indices: OpenIndices | None = None
        # of another version, until this one opens its own
        self._earlier_indices: OpenIndices | None = None if earlier is None else earlier._indices_at_hand
        self._lock = Lock()

    @classmethod
    def shared(
        cls, uri: str, main: Store, store: Store, file: VersionFile, *, asked: Snapshot | None = None, **opened_as: Any
    ) -> Snapshot:
        """Returns a version that all who open it share: one that is open, if its files are unchanged.

        asked: another version, which has the stores
        """
        key = Key.of(uri, store, file.path, **opened_as)

        def make(neighbor: Snapshot | None) -> Snapshot:
            own_main, own = main, store
            if key is not None and asked is not None:
                # it stays open as long as the files of this version alone are unchanged
                own_main = copy(main)
                own = own_main if store is main else copy(store)
            has_indices = neighbor is not None and neighbor._indices_at_hand is not None
            return cls(uri, own_main, own, file, **opened_as, earlier=neighbor if has_indices else asked)

        return RECENT.get_or_make(key, make)

    def __reduce__(self) -> tuple[Callable[..., Snapshot], tuple[Any, ...]]:
        commit_id = self._commit_id if self._manifest is None else self.commit_id
        return partial(Snapshot, **self._opened_as, commit_id=commit_id), (*self._stores, self._file)

    @property
    def _stores(self) -> tuple[str, Store, Store]:
        return self.uri, self._main, self.store

    @property
    def _opened_as(self) -> dict[str, Any]:
        """Options that another version of the branch is opened with."""
        return {
            "branch": self.branch,
            "access": self.access,
            "use_indices": self.use_indices,
            "learning": self.learning,
        }

    def __repr__(self) -> str:
        return f"Snapshot({self.label!r})"

    @cached_property
    def name(self) -> str:
        """Last part of the uri, the name of the table in messages."""
        return location.table_name(self.uri)

    @cached_property
    def label(self) -> str:
        """Table and version for messages, as in "events.lance version 42"."""
        branch = f" branch {self.branch!r}" if self.branch else ""
        return f"{self.name}{branch} version {self.version}"

    @property
    def num_bytes(self) -> int:
        """Approximate memory of cached content of the version; its manifest is counted elsewhere."""
        return sum(each.num_bytes for each in (self._open_fragments, self._open_indices) if each is not None)

    @property
    def stores(self) -> tuple[Store, ...] | None:
        """Stores that files of the version were read from; None if some were at base paths."""
        if self._open_fragments is not None and self._open_fragments.files.has_bases:
            return None
        return (self.store,) if self.store is self._main else (self.store, self._main)

    def is_as_read(self) -> bool:
        """Whether no file that was read has changed. True for remote stores, which are not requested; False for a
        local store without identities."""
        opened = self._open_fragments
        stores = {id(each): each for each in (self.store, self._main, *(opened.files.base_stores if opened else ()))}
        return all(
            each.is_as_read() if isinstance(each, LocalStore) else each.concurrency > 1 for each in stores.values()
        )

    @property
    def main(self) -> Store:
        """Store of the table's root, which has the tags and branches."""
        return self._main

    @property
    def file(self) -> VersionFile:
        """Manifest file."""
        return self._file

    @property
    def manifest_path(self) -> str:
        """Path of the manifest file in the store."""
        return self._file.path

    @property
    def is_read(self) -> bool:
        """Whether the manifest was read."""
        return self._manifest is not None

    @property
    def manifest(self) -> Manifest:
        """Content of the version.

        raises: CorruptFile, UnsupportedFeature; not for a snapshot from `open_snapshot`, which has read it;
            VersionNotFound if the version was removed, or another commit has its number
        """
        if self._manifest is None:
            with self._lock:
                if self._manifest is None:
                    self._mark = self._mark_of(self._file)
                    try:
                        with at(table=self.label):
                            read = versions.read_manifest(self.store, self._file, self.name)
                    except CorruptFile as error:
                        if self._commit_id is not None:
                            identity.check(self)
                        elif isinstance(error.__cause__, FileNotFoundError) and not self._is_listed():
                            raise identity.gone(self.label) from error
                        raise
                    if self._commit_id not in (None, commit_id_of(read)):
                        raise identity.replaced(self.label, self.branch)
                    self._manifest = read
        return self._manifest

    def _is_listed(self) -> bool:
        return versions.find_version(self.store, self.version) is not None

    @property
    def commit_id(self) -> CommitId:
        """Identity of the commit: two tables that had the same path one after the other may have the same version
        numbers.

        raises: as `manifest`
        """
        return self._commit_id or commit_id_of(self.manifest)

    @property
    def token(self) -> str:
        """Identity of the commit, as text to be stored beside a position.

        raises: as `manifest`
        """
        _, timestamp, transaction_file = self.commit_id
        return f"{timestamp.isoformat()} {transaction_file}"

    @property
    def open_fragments(self) -> OpenFragments:
        """Open fragments, shared by all readers of this version.

        raises: as `manifest`
        """
        manifest = self.manifest
        with self._lock:
            if self._open_fragments is None:
                file_location = FileLocation(
                    self.store,
                    self.manifest_path,
                    self.version,
                    self.label,
                    self.branch,
                    self.commit_id,
                    manifest.base_paths,
                    self.access,
                )
                stable = manifest.has_stable_row_ids
                files = TableFiles(file_location, has_stable_row_ids=stable, learning=self.learning)
                self._open_fragments = OpenFragments(files)
            return self._open_fragments

    @property
    def _indices_at_hand(self) -> OpenIndices | None:
        """The open indices of this version, or of one before it."""
        return self._open_indices or self._earlier_indices

    @property
    def open_indices(self) -> OpenIndices:
        """Opened index segments of the version, shared by all readers.

        raises: CorruptFile for a damaged index section; as `manifest`
        """
        if self._open_indices is None:
            opened = OpenIndices(self.open_fragments.files, self.indices(), self.manifest.schema)
            earlier = self._earlier_indices
            if earlier is not None:
                opened.take_over(earlier)
            with self._lock:
                self._open_indices, self._earlier_indices = self._open_indices or opened, None
        return self._open_indices

    def open(self, fragment: Fragment) -> OpenFragment:
        """Opens a fragment of this version for reading."""
        return self.open_fragments.get(fragment)

    def latest(self) -> Snapshot:
        """Returns the current newest version of this branch; this one if there is no later commit.

        raises: TableNotFound or VersionNotFound if none is left; CorruptFile, UnsupportedFeature
        """
        file = versions.newest(self.store)
        if file is None:
            raise identity.ended(self, f": {self.store.uri} has no versions")
        if file.path == self._file.path and self.is_still(file):
            return self
        if not isinstance(self.store, LocalStore) or not self.store.has_settled(file.path):
            # it would not stay open
            return self.sibling(file)
        return Snapshot.shared(*self._stores, file, asked=self, **self._opened_as)

    def is_still(self, file: VersionFile) -> bool:
        """Whether a version that was just listed is this one. A table that was dropped and written again reuses
        version numbers.

        raises: CorruptFile, UnsupportedFeature for another, unreadable manifest
        """
        if file.version != self.version:
            return False
        if self._manifest is None and self._commit_id is None:
            # a later read returns the current file
            return file.path == self._file.path
        mark = self._mark_of(file)
        if file.path == self._file.path and mark is not None and mark == self._mark:
            return True
        is_same = self.sibling(file).commit_id == self.commit_id
        if is_same and file.path == self._file.path:
            self._mark = mark
        return is_same

    def sibling(self, file: VersionFile, commit_id: CommitId | None = None) -> Snapshot:
        """Returns another version of this branch, whose manifest file is known.

        commit_id: of the commit that made it, if known
        """
        return Snapshot(*self._stores, file, **self._opened_as, commit_id=commit_id, earlier=self)

    def proposed(self, manifest: Manifest, file: VersionFile) -> Snapshot:
        """Returns a version that is not committed yet. Scans of it do not use indices.

        file: the future manifest file
        """
        made = self.sibling(file)
        made.use_indices = False
        made._manifest = manifest
        return made

    def with_commit(self, properties: Mapping[str, str] | None) -> Snapshot:
        """Returns the same version with the properties of the commit that made it."""
        made = Snapshot(
            *self._stores,
            self._file,
            **self._opened_as,
            commit_properties=dict(properties or {}),
            commit_id=self._commit_id,
            earlier=self,
        )
        made._manifest, made._mark = self._manifest, self._mark
        return made

    def siblings(self) -> list[Snapshot]:
        """Returns every current version of this branch, ascending, including this object. Reads no manifest, so
        damaged versions are included."""
        files = versions.list_versions(self.store)
        return [self._at(file) for file in files]

    def _at(self, file: VersionFile) -> Snapshot:
        """Returns the version that was just listed: this object if it is the same."""
        return self if file.path == self._file.path and self.is_still(file) else self.sibling(file)

    def _mark_of(self, file: VersionFile) -> str | None:
        return self.store.identity(file.path) or file.tag

    def versions(self) -> tuple[VersionInfo, ...]:
        """Returns every current version of this branch, ascending, including damaged ones. Reads every manifest.

        raises: UnsupportedFeature
        """
        infos = []
        for file in versions.list_versions(self.store):
            try:
                infos.append(version_info(self.store, file, self.name))
            except CorruptFile as error:
                infos.append(VersionInfo(file.version, None, None, None, None, None, damage=error.in_table))
        return tuple(infos)

    def transaction(self) -> RecordedTransaction | None:
        """Returns the transaction of the commit that made this version; None if not recorded.

        raises: CorruptFile; VersionNotFound if another commit has its number now
        """
        section = self.manifest.transaction_section
        with identity.sections(self, section) as known, at(table=self.label):
            return transactions.read(self.store, self.manifest_path, self.manifest, known)

    def indices(self) -> tuple[IndexSegment, ...]:
        """Returns the secondary indices of the version, read once.

        raises: as `transaction`
        """
        if self._indices is None:
            section = self.manifest.index_section
            with identity.sections(self, section) as known, at(table=self.label):
                read = indices.read(self.store, self.manifest_path, self.manifest, known)
            self._indices = read
        return self._indices

    def tags(self) -> dict[str, Ref]:
        """Returns the table's current tags."""
        return refs.tags(self._main)

    def branches(self) -> dict[str, Ref]:
        """Returns the table's current branches, without main."""
        return refs.branches(self._main)


RECENT: Final[RecentSnapshots[Snapshot]] = RecentSnapshots()
"""The versions that were opened last."""
