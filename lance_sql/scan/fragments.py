"""One fragment opened for reading: its live rows, its columns by field id, its row ids and versions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.file.columns import Column, read_columns
from lance_sql.file.leaves import as_stored, is_leaf, join, leaves
from lance_sql.file.reader import DataFile
from lance_sql.row_ranges import RowRanges
from lance_sql.scan.open_files import OpenFiles
from lance_sql.schema import Field
from lance_sql.table import hidden_columns, row_ids, row_versions
from lance_sql.table.fragments import DataFile as ManifestFile
from lance_sql.table.fragments import Fragment, HiddenColumn
from lance_sql.table.row_ids import RowIds
from lance_sql.table.row_versions import RowVersions


class FragmentRows:
    """The rows of one fragment of a snapshot. Rows are physical offsets: deleted ones count. Thread-safe."""

    def __init__(
        self, files: OpenFiles, fragment: Fragment, delivered: Mapping[int, pa.DataType] | None = None
    ) -> None:
        """
        delivered: other types for top-level leaf fields, by field id; see `compact_types`
        """
        self._files = files
        self._delivered = delivered or {}
        self._snapshot = files.snapshot
        self._fragment = fragment
        self._columns: dict[int, _FieldColumns] = {}

    @property
    def fragment_id(self) -> int:
        return self._fragment.id

    @cached_property
    def num_rows(self) -> int:
        """All rows, deleted ones included; from a data file where the manifest does not know."""
        fragment = self._fragment
        if fragment.physical_rows or not fragment.files:
            return fragment.physical_rows
        return self._files.open(fragment.files[0]).num_rows

    def check_num_rows(self) -> None:
        """Makes sure that there are as many rows as the manifest says, which reading a column does as well.

        raises: CorruptFile
        """
        if self._fragment.files:
            self._open(self._fragment.files[0])

    def live_rows(self) -> RowRanges:
        """The rows that are not deleted."""
        everything = row_ranges.single(0, self.num_rows)
        if self._fragment.deletion_file is None:
            return everything
        return row_ranges.without(everything, self._snapshot.deletions(self._fragment, self.num_rows).astype(np.int64))

    @property
    def has_stable_row_ids(self) -> bool:
        """Whether row ids and row versions are recorded."""
        return self._snapshot.manifest.has_stable_row_ids

    def row_id_sequence(self) -> RowIds:
        """The row ids: stable ones, or the addresses on a table without them."""
        found = self._snapshot.row_ids(self._fragment, self.num_rows)
        return row_ids.from_values(self._hidden_column(found)) if isinstance(found, HiddenColumn) else found

    def row_ids(self, rows: RowRanges) -> npt.NDArray[np.uint64]:
        """The row ids of `rows`."""
        return _take(self.row_id_sequence(), rows)

    def created_at_sequence(self) -> RowVersions:
        """The version that inserted each row, as runs."""
        return self._versions(self._snapshot.created_at(self._fragment, self.num_rows))

    def last_updated_at_sequence(self) -> RowVersions:
        """The last version that changed each row, as runs."""
        return self._versions(self._snapshot.last_updated_at(self._fragment, self.num_rows))

    def created_at(self, rows: RowRanges) -> npt.NDArray[np.uint64]:
        """The version that inserted each of `rows`."""
        return _take(self.created_at_sequence(), rows)

    def last_updated_at(self, rows: RowRanges) -> npt.NDArray[np.uint64]:
        """The last version that changed each of `rows`."""
        return _take(self.last_updated_at_sequence(), rows)

    def read(self, fields: Sequence[Field], rows: RowRanges) -> list[pa.Array]:
        """One array for each field, for `rows` (at least one); NULL where no data file has it.

        raises: CorruptFile, UnsupportedFeature
        """
        num_rows = row_ranges.count(rows)
        stored = [self._stored(field) for field in fields]
        arrays = read_columns([column for each in stored for column in each.columns.values()], rows)
        out = []
        end = 0
        for each in stored:
            field, columns = each.field, each.columns
            start, end = end, end + len(columns)
            if end - start == 1 and is_leaf(field):
                out.append(arrays[start])
            elif not columns and field.id in self._delivered:
                out.append(pa.nulls(num_rows, self._delivered[field.id]))
            else:
                with at(column=field.name):
                    out.append(join(field, dict(zip(columns, arrays[start:end], strict=True)), num_rows))
        return out

    def columns_of(self, field: Field) -> Collection[Column]:
        """The columns that hold the leaves of a field; leaves that no file has are left out."""
        return self._stored(field).columns.values()

    @property
    def may_have_statistics(self) -> bool:
        """Whether a data file may say something about its pages, judging by the manifest."""
        return any(not file.column_indices for file in self._fragment.files)

    def _stored(self, field: Field) -> "_FieldColumns":
        found = self._columns.get(id(field))
        if found is None:
            stored = as_stored(field, self._has_column)
            columns = {}
            for leaf in leaves(stored):
                file = self._fragment.file_of(leaf.field.id)
                if file is not None:
                    self._open(file)
                    leaf = replace(leaf, type=self._delivered.get(leaf.field.id, leaf.type))
                    column = self._files.column(file, leaf, field.name)
                    if column is not None:
                        columns[leaf.field.id] = column
            found = self._columns[id(field)] = _FieldColumns(field, stored, columns)
        return found

    def _has_column(self, field_id: int) -> bool:
        file = self._fragment.file_of(field_id)
        return file is not None and (not file.column_indices or file.column_of(field_id) is not None)

    def _open(self, file: ManifestFile) -> DataFile:
        opened = self._files.open(file)
        if opened.num_rows != self.num_rows:
            with at(file=opened.path):
                raise CorruptFile(f"the file has {opened.num_rows} rows, its fragment {self.num_rows}")
        return opened

    def _versions(self, found: RowVersions | HiddenColumn) -> RowVersions:
        return row_versions.from_values(self._hidden_column(found)) if isinstance(found, HiddenColumn) else found

    def _hidden_column(self, source: HiddenColumn) -> npt.NDArray[np.uint64]:
        return hidden_columns.read(self._files.open(source.file), source.column_index, self.num_rows)


@dataclass(frozen=True, slots=True)
class _FieldColumns:
    """The columns of a field.

    asked: the field that was asked for, kept so that its identity stays its own
    field: as the files store it
    columns: by the leaf's field id
    """

    asked: Field
    field: Field
    columns: Mapping[int, Column]


def _take(sequence: RowIds | RowVersions, rows: RowRanges) -> npt.NDArray[np.uint64]:
    start, end = int(rows[0, 0]), int(rows[-1, 1])
    values = sequence.expand(start, end)
    return values if len(rows) == 1 else values[row_ranges.expand(rows) - start]
