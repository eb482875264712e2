"""Snapshots: one version of a table, the entry of every read.

    uri --locate--> manifest file --read--> Manifest --> Fragments --> deletions, row ids, row versions
                                                    `--> data files in stores

A snapshot never changes. What it has read it keeps, so scans of the same handle share deletions and metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

from lance_sql.errors import CorruptFile, at
from lance_sql.format.file.learned import Learning
from lance_sql.store import LocalStore, Store
from lance_sql.table import identity, indices, location, manifest, refs, transactions, versions
from lance_sql.table.files import LEARNS, FileLocation, TableFiles
from lance_sql.table.fragment import Fragment
from lance_sql.table.identity import CommitId, commit_id_of
from lance_sql.table.indices import IndexSegment
from lance_sql.table.manifest import Manifest
from lance_sql.table.manifest_file import ReadSections
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.open_fragments import OpenFragments
from lance_sql.table.open_indices import OpenIndices
from lance_sql.table.refs import Ref
from lance_sql.table.transactions import RecordedTransaction
from lance_sql.table.version_infos import version_info
from lance_sql.table.versions import VersionFile, VersionInfo


class Snapshot:
    """One version of a table. Immutable and thread-safe; pickled as its place, and read again on first use.

    uri: the root of the table, as an absolute path or a URI
    store: of the branch
    version, branch: which version this is; branch is None on main
    use_indices: whether scans may look into secondary indices
    learning: whether scans learn statistics, and use what others have learned
    commit_properties: of the commit that made the version, where this process has just made it; else None, and
        `transaction` knows
    commit_id: of the commit that is to be found in the manifest, where it was read before; else None
    """

    def __init__(
        self,
        uri: str,
        main: Store,
        store: Store,
        file: VersionFile,
        *,
        branch: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        use_indices: bool = True,
        learning: Learning = LEARNS,
        commit_properties: Mapping[str, str] | None = None,
        commit_id: CommitId | None = None,
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
        self._storage_options = dict(storage_options or {})
        self._manifest: Manifest | None = None
        # what tells the manifest that was read from another one in its place; None where the store does not
        self._mark: str | None = None
        self._open_fragments: OpenFragments | None = None
        self._indices: tuple[IndexSegment, ...] | None = None
        self._open_indices: OpenIndices | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[Callable[..., Snapshot], tuple[Any, ...]]:
        commit_id = self._commit_id if self._manifest is None else self.commit_id
        return partial(Snapshot, **self._opened_as, commit_id=commit_id), (*self._stores, self._file)

    @property
    def _stores(self) -> tuple[str, Store, Store]:
        return self.uri, self._main, self.store

    @property
    def _opened_as(self) -> dict[str, Any]:
        """The options that another version of the branch is opened with."""
        return {
            "branch": self.branch,
            "storage_options": self._storage_options,
            "use_indices": self.use_indices,
            "learning": self.learning,
        }

    def __repr__(self) -> str:
        return f"Snapshot({self.label!r})"

    @property
    def name(self) -> str:
        """The last part of the uri: how messages call the table."""
        return location.table_name(self.uri)

    @property
    def label(self) -> str:
        """Table and version for messages, as in "events.lance version 42"."""
        branch = f" branch {self.branch!r}" if self.branch else ""
        return f"{self.name}{branch} version {self.version}"

    @property
    def num_bytes(self) -> int:
        """Memory that what was read of the version takes, roughly; its manifest is counted elsewhere."""
        return sum(each.num_bytes for each in (self._open_fragments, self._open_indices) if each is not None)

    @property
    def stores(self) -> tuple[Store, ...] | None:
        """What files of the version were read from; None where some were at base paths."""
        if self._open_fragments is not None and self._open_fragments.files.has_bases:
            return None
        return (self.store,) if self.store is self._main else (self.store, self._main)

    def is_as_read(self) -> bool:
        """Whether no file of which something was read has changed. True where it is far away, which would have to be
        asked for; False where a near store does not tell."""
        opened = self._open_fragments
        stores = {id(each): each for each in (self.store, self._main, *(opened.files.base_stores if opened else ()))}
        return all(
            each.is_as_read() if isinstance(each, LocalStore) else each.concurrency > 1 for each in stores.values()
        )

    @property
    def main(self) -> Store:
        """The store of the table's root, which has the tags and branches."""
        return self._main

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """Those that the table was opened with."""
        return self._storage_options

    @property
    def file(self) -> VersionFile:
        """The manifest file."""
        return self._file

    @property
    def manifest_path(self) -> str:
        """Path of the manifest file in the store."""
        return self._file.path

    @property
    def manifest(self) -> Manifest:
        """What the version consists of.

        raises: CorruptFile, UnsupportedFeature; not for a snapshot from `open_snapshot`, which has read it;
            VersionNotFound where the commit is known, and is gone, or another one has its number
        """
        if self._manifest is None:
            with self._lock:
                if self._manifest is None:
                    self._mark = self._mark_of(self._file)
                    try:
                        with at(table=self.label):
                            read = read_manifest(self.store, self._file, self.name)
                    except CorruptFile:
                        if self._commit_id is not None:
                            identity.check(self)
                        raise
                    if self._commit_id not in (None, commit_id_of(read)):
                        raise identity.replaced(self.label, self.branch)
                    self._manifest = read
        return self._manifest

    @property
    def commit_id(self) -> CommitId:
        """What no other commit has: two tables that one after the other had the same path may count the same versions.

        raises: as `manifest`
        """
        return self._commit_id or commit_id_of(self.manifest)

    @property
    def token(self) -> str:
        """The identity of the commit, as text to be stored beside a position.

        raises: as `manifest`
        """
        _, timestamp, transaction_file = self.commit_id
        return f"{timestamp.isoformat()} {transaction_file}"

    @property
    def open_fragments(self) -> OpenFragments:
        """The fragments that are open, shared by all who read this version.

        raises: as `manifest`
        """
        manifest = self.manifest
        with self._lock:
            if self._open_fragments is None:
                file_location = FileLocation(
                    self.store,
                    self.manifest_path,
                    self.label,
                    self.branch,
                    self.commit_id,
                    manifest.base_paths,
                    self._storage_options,
                )
                stable = manifest.has_stable_row_ids
                files = TableFiles(file_location, has_stable_row_ids=stable, learning=self.learning)
                self._open_fragments = OpenFragments(files)
            return self._open_fragments

    @property
    def open_indices(self) -> OpenIndices:
        """The index segments of the version, shared by all who read it.

        raises: CorruptFile for a damaged index section; as `manifest`
        """
        if self._open_indices is None:
            opened = OpenIndices(self.open_fragments.files, self.indices(), self.manifest.schema)
            with self._lock:
                self._open_indices = self._open_indices or opened
        return self._open_indices

    def open(self, fragment: Fragment) -> OpenFragment:
        """A fragment of this version, opened for reading."""
        return self.open_fragments.get(fragment)

    def latest(self) -> Snapshot:
        """The newest version of this branch as of now; this one when nothing was committed since.

        raises: TableNotFound or VersionNotFound when none is left; CorruptFile, UnsupportedFeature
        """
        file = versions.newest(self.store)
        if file is None:
            raise identity.ended(self, f": there is no version of it in {self.store.uri}")
        return self._at(file)

    def is_still(self, file: VersionFile) -> bool:
        """Whether a version that was listed just now is this one. A table that was dropped and written again has other
        ones with the same numbers.

        raises: CorruptFile, UnsupportedFeature for another manifest that cannot be read
        """
        if file.version != self.version:
            return False
        if self._manifest is None and self._commit_id is None:
            # whoever reads it reads what is there now
            return file.path == self._file.path
        mark = self._mark_of(file)
        if file.path == self._file.path and mark is not None and mark == self._mark:
            return True
        is_same = self.sibling(file).commit_id == self.commit_id
        if is_same and file.path == self._file.path:
            self._mark = mark
        return is_same

    def sibling(self, file: VersionFile, commit_id: CommitId | None = None) -> Snapshot:
        """Another version of this branch, whose manifest is at a known place.

        commit_id: of the commit that has made it, where that is known
        """
        return Snapshot(*self._stores, file, **self._opened_as, commit_id=commit_id)

    def proposed(self, manifest: Manifest, file: VersionFile) -> Snapshot:
        """A version that is not committed yet. Its indices are not looked into.

        file: where its manifest will be
        """
        made = self.sibling(file)
        made.use_indices = False
        made._manifest = manifest
        return made

    def with_commit(self, properties: Mapping[str, str] | None) -> Snapshot:
        """The same version, as a commit with these properties has made it."""
        made = Snapshot(
            *self._stores,
            self._file,
            **self._opened_as,
            commit_properties=dict(properties or {}),
            commit_id=self._commit_id,
        )
        made._manifest, made._mark = self._manifest, self._mark
        return made

    def siblings(self) -> list[Snapshot]:
        """Every version of this branch as of now, ascending; this one is itself. No manifest is read for it, so damaged
        ones are there too."""
        files = versions.list_versions(self.store)
        return [self._at(file) for file in files]

    def _at(self, file: VersionFile) -> Snapshot:
        """The version that was listed just now: this one where it is the same."""
        return self if file.path == self._file.path and self.is_still(file) else self.sibling(file)

    def _mark_of(self, file: VersionFile) -> str | None:
        return self.store.identity(file.path) or file.tag

    def versions(self) -> tuple[VersionInfo, ...]:
        """Every version of this branch as of now, ascending, damaged ones among them. Reads every manifest.

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
        """What the commit that made this version did; None where it is not recorded.

        raises: CorruptFile; VersionNotFound where another commit has its number now
        """
        section = self.manifest.transaction_section
        with self._of_this_commit(section) as known, at(table=self.label):
            return transactions.read(self.store, self.manifest_path, self.manifest, known)

    def indices(self) -> tuple[IndexSegment, ...]:
        """The secondary indices that the version lists, read once.

        raises: as `transaction`
        """
        if self._indices is None:
            section = self.manifest.index_section
            with self._of_this_commit(section) as known, at(table=self.label):
                read = indices.read(self.store, self.manifest_path, self.manifest, known)
            self._indices = read
        return self._indices

    @contextmanager
    def _of_this_commit(self, section: int | None) -> Iterator[ReadSections | None]:
        """Reads a section of the manifest file in the block, which another commit may have by now. A remote manifest is
        read again, in the request that has most sections, too.

        section: where it begins; None without one
        returns: what came of sections with the manifest
        raises: VersionNotFound where it was replaced, or is gone
        """
        known = None
        try:
            if section is not None and self.store.identity(self.manifest_path) is None:
                commit_id, known = identity.read(self.store, self.manifest_path, self.name)
                if commit_id != self.commit_id:
                    raise identity.replaced(self.label, self.branch)
            yield known
        except CorruptFile:
            identity.check(self)
            raise
        if section is not None and (known is None or section < known.start):
            identity.check(self)

    def tags(self) -> dict[str, Ref]:
        """The table's tags as of now."""
        return refs.tags(self._main)

    def branches(self) -> dict[str, Ref]:
        """The table's branches as of now, without main."""
        return refs.branches(self._main)


def read_manifest(store: Store, file: VersionFile, table: str) -> Manifest:
    """The manifest of a version, whose number must be the one of its file.

    raises: CorruptFile, UnsupportedFeature
    """
    read = manifest.read(store, file.path, table, size=file.size)
    versions.check_version(read.version, file)
    return read
