"""Fragments opened for reading: their live rows, their columns by field id, their row ids and versions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, InvalidArgument, at
from lance_sql.format.file import mapped_rows
from lance_sql.format.file.column import Column
from lance_sql.format.file.column_rows import read_columns
from lance_sql.format.file.leaves import is_leaf, join
from lance_sql.format.file.mapped_rows import FileRows
from lance_sql.format.file.metadata_v2 import ColumnMetadata
from lance_sql.format.file.reader import FileReader
from lance_sql.format.file.small_files import MAX_BYTES, SmallFile
from lance_sql.format.file.zone_statistics import KeyKind
from lance_sql.format.schema import Field
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table import deletions, hidden_columns, identity, row_ids, row_versions
from lance_sql.table.files import TableFiles
from lance_sql.table.fragment import DataFile, ExternalSequence, Fragment, HiddenColumn, SequenceSource
from lance_sql.table.listed_columns import FieldsToRead, ListedFiles, PlainColumns, listed, stored_leaves
from lance_sql.table.row_ids import RowIds
from lance_sql.table.row_versions import RowVersions
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U32, U64
from lance_sql.values.row_ranges import RowRanges

_SCATTERED = 8
"""Fraction 1/8: if fewer rows of a range are read, each is looked up separately."""

_FRAGMENT_BYTES: Final = 2048
_SEQUENCES: Final = ("row_id_sequence", "created_at_sequence", "last_updated_at_sequence")

_T = TypeVar("_T")

_NO_ROWS: U32 = np.empty(0, np.uint32)


# A larger row count than writers use is compared with the file before anything is allocated for it.
_MOST_UNCONFIRMED_ROWS: Final = 1 << 22


class OpenFragment:
    """Rows of one fragment, as physical offsets that include deleted rows. Thread-safe; caches read content.

    files: of the version
    fragment: as recorded in the manifest
    unknown: columns with incomplete learned statistics, by field id, as far as scans have requested them; see
        `learning`
    key: identity of the object in caches, which do not keep it alive
    was_read_whole: whether its small file was read at once, without opening columns, or cannot be read so
    """

    def __init__(self, files: TableFiles, fragment: Fragment) -> None:
        self.files = files
        self.fragment = fragment
        self._columns: dict[tuple[Field, pa.DataType | None], _FieldColumns] = {}
        self.unknown: dict[int, UnknownColumn | None] = {}
        self.key = object()
        self.was_read_whole = False

    @property
    def id(self) -> int:
        return self.fragment.id

    @cached_property
    def num_rows(self) -> int:
        """Number of all rows, including deleted ones; from a data file if the manifest does not record it.

        raises: CorruptFile if the manifest records a very large number, and its file another one
        """
        fragment = self.fragment
        rows = fragment.physical_rows
        if 0 < rows <= _MOST_UNCONFIRMED_ROWS:
            return rows
        if not fragment.files:
            with at(table=self.files.label, file=f"fragment {self.id}"):
                if rows > 0:
                    raise CorruptFile(f"{rows} rows, and no data file")
            return rows
        opened = self.files.open(fragment.files[0])
        if rows and opened.num_rows != rows:
            with opened.at():
                raise CorruptFile(f"the file has {opened.num_rows} rows, its fragment {rows}")
        return opened.num_rows

    @property
    def num_bytes(self) -> int:
        """Approximate memory of the cached deletions, row ids and versions."""
        cached = [self.__dict__.get(name) for name in _SEQUENCES]
        sequences = [each for each in cached if isinstance(each, RowIds | RowVersions)]
        deleted = self.__dict__.get("deletions", _NO_ROWS)
        return _FRAGMENT_BYTES + int(deleted.nbytes) + sum(each.num_bytes for each in sequences)

    def check_num_rows(self) -> None:
        """Makes sure that the row count matches the manifest, which reading a column checks as well.

        raises: CorruptFile
        """
        if self.fragment.files:
            self._open(self.fragment.files[0])

    @cached_property
    def listed(self) -> ListedFiles:
        return listed(self.fragment.files)

    @cached_property
    def deletions(self) -> U32:
        """Offsets of the deleted rows, ascending, without duplicates; read-only.

        raises: CorruptFile
        """
        return self._read_deletions()

    def load_deletions(self) -> None:
        """Reads `deletions` ahead. Several fragments can do so concurrently, unlike under the property's lock.

        raises: as `deletions`
        """
        if "deletions" not in self.__dict__:
            self.__dict__.setdefault("deletions", self._read_deletions())

    def _read_deletions(self) -> U32:
        file = self.fragment.deletion_file
        if file is None:
            return _NO_ROWS
        store, path = self.files.resolve_deletions(file, self.id)
        try:
            with at(table=self.files.label):
                return deletions.read(store, path, file.file_type, self.num_rows)
        except CorruptFile as error:
            raise identity.lost(self.files.location, error) from error

    def live_rows(self) -> RowRanges:
        """Returns the rows that are not deleted."""
        return self.live(row_ranges.single(0, self.num_rows))

    def live(self, rows: RowRanges) -> RowRanges:
        """Returns those of `rows` that are not deleted."""
        return row_ranges.without(rows, self.deletions.astype(np.int64)) if len(self.deletions) else rows

    @cached_property
    def row_id_sequence(self) -> RowIds:
        """Row ids: stable ones, or the addresses on a table without them.

        raises: CorruptFile
        """
        if not self.files.has_stable_row_ids:
            return row_ids.addresses(self.id, self.num_rows)
        source = self.fragment.row_ids
        if source is None:
            raise CorruptFile(f"{self.files.label}: fragment {self.id} has no row ids")
        num_rows = self.num_rows
        return self._sequence("row ids", source, lambda data: row_ids.parse(data, num_rows), row_ids.from_values)

    @cached_property
    def created_at_sequence(self) -> RowVersions:
        """Version that inserted each row, as runs.

        raises: CorruptFile; InvalidArgument on a table without stable row ids
        """
        return self._versions("created at", self.fragment.created_at)

    @cached_property
    def last_updated_at_sequence(self) -> RowVersions:
        """Version that last changed each row, as runs.

        raises: as `created_at_sequence`
        """
        return self._versions("last updated at", self.fragment.last_updated_at)

    def row_ids(self, rows: RowRanges) -> U64:
        """Returns the row ids of `rows`."""
        return _take(self.row_id_sequence, rows)

    def created_at(self, rows: RowRanges) -> U64:
        """Returns the version that inserted each of `rows`."""
        return _take(self.created_at_sequence, rows)

    def last_updated_at(self, rows: RowRanges) -> U64:
        """Returns the version that last changed each of `rows`."""
        return _take(self.last_updated_at_sequence, rows)

    def read(self, wanted: FieldsToRead, rows: RowRanges) -> list[pa.Array]:
        """Reads one array for each field, for `rows` (at least one); NULL if no data file has the field.

        raises: CorruptFile, UnsupportedFeature
        """
        rows = np.ascontiguousarray(rows)
        arrays: list[pa.Array | None] = [None] * len(wanted.fields)
        for number, plain in wanted.plain_columns(self.listed).items():
            read = mapped_rows.read([FileRows(self._open(self.fragment.files[number]), plain.columns, rows)])
            if read is not None:
                for position, array in zip(plain.positions, plain.finished(read), strict=True):
                    arrays[position] = array
        others = [position for position, array in enumerate(arrays) if array is None]
        if others:
            read = self._read_others([wanted.fields[position] for position in others], rows, wanted.delivered)
            for position, array in zip(others, read, strict=True):
                arrays[position] = array
        return arrays

    def in_one_file(self, wanted: FieldsToRead, rows: RowRanges) -> tuple[FileRows, PlainColumns] | None:
        """Returns `rows` of the file that has all fields, none of them nested; None without such a file.

        raises: CorruptFile, UnsupportedFeature
        """
        found = self._plain_file(wanted)
        if found is None:
            return None
        file, plain = found
        return FileRows(self._open(file), plain.columns, np.ascontiguousarray(rows)), plain

    def _plain_file(self, wanted: FieldsToRead) -> tuple[DataFile, PlainColumns] | None:
        """Returns the file that has all fields, none of them nested; None without such a file."""
        files = wanted.plain_columns(self.listed)
        if len(files) != 1:
            return None
        ((number, plain),) = files.items()
        return (self.fragment.files[number], plain) if len(plain.positions) == len(wanted.fields) else None

    def _read_others(
        self, fields: Sequence[Field], rows: RowRanges, delivered: Mapping[int, pa.DataType]
    ) -> list[pa.Array]:
        num_rows = row_ranges.count(rows)
        stored = [self._stored(field, delivered.get(field.id)) for field in fields]
        arrays = read_columns([column for each in stored for column in each.columns.values()], rows)
        out = []
        end = 0
        for field, each in zip(fields, stored, strict=True):
            columns = each.columns
            start, end = end, end + len(columns)
            if end - start == 1 and is_leaf(each.field):
                out.append(arrays[start])
            elif not columns and field.id in delivered:
                out.append(pa.nulls(num_rows, delivered[field.id]))
            else:
                with at(table=self.files.label, column=field.name):
                    out.append(join(each.field, dict(zip(columns, arrays[start:end], strict=True)), num_rows))
        return out

    @property
    def is_unread(self) -> bool:
        """Whether no column of it has been read."""
        return not self._columns and not self.was_read_whole

    def small_file(self, wanted: FieldsToRead) -> tuple[SmallFile, PlainColumns] | None:
        """Returns the file that has all fields, none of them nested, to be read whole; None without one, and for a
        large or remote one.

        raises: CorruptFile for a path outside the table
        """
        found = self._plain_file(wanted)
        if found is None:
            return None
        file, plain = found
        num_rows = self.fragment.physical_rows
        if not 0 < file.size_bytes <= MAX_BYTES or num_rows == 0:
            return None
        store, path = self.files.resolve(file)
        local = store.local_path(path)
        return (SmallFile(local, num_rows, plain.columns), plain) if local is not None else None

    def columns_of(self, field: Field, delivered: pa.DataType | None = None) -> Collection[Column]:
        """Returns the columns of the leaves of a field; leaves that no file has are left out.

        delivered: another type for a top-level leaf field
        """
        return self._stored(field, delivered).columns.values()

    def stored(self, field: Field) -> tuple[FileReader, ColumnMetadata] | None:
        """Returns the file with the column of a field, and its metadata; None if no file has one.

        raises: CorruptFile, UnsupportedFeature
        """
        number = self.listed.file_number(field.id)
        index = None if number is None else self.listed.files[number].columns.get(field.id)
        if number is None or index is None:
            return None
        opened = self._open(self.fragment.files[number])
        return opened, opened.column(index)

    def _stored(self, field: Field, delivered: pa.DataType | None) -> _FieldColumns:
        field_columns = self._columns.get((field, delivered))
        if field_columns is None:
            files = self.fragment.files
            stored, leaf_files = stored_leaves(field, delivered, self.listed)
            columns = {}
            for leaf, number in leaf_files:
                self._open(files[number])
                column = self.files.column(files[number], self.listed.files[number], leaf, field.name)
                if column is not None:
                    columns[leaf.field.id] = column
            field_columns = self._columns[field, delivered] = _FieldColumns(stored, columns)
        return field_columns

    def _open(self, file: DataFile) -> FileReader:
        opened = self.files.open(file)
        if opened.num_rows != self.num_rows:
            with opened.at():
                raise CorruptFile(f"the file has {opened.num_rows} rows, its fragment {self.num_rows}")
        return opened

    def _versions(self, kind: str, source: SequenceSource) -> RowVersions:
        check_row_history(self.files)
        num_rows = self.num_rows
        if source is None:
            return row_versions.constant(num_rows)
        return self._sequence(kind, source, lambda data: row_versions.parse(data, num_rows), row_versions.from_values)

    def _sequence(
        self,
        kind: str,
        source: bytes | ExternalSequence | HiddenColumn,
        parse: Callable[[bytes], _T],
        from_values: Callable[[U64], _T],
    ) -> _T:
        if isinstance(source, HiddenColumn):
            opened = self.files.open(source.file)
            return from_values(hidden_columns.read(opened, source.column_index, self.num_rows))
        with at(table=self.files.label, file=f"fragment {self.id}, {kind}"):
            return parse(source if isinstance(source, bytes) else self.files.external(source, self.num_rows))


@dataclass(frozen=True, slots=True)
class UnknownColumn:
    """A column with incomplete learned statistics.

    kind: kind of the keys of its values
    """

    column: Column
    kind: KeyKind
    bounds: _kernels.ZoneBounds


@dataclass(frozen=True, slots=True)
class _FieldColumns:
    """Columns of a field.

    field: as stored in the files
    columns: by the leaf's field id
    """

    field: Field
    columns: Mapping[int, Column]


def check_row_history(files: TableFiles) -> None:
    """Makes sure that the table records row lineage.

    raises: InvalidArgument with a recommended alternative
    """
    if not files.has_stable_row_ids:
        raise InvalidArgument(
            f"{files.label} was created without stable row ids, so row history is not recorded: enable stable row ids"
            " from now on with maintenance.enable_stable_row_ids(), or compare versions by a key column"
        )


def _take(sequence: RowIds | RowVersions, rows: RowRanges) -> U64:
    start, end = row_ranges.bounds(rows)
    if row_ranges.count(rows) * _SCATTERED < end - start:
        return sequence.take(row_ranges.expand(rows))
    values = sequence.expand(start, end)
    return values if len(rows) == 1 else values[row_ranges.expand(rows) - start]
