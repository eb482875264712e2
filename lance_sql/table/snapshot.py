"""Snapshots: one version of a table, the entry of every read.

    uri --locate--> manifest file --read--> Manifest --> Fragments --> deletions, row ids, row versions
                                                    `--> data files in stores

A snapshot never changes. What it has read it keeps, so scans of the same handle share deletions and metadata.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import date, datetime
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, TableNotFound, at
from lance_sql.store import ByteRange, Store, check_path, open_store
from lance_sql.table import deletions, indices, location, manifest, refs, row_ids, row_versions, transactions, versions
from lance_sql.table.cache import Cache
from lance_sql.table.fragments import DataFile, ExternalSequence, Fragment, HiddenColumn, SequenceSource
from lance_sql.table.indices import IndexSegment
from lance_sql.table.manifest import Manifest
from lance_sql.table.paths import DATA, DELETIONS
from lance_sql.table.refs import Ref
from lance_sql.table.row_ids import RowIds
from lance_sql.table.row_versions import RowVersions
from lance_sql.table.transactions import Transaction
from lance_sql.table.versions import VersionFile, VersionInfo

_T = TypeVar("_T")

# A fragment takes up to four.
_MAX_SEQUENCES = 8192
_MAX_BASES = 256

_NO_ROWS: npt.NDArray[np.uint32] = np.empty(0, np.uint32)


class Snapshot:
    """One version of a table. Immutable and thread-safe; pickled as its place, and read again on first use.

    uri: the table as the user spelled it
    store: of the branch
    version, branch: which version this is; branch is None on main
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
    ) -> None:
        self.uri = uri
        self.store = store
        self.version = file.version
        self.branch = branch
        self._main = main
        self._file = file
        self._storage_options = dict(storage_options or {})
        self._sequences = Cache(_MAX_SEQUENCES)
        self._bases = Cache(_MAX_BASES)
        self._manifest: Manifest | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[Callable[..., Snapshot], tuple[Any, ...]]:
        place = (self.uri, self._main, self.store, self._file, self.branch, self._storage_options)
        return _restore, place

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

        raises: CorruptFile, UnsupportedFeature; not for a snapshot from `open_snapshot`, which has read it
        """
        if self._manifest is None:
            with self._lock:
                if self._manifest is None:
                    self._manifest = _read_manifest(self.store, self._file, self.name)
        return self._manifest

    def latest(self) -> Snapshot:
        """The newest version of this branch as of now; this one when nothing was committed since.

        raises: TableNotFound when none is left; CorruptFile, UnsupportedFeature
        """
        files = versions.list_versions(self.store)
        if not files:
            raise TableNotFound(f"{self.name} is gone: there is no version of it in {self.store.uri}")
        file = files[-1]
        return self if file.version == self.version else self.sibling(file)

    def sibling(self, file: VersionFile) -> Snapshot:
        """Another version of this branch, whose manifest is at a known place."""
        place = (self.uri, self._main, self.store, file)
        return Snapshot(*place, branch=self.branch, storage_options=self._storage_options)

    def versions(self) -> tuple[VersionInfo, ...]:
        """Every version of this branch as of now, ascending. Reads every manifest.

        raises: CorruptFile, UnsupportedFeature
        """
        found = []
        for file in versions.list_versions(self.store):
            read = self.manifest if file.version == self.version else _read_manifest(self.store, file, self.name)
            transaction = transactions.read(self.store, file.path, read)
            found.append(
                VersionInfo(
                    version=read.version,
                    timestamp=read.timestamp,
                    num_fragments=len(read.fragments),
                    data_format=read.data_format,
                    writer_version=read.writer_version,
                    operation=transaction.operation if transaction is not None else None,
                )
            )
        return tuple(found)

    def transaction(self) -> Transaction | None:
        """What the commit that made this version did; None where it is not recorded."""
        return transactions.read(self.store, self.manifest_path, self.manifest)

    def indices(self) -> tuple[IndexSegment, ...]:
        """The secondary indices that the version lists."""
        return indices.read(self.store, self.manifest_path, self.manifest)

    def tags(self) -> dict[str, Ref]:
        """The table's tags as of now."""
        return refs.tags(self._main)

    def branches(self) -> dict[str, Ref]:
        """The table's branches as of now, without main."""
        return refs.branches(self._main)

    def resolve_data_file(self, file: DataFile) -> tuple[Store, str]:
        """The store that holds a data file, and the file's path in it.

        raises: CorruptFile for a path that leads out of its folder and for a base path that does not exist
        """
        self._check_path(file.path)
        return self._resolve(file.base_id, DATA, file.path)

    def base_store(self, base_id: int) -> Store:
        """The store at a base path of the table.

        raises: CorruptFile for an id that the manifest does not have
        """
        base = self.manifest.base_paths.get(base_id)
        if base is None:
            raise CorruptFile(f"the manifest has no base path {base_id}")
        base.check()
        return self._bases.get(base_id, lambda: open_store(base.path, self._storage_options))

    def deletions(self, fragment: Fragment, num_rows: int | None = None) -> npt.NDArray[np.uint32]:
        """The offsets of the deleted rows, ascending, each once; read-only.

        num_rows: physical rows; needed when the fragment does not know them
        raises: CorruptFile
        """
        file = fragment.deletion_file
        if file is None:
            return _NO_ROWS
        store, path = self._resolve(file.base_id, DELETIONS, file.name(fragment.id))
        rows = num_rows or fragment.physical_rows or 2**32
        return self._sequences.get(
            ("deletions", path, file.base_id), lambda: deletions.read(store, path, file.file_type, rows)
        )

    def row_ids(self, fragment: Fragment, num_rows: int) -> RowIds | HiddenColumn:
        """The row ids of a fragment; its row addresses on a table without stable row ids.

        num_rows: physical rows, as the data files have them
        returns: HiddenColumn when they are in a data file, to be read by the caller
        raises: CorruptFile
        """
        if not self.manifest.has_stable_row_ids:
            return row_ids.addresses(fragment.id, num_rows)
        if fragment.row_ids is None:
            raise CorruptFile(f"{self.label}: fragment {fragment.id} has no row ids")
        return self._sequence(
            "row ids", fragment, fragment.row_ids, num_rows, lambda data: row_ids.parse(data, num_rows)
        )

    def created_at(self, fragment: Fragment, num_rows: int) -> RowVersions | HiddenColumn:
        """The versions that inserted the rows of a fragment.

        num_rows, returns: as for `row_ids`
        raises: CorruptFile; InvalidArgument on a table without stable row ids
        """
        return self._versions("created at", fragment, fragment.created_at, num_rows)

    def last_updated_at(self, fragment: Fragment, num_rows: int) -> RowVersions | HiddenColumn:
        """The versions that changed the rows of a fragment last.

        num_rows, returns, raises: as for `created_at`
        """
        return self._versions("last updated at", fragment, fragment.last_updated_at, num_rows)

    def check_row_history(self) -> None:
        """Makes sure that the table records which version inserted and changed a row.

        raises: InvalidArgument that says what to do instead
        """
        if not self.manifest.has_stable_row_ids:
            raise InvalidArgument(
                f"{self.name} was created without stable row ids, so row history is not recorded."
                " Recreate it with stable row ids, or compare versions by a key column."
            )

    def _versions(
        self, kind: str, fragment: Fragment, source: SequenceSource, num_rows: int
    ) -> RowVersions | HiddenColumn:
        self.check_row_history()
        if source is None:
            return row_versions.constant(num_rows)
        return self._sequence(kind, fragment, source, num_rows, lambda data: row_versions.parse(data, num_rows))

    def _sequence(
        self,
        kind: str,
        fragment: Fragment,
        source: bytes | ExternalSequence | HiddenColumn,
        num_rows: int,
        parse: Callable[[bytes], _T],
    ) -> _T | HiddenColumn:
        if isinstance(source, HiddenColumn):
            return source

        def read() -> _T:
            with at(file=f"fragment {fragment.id}, {kind}"):
                return parse(source if isinstance(source, bytes) else self._external(source))

        return self._sequences.get((kind, fragment.id, num_rows), read)

    def _external(self, source: ExternalSequence) -> bytes:
        self._check_path(source.path)
        wanted = ByteRange(source.offset, source.offset + source.size)
        with at(file=source.path):
            (content,) = self.store.get_ranges(source.path, [wanted])
        return bytes(memoryview(content))

    def _check_path(self, path: str) -> None:
        with at(file=self.manifest_path):
            check_path(path)

    def _resolve(self, base_id: int | None, kind: str, name: str) -> tuple[Store, str]:
        if base_id is None:
            return self.store, f"{kind}/{name}"
        with at(file=name):
            store = self.base_store(base_id)
        return store, self.manifest.base_paths[base_id].folder(kind) + name


