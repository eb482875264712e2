"""Fragments of a table version as values: data files, deletion file, sources of row ids and row versions.

A fragment is a set of data files with the same rows 0 .. physical_rows - 1, each with some of the columns.

Source: messages lance.table.DataFragment, DataFile and DeletionFile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from lance_sql.format import file_versions
from lance_sql.store.checksums import Checksum

MAX_ROWS_PER_FILE: Final = 1024 * 1024
"""Default limit of rows of a written fragment."""

# Special ids in DataFile.fields, which are not in the schema.
TOMBSTONE: Final = -2
ROW_ID_FIELD: Final = -3
CREATED_AT_FIELD: Final = -4
LAST_UPDATED_AT_FIELD: Final = -5


@dataclass(frozen=True, slots=True)
class DataFile:
    """One data file of a fragment.

    path: below `data` or the base path
    fields: field ids; negative ones are special, and unknown ones were dropped from the schema
    column_indices: parallel to `fields`, -1 for a field without its own column; empty for legacy files
    file_version: (major, minor) from the manifest; the file's own footer is authoritative
    size_bytes: 0 when unknown
    base_id: the base path that holds the file; None for the table's own folder
    checksum: of a file written for the next commit; not stored in manifests, see `checksums`
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
        """Whether the manifest records version 0.1 for the file."""
        return file_versions.find(self.file_version) is file_versions.V0_1

    def column_of(self, field_id: int) -> int | None:
        """Returns the column of a field; None if the file does not list it or gives it no column."""
        return self.columns().get(field_id)

    def columns(self) -> dict[int, int]:
        """Maps field ids to columns, including hidden columns; empty for legacy files."""
        pairs = zip(reversed(self.fields), reversed(self.column_indices), strict=False)
        return {field_id: column for field_id, column in pairs if column >= 0 and field_id != TOMBSTONE}


class DeletionFileType(Enum):
    """The two forms of a deletion file; the value is the suffix of its name."""

    ARROW = "arrow"
    BITMAP = "bin"


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """Reference to the file with the deleted rows of a fragment.

    num_deleted_rows: 0 when unknown; the file is authoritative
    checksum: see `DataFile`
    """

    file_type: DeletionFileType
    read_version: int
    id: int
    num_deleted_rows: int
    base_id: int | None = None
    checksum: Checksum | None = field(default=None, compare=False, repr=False)

    def name(self, fragment_id: int) -> str:
        """Returns the name of the file in its folder."""
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


# Row ids or versions of a fragment: inline, in a file, in a hidden column, or missing.
SequenceSource = bytes | ExternalSequence | HiddenColumn | None


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment of a table version.

    physical_rows: including deleted rows; 0 if only the data files record it
    row_ids, created_at, last_updated_at: sources of these sequences; None if missing
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
        if self.deletion_file is None:
            return self
        # `dataclasses.replace` takes several times as long, and this runs for every change of a version
        return Fragment(
            self.id, self.files, None, self.physical_rows, self.row_ids, self.created_at, self.last_updated_at
        )

    def file_of(self, field_id: int) -> DataFile | None:
        """Returns the file with a field, the first one of several; None if all values are NULL."""
        for file in self.files:
            if field_id in file.fields:
                return file
        return None
