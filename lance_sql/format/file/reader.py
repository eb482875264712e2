"""Opening of a data file: its footer, and on demand the metadata of its columns."""

from lance_sql.errors import at
from lance_sql.format.file.file_bytes import FileBytes
from lance_sql.format.file.footer import LegacyFooter, parse_footer
from lance_sql.format.file.metadata_v2 import ColumnMetadata, MetadataV2
from lance_sql.format.file.old_files import FileMetadata, old_files
from lance_sql.format.file.page_cache import PageCache
from lance_sql.format.file_versions import FileVersion
from lance_sql.store import Store
from lance_sql.store.cached import read_twice


class FileReader:
    """An open data file. Thread-safe.

    page_cache: pages and columns of this file and others; its entries may refer to the bytes of a file, not to its
        reader
    """

    def __init__(
        self,
        store: Store,
        path: str,
        page_cache: PageCache,
        *,
        size: int | None = None,
        table: str | None = None,
        has_short_end: bool = False,
    ) -> None:
        """
        table: with its version, for errors
        size: of the file, as recorded in the table; saves a request for stores that need one
        has_short_end: the first reads are near the end, so that a remote file is opened with a longer tail
        """
        self.page_cache = page_cache
        read_twice(store, path, lambda: self._open(store, path, size, table, has_short_end=has_short_end))

    def _open(self, store: Store, path: str, size: int | None, table: str | None, *, has_short_end: bool) -> None:
        self.bytes = FileBytes(store, path, size=size, table=table, has_short_end=has_short_end)
        with self.at():
            footer = parse_footer(self.bytes.size, self.bytes.tail)
            self.metadata: FileMetadata
            if isinstance(footer, LegacyFooter):
                self.metadata = old_files().metadata(footer, self.bytes.read)
            else:
                identity = None if self.bytes.is_in_memory else self.bytes.identity
                self.metadata = MetadataV2(footer, self.bytes.read, identity)
            self.file_version: FileVersion = footer.file_version

    @property
    def path(self) -> str:
        return self.bytes.path

    @property
    def num_rows(self) -> int:
        return self.metadata.num_rows

    @property
    def num_columns(self) -> int:
        return self.metadata.num_columns

    def column(self, index: int) -> ColumnMetadata:
        """Returns the metadata of column `index` of a file of version 2.x.

        raises: CorruptFile if the file has no such column
        """
        assert isinstance(self.metadata, MetadataV2)
        with self.at():
            return self.metadata.column(index)

    def at(self, column: str | None = None, page: int | None = None) -> at:
        """Returns the context that adds the file to errors."""
        return self.bytes.at(column, page)
