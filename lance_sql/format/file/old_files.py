"""What files 0.1 and 2.0 need that others do not: `format/old_files/`, which is imported with the first such file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from lance_sql.format.file.footer import LegacyFooter
from lance_sql.format.file.pages_to_write import ColumnsWriter
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import PageLayout
from lance_sql.format.schema import Field, Schema
from lance_sql.runtime import ports
from lance_sql.store import ByteRange

if TYPE_CHECKING:
    from lance_sql.format.file.column import Column
    from lance_sql.format.file.leaves import Leaf
    from lance_sql.format.file.opening import Listed
    from lance_sql.format.file.reader import FileReader


class FileMetadata(Protocol):
    """The metadata of a file of any version."""

    @property
    def num_rows(self) -> int: ...

    @property
    def num_columns(self) -> int: ...

    @property
    def schema(self) -> Schema:
        """The file's own schema; a table's files are read by the table's schema.

        raises: ValueError for bytes that are not a message; CorruptFile
        """
        ...


class OldFiles(Protocol):
    """Reads and writes files in which lists and structs have columns of their own."""

    def metadata(
        self, footer: LegacyFooter, read: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]
    ) -> FileMetadata:
        """Returns the metadata of a file 0.1.

        read: reads ranges of the file
        raises: CorruptFile
        """
        ...

    def layout(self, message: bytes) -> PageLayout:
        """Parses the layout of a page without levels.

        raises: InvalidDataError for bytes that are not a message; CorruptFile, UnsupportedFeature
        """
        ...

    def open_column(self, file: FileReader, listed: Listed, leaf: Leaf, chain: Chain, name: str) -> Column:
        """Opens the column of a leaf that the file has; arguments as for `opening.open_column`.

        raises: CorruptFile
        """
        ...

    def columns_writer(
        self, field: Field, first_column: int, page_bytes: int, put: Callable[[pa.Buffer], int]
    ) -> ColumnsWriter:
        """Returns the writer of the columns of a top-level field of a file 2.0.

        first_column: of the field
        page_bytes: of a full page
        put: writes bytes of blobs, and returns their position
        """
        ...


def old_files() -> OldFiles:
    """Returns the implementation."""
    implementation: OldFiles = ports.OLD_FILES.load()()
    return implementation
