"""The data files of a snapshot that are open, shared by all scans of it."""

import pyarrow as pa

from lance_sql.errors import at
from lance_sql.file.blob_v2 import DESCRIPTOR, BlobSource
from lance_sql.file.columns import Column
from lance_sql.file.dictionaries import read_values
from lance_sql.file.heads import HeadCache
from lance_sql.file.leaves import Leaf
from lance_sql.file.opening import Listed, open_column
from lance_sql.file.reader import DataFile
from lance_sql.layouts.nest import Chain
from lance_sql.schema import Field, jsonb
from lance_sql.schema.types import is_json
from lance_sql.table.cache import Cache
from lance_sql.table.fragments import DataFile as ManifestFile
from lance_sql.table.snapshot import Snapshot

MAX_OPEN_FILES = 4096
"""Footers and column metadata of so many files are kept."""

MAX_DICTIONARIES = 256
"""Values of so many dictionary columns of version 0.1 are kept."""


class OpenFiles:
    """Opens the data files that a snapshot lists, each once. Thread-safe; the least recently used are dropped."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._heads = HeadCache()
        self._open = Cache(MAX_OPEN_FILES)
        self._dictionaries = Cache(MAX_DICTIONARIES)

    def __reduce__(self) -> tuple[type["OpenFiles"], tuple[Snapshot]]:
        return OpenFiles, (self.snapshot,)

    def open(self, file: ManifestFile) -> DataFile:
        """The open file.

        raises: CorruptFile when it is missing or damaged, UnsupportedFeature for other versions of the file format
        """

        def make() -> DataFile:
            store, path = self.snapshot.resolve_data_file(file)
            return DataFile(store, path, self._heads)

        return self._open.get((file.base_id, file.path), make)

    def column(self, file: ManifestFile, leaf: Leaf, name: str) -> Column | None:
        """The column of a leaf in this file; None when the file has none.

        name: of the table's column, for errors
        """
        listed = Listed(frozenset(file.fields), file.columns(), self._dictionary)
        return open_column(self.open(file), listed, leaf, self._chain(file, leaf), name)

    def _dictionary(self, field: Field) -> pa.Array:
        """The values of a dictionary field of version 0.1, which are in the manifest file."""
        store, path = self.snapshot.store, self.snapshot.manifest_path

        def read() -> pa.Array:
            with at(file=path):
                file_size, _ = store.tail(path, 0)
                return read_values(field, file_size, lambda ranges: store.get_ranges(path, ranges))

        return self._dictionaries.get(field.id, read)

    def _chain(self, file: ManifestFile, leaf: Leaf) -> Chain:
        """How the leaf's column in this file becomes Arrow."""
        if is_json(leaf.field):
            return Chain(leaf.type, leaf.outer, pa.large_binary(), jsonb.to_text)
        if leaf.field.is_blob_v2:
            store, path = self.snapshot.resolve_data_file(file)
            source = BlobSource(self.open(file).fetch, store, path, self.snapshot.base_store)
            return Chain(leaf.type, leaf.outer, DESCRIPTOR, source.resolve)
        return Chain(leaf.type, leaf.outer)
