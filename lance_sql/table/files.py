"""Files of one version: their locations, and cached open readers.

    FileReader, DeletionFile, ExternalSequence  --table folder or base path-->  a store and a path in it

Independent of the manifest: a reader of some fragments, in another process for example, needs only this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lance_sql.errors import CorruptFile, at
from lance_sql.format.file.blob_v2 import DESCRIPTOR, BlobSource
from lance_sql.format.file.column import Column
from lance_sql.format.file.learned import Learning
from lance_sql.format.file.leaves import Leaf
from lance_sql.format.file.opening import Listed, open_column
from lance_sql.format.file.page_cache import PageCache
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.schema import Field, jsonb
from lance_sql.format.schema.types import is_json
from lance_sql.runtime.caches import LruCache
from lance_sql.store import ByteRange, Store, allowed_bases, check_path, open_store
from lance_sql.store.access import Access
from lance_sql.table import identity
from lance_sql.table.fragment import DataFile, DeletionFile, ExternalSequence
from lance_sql.table.identity import CommitId
from lance_sql.table.listed_columns import ListedColumns
from lance_sql.table.paths import DATA, DELETIONS, INDICES, BasePath

MAX_OPEN_FILES: Final = 1024
"""Limit of cached footers and column metadata, in files."""

MAX_DICTIONARIES: Final = 256
"""Limit of cached dictionaries of version 0.1, in columns."""

_MAX_BASES: Final = 256

# Numbers of rows take fewer bytes per row, and less overhead.
_BYTES_PER_ROW: Final = 32
_MOST_OTHER_BYTES: Final = 1 << 20

LEARNS: Final = Learning()


@dataclass(frozen=True, slots=True)
class FileLocation:
    """Location of the files of a version. Picklable.

    store: of the branch
    manifest_path: of the version's manifest in it
    version: its number
    label: its name in messages
    branch: None for main
    commit_id: of the commit that has made it
    """

    store: Store
    manifest_path: str
    version: int
    label: str
    branch: str | None
    commit_id: CommitId
    base_paths: Mapping[int, BasePath]
    access: Access


class TableFiles:
    """The files of a version, each opened once. Thread-safe and picklable; evicts the least recently used."""

    def __init__(self, location: FileLocation, *, has_stable_row_ids: bool, learning: Learning = LEARNS) -> None:
        """
        has_stable_row_ids: of the version; without them, row ids are addresses and rows have no versions
        learning: whether reads collect statistics
        """
        self.location = location
        self.has_stable_row_ids = has_stable_row_ids
        self.learning = learning
        self.learned = learning.open()
        self._page_cache = PageCache("pages of versions")
        self._open: LruCache[tuple[int | None, str], FileReader] = LruCache(
            "open data files", most_entries=MAX_OPEN_FILES
        )
        self._dictionaries: LruCache[int, pa.Array] = LruCache(
            "dictionaries of fields", most_entries=MAX_DICTIONARIES, num_bytes=lambda values: int(values.nbytes)
        )
        self._bases: LruCache[int, Store] = LruCache("stores at base paths", most_entries=_MAX_BASES)

    def __reduce__(self) -> tuple[Callable[..., TableFiles], tuple[FileLocation, bool, Learning]]:
        return _restore, (self.location, self.has_stable_row_ids, self.learning)

    @property
    def label(self) -> str:
        """Name of the version in messages."""
        return self.location.label

    def resolve(self, file: DataFile) -> tuple[Store, str]:
        """Returns the store of a data file, and the file's path in it.

        raises: CorruptFile for a path outside its folder and for a missing base path
        """
        self._check_path(file.path)
        return self._resolve(file.base_id, DATA, file.path)

    def resolve_deletions(self, file: DeletionFile, fragment_id: int) -> tuple[Store, str]:
        """Returns the store of a deletion file, and the file's path in it.

        raises: CorruptFile for a missing base path
        """
        return self._resolve(file.base_id, DELETIONS, file.name(fragment_id))

    def resolve_index(self, base_id: int | None, path: str) -> tuple[Store, str]:
        """Returns the store of an index file, and the file's path in it.

        path: below the folder of indices
        raises: CorruptFile for a path outside that folder and for a missing base path
        """
        self._check_path(path)
        return self._resolve(base_id, INDICES, path)

    def external(self, source: ExternalSequence, num_rows: int) -> bytes:
        """Reads the bytes of a sequence of `num_rows` rows that is stored in a file below the root.

        raises: CorruptFile
        """
        self._check_path(source.path)
        if source.size > _MOST_OTHER_BYTES + _BYTES_PER_ROW * num_rows:
            with at(table=self.label, file=source.path):
                raise CorruptFile(f"{source.size} bytes for the numbers of {num_rows} rows")
        wanted = ByteRange(source.offset, source.offset + source.size)
        with at(table=self.label, file=source.path):
            (content,) = self.location.store.get_ranges(source.path, [wanted])
        return bytes(memoryview(content))

    def base_store(self, base_id: int) -> Store:
        """Returns the store at a base path of the table.

        raises: CorruptFile for an id that the manifest does not have; ForeignBase for a place that is not allowed
        """
        return self._bases.get_or_make(base_id, lambda: self._open_base(base_id))

    def _open_base(self, base_id: int) -> Store:
        base = self.location.base_paths.get(base_id)
        if base is None:
            raise CorruptFile(f"the manifest has no base path {base_id}")
        base.check()
        allowed_bases.check(base.path, self.location.store.uri, self.location.access.allow_bases)
        return open_store(base.path, self.location.access)

    @property
    def page_cache(self) -> PageCache:
        """Cache of pages for later scans, with a memory limit."""
        return self._page_cache

    @property
    def num_bytes(self) -> int:
        """Approximate memory of cached content of the files."""
        open_files = [self._open.peek(key) for key in self._open]
        ends = sum(int(file.bytes.tail.size) for file in open_files if file is not None)
        return self._page_cache.num_bytes + self._dictionaries.num_bytes + ends

    @property
    def base_stores(self) -> list[Store]:
        """Open stores at base paths."""
        stores = [self._bases.peek(number) for number in self._bases]
        return [store for store in stores if store is not None]

    @property
    def has_bases(self) -> bool:
        """Whether a store at a base path is open."""
        return len(self._bases) > 0

    def open(self, file: DataFile) -> FileReader:
        """Opens a file, or returns the cached reader.

        raises: CorruptFile for a missing or damaged file, UnsupportedFeature for other versions of the file format
        """
        return self._open.get_or_make((file.base_id, file.path), lambda: self._open_file(file))

    def opened(self, file: DataFile) -> FileReader | None:
        """Returns the cached reader of a file; None if the file is not open."""
        return self._open.get((file.base_id, file.path))

    def _open_file(self, file: DataFile) -> FileReader:
        try:
            return FileReader(*self.resolve(file), self._page_cache, size=file.size_bytes or None, table=self.label)
        except CorruptFile as error:
            raise identity.lost(self.location, error) from error

    def column(self, file: DataFile, listed: ListedColumns, leaf: Leaf, name: str) -> Column | None:
        """Returns the column of a leaf in this file; None if the file has none.

        listed: content of the file
        name: of the table's column, for errors
        """
        what = Listed(listed.fields, listed.columns, file.fields, self._dictionary)
        return open_column(self.open(file), what, leaf, self._chain(file, leaf), name)

    def _dictionary(self, field: Field) -> pa.Array:
        """Returns the values of a dictionary field of version 0.1, which are in the manifest file."""
        return self._dictionaries.get_or_make(field.id, lambda: self._read_dictionary(field))

    def _read_dictionary(self, field: Field) -> pa.Array:
        # few tables have files of version 0.1
        from lance_sql.format.old_files.dictionaries import read_values

        store, path = self.location.store, self.location.manifest_path
        with at(table=self.label, file=path):
            file_size, _ = store.tail(path, 0)
            return read_values(field, file_size, lambda ranges: store.get_ranges(path, ranges))

    def _chain(self, file: DataFile, leaf: Leaf) -> Chain:
        """Returns the conversion of the leaf's column in this file to Arrow."""
        chain = _chain(leaf)
        if chain is None:
            source = BlobSource(self.open(file).bytes.fetch, *self.resolve(file), self.base_store)
            return Chain(leaf.type, leaf.outer, DESCRIPTOR, source.resolve)
        return chain

    def _check_path(self, path: str) -> None:
        with at(table=self.label, file=self.location.manifest_path):
            check_path(path)

    def _resolve(self, base_id: int | None, kind: str, name: str) -> tuple[Store, str]:
        if base_id is None:
            return self.location.store, f"{kind}/{name}"
        with at(table=self.label, file=name):
            store = self.base_store(base_id)
        return store, self.location.base_paths[base_id].folder(kind) + name


def _chain(leaf: Leaf) -> Chain | None:
    """Returns the conversion of a leaf's column to Arrow; None if it depends on the file."""
    if is_json(leaf.field) and pa.types.is_string(leaf.type):
        finish = jsonb.to_text_inside if leaf.outer else jsonb.to_text
        return Chain(leaf.type, leaf.outer, pa.large_binary(), finish, is_json=True)
    return None if leaf.field.is_blob_v2 else Chain(leaf.type, leaf.outer)


def _restore(location: FileLocation, has_stable_row_ids: bool, learning: Learning) -> TableFiles:
    return TableFiles(location, has_stable_row_ids=has_stable_row_ids, learning=learning)