def open_snapshot(
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Snapshot:
    """One version of the table at a path or URI; the latest one of main unless something else is named.

    version, tag, as_of: at most one of them; `branch` goes with `version` and `as_of`
    as_of: the newest version that was not committed later, as a datetime or ISO 8601 text; a time without a
        zone is read as UTC
    storage_options: for the file system of the URI
    raises: TableNotFound, VersionNotFound, InvalidArgument; CorruptFile and UnsupportedFeature for a manifest
        that cannot be read - an older version is never served in its place
    """
    text = os.fspath(uri)
    main, store, found_branch, file, is_latest = location.locate(
        text, version=version, tag=tag, branch=branch, as_of=as_of, storage_options=storage_options
    )
    snapshot = Snapshot(text, main, store, file, branch=found_branch, storage_options=storage_options)
    try:
        _ = snapshot.manifest
    except CorruptFile as error:
        if is_latest:
            error.message += _newest_readable(store, file, snapshot.name)
        raise
    return snapshot


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
    place = location.locate(text, version=version, tag=tag, branch=branch, storage_options=storage_options)
    files = [place.file] if version is not None or tag is not None else versions.list_versions(place.store)
    return [
        Snapshot(text, place.main, place.store, file, branch=place.branch, storage_options=storage_options)
        for file in files
    ]


def _read_manifest(store: Store, file: VersionFile, table: str) -> Manifest:
    read = manifest.read(store, file.path, table, size=file.size)
    if read.version != file.version:
        with at(file=file.path):
            raise CorruptFile(f"the manifest says that it is version {read.version}, not {file.version}")
    return read


def _newest_readable(store: Store, damaged: VersionFile, table: str) -> str:
    """The end of the message about a damaged latest version."""
    older = [file for file in versions.list_versions(store) if file.version < damaged.version]
    for file in reversed(older[-10:]):
        try:
            _read_manifest(store, file, table)
        except LanceError:
            continue
        return f". The newest version whose manifest can be read is {file.version}"
    return ""


def _restore(
    uri: str,
    main: Store,
    store: Store,
    file: VersionFile,
    branch: str | None,
    storage_options: Mapping[str, Any],
) -> Snapshot:
    return Snapshot(uri, main, store, file, branch=branch, storage_options=storage_options)
