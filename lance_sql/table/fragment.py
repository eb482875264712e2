"""A fragment of a table version, as values: its data files, its deletion file, and where row ids and versions are.

A fragment is a set of data files that describe the same rows 0 .. physical_rows - 1, each with some of the columns.

Source: messages lance.table.DataFragment, DataFile and DeletionFile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from lance_sql.format import file_versions
from lance_sql.store.checksums import Checksum

MAX_ROWS_PER_FILE: Final = 1024 * 1024
"""A fragment that is written has no more rows, unless it is told otherwise."""

# Ids in DataFile.fields that are no fields of the schema.
TOMBSTONE: Final = -2
ROW_ID_FIELD: Final = -3
CREATED_AT_FIELD: Final = -4
LAST_UPDATED_AT_FIELD: Final = -5


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a fragment.

    path: below `data` or the base path
    fields: field ids; negative ones are no fields of the schema, and unknown ones were dropped from it
    column_indices: parallel to `fields`, -1 for a field without a column of its own; empty for legacy files
    file_version: (major, minor) as the manifest has it; the file's own footer decides
    size_bytes: 0 when unknown
    base_id: the base path that holds the file; None for the table's own folder
    checksum: of a file that was written for the next commit; manifests do not have it, see `checksums`
    """

    path: str
    fields: tuple[int, ...]
    column_indices: tuple[int, ...]
    file_version: tuple[int, int]
    size_bytes: int
    base_id: int | None = None
    checksum: Checksum | None = field(default=None, compare=False, repr=False)

    @property
    def is_legacy(self) -> bool:
        """The manifest takes it for a file of version 0.1."""
        return file_versions.find(self.file_version) is file_versions.V0_1

    def column_of(self, field_id: int) -> int | None:
        """The column that holds a field; None when the file does not list it or gives it no column."""
        return self.columns().get(field_id)

    def columns(self) -> dict[int, int]:
        """Field ids to columns, hidden columns included; empty for legacy files."""
        pairs = zip(reversed(self.fields), reversed(self.column_indices), strict=False)
        return {field_id: column for field_id, column in pairs if column >= 0 and field_id != TOMBSTONE}


class DeletionFileType(Enum):
    """The two forms of a deletion file; the value is the end of its name."""

    ARROW = "arrow"
    BITMAP = "bin"


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """Where the deleted rows of a fragment are listed.

    num_deleted_rows: 0 when unknown; the file decides
    checksum: as of a data file
    """

    file_type: DeletionFileType
    read_version: int
    id: int
    num_deleted_rows: int
    base_id: int | None = None
    checksum: Checksum | None = field(default=None, compare=False, repr=False)

    def name(self, fragment_id: int) -> str:
        """The name of the file in its folder."""
        return f"{fragment_id}-{self.read_version}-{self.id}.{self.file_type.value}"


@dataclass(frozen=True, slots=True)
class ExternalSequence:
    """A sequence stored as the bytes [offset, offset + size) of a file below the table's root."""

    path: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class HiddenColumn:
    """A sequence stored as a uint64 column of a data file."""

    file: DataFile
    column_index: int


# Where the row ids or versions of a fragment are: inline, elsewhere, or nowhere.
SequenceSource = bytes | ExternalSequence | HiddenColumn | None


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment of a table version.

    physical_rows: deleted rows included; 0 when the data files have to be asked
    row_ids, created_at, last_updated_at: where these sequences are; None when there is none
    """

    id: int
    files: tuple[DataFile, ...]
    deletion_file: DeletionFile | None
    physical_rows: int
    row_ids: SequenceSource = None
    created_at: SequenceSource = None
    last_updated_at: SequenceSource = None

    @property
    def without_deletions(self) -> Fragment:
        """The same fragment with all of its rows."""
        if self.deletion_file is None:
            return self
        # what `dataclasses.replace` does takes several times as long, and this is asked for every change of a version
        return Fragment(
            self.id, self.files, None, self.physical_rows, self.row_ids, self.created_at, self.last_updated_at
        )

    def file_of(self, field_id: int) -> DataFile | None:
        """The file that holds a field; None when every row is null there. Of two the first one counts."""
        for file in self.files:
            if field_id in file.fields:
                return file
        return None
