"""One fragment opened for reading: its live rows, its columns by field id, its row ids and versions."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.errors import CorruptFile, at
from lance_sql.file.leaves import join, leaves
from lance_sql.file.reader import ColumnRead, DataFile, read_columns
from lance_sql.layouts.nest import Chain
from lance_sql.row_ranges import RowRanges
from lance_sql.scan.open_files import OpenFiles
from lance_sql.schema import Field
from lance_sql.table import row_ids, row_versions
from lance_sql.table.fragments import DataFile as ManifestFile
from lance_sql.table.fragments import Fragment, HiddenColumn
from lance_sql.table.row_ids import RowIds
from lance_sql.table.row_versions import RowVersions


class FragmentRows:
    """The rows of one fragment of a snapshot. Rows are physical offsets: deleted ones count. Thread-safe."""

    def __init__(self, files: OpenFiles, fragment: Fragment) -> None:
        self._files = files
        self._snapshot = files.snapshot
        self._fragment = fragment

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

    def live_rows(self) -> RowRanges:
        """The rows that are not deleted."""
        everything = row_ranges.single(0, self.num_rows)
        if self._fragment.deletion_file is None:
            return everything
        return row_ranges.without(everything, self._snapshot.deletions(self._fragment, self.num_rows).astype(np.int64))

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
        wanted: list[ColumnRead] = []
        places: list[list[tuple[int, int]]] = []
        for field in fields:
            found = []
            for leaf in leaves(field):
                place = self._column_of(leaf.field.id)
                if place is not None:
                    file, column = place
                    chain = self._files.chain(file, leaf)
                    found.append((leaf.field.id, len(wanted)))
                    wanted.append(ColumnRead(self._open(file), column, rows, chain, field.name))
            places.append(found)
        arrays = read_columns(wanted)
        out = []
        for field, found in zip(fields, places, strict=True):
            with at(column=field.name):
                out.append(join(field, {leaf: arrays[at_] for leaf, at_ in found}, num_rows))
        return out

    def pages_of(self, field: Field) -> list[tuple[DataFile, int]]:
        """The (file, column) of every leaf of the field that a data file has."""
        found = []
        for leaf in leaves(field):
            place = self._column_of(leaf.field.id)
            if place is not None:
                found.append((self._open(place[0]), place[1]))
        return found

    def _column_of(self, field_id: int) -> tuple[ManifestFile, int] | None:
        file = self._fragment.file_of(field_id)
        if file is None:
            return None
        column = file.column_of(field_id)
        return None if column is None else (file, column)

    def _open(self, file: ManifestFile) -> DataFile:
        opened = self._files.open(file)
        if opened.num_rows != self.num_rows:
            with at(file=opened.path):
                raise CorruptFile(f"the file has {opened.num_rows} rows, its fragment {self.num_rows}")
        return opened

    def _versions(self, found: RowVersions | HiddenColumn) -> RowVersions:
        return row_versions.from_values(self._hidden_column(found)) if isinstance(found, HiddenColumn) else found

    def _hidden_column(self, source: HiddenColumn) -> npt.NDArray[np.uint64]:
        if self.num_rows == 0:
            return np.empty(0, np.uint64)
        file = self._open(source.file)
        rows = row_ranges.single(0, self.num_rows)
        read = ColumnRead(file, source.column_index, rows, Chain(pa.uint64()), "row lineage")
        (array,) = read_columns([read])
        if array.null_count:
            with at(file=file.path):
                raise CorruptFile("a hidden column of row ids or versions has NULLs")
        values: npt.NDArray[np.uint64] = array.to_numpy()
        return values


def _take(sequence: RowIds | RowVersions, rows: RowRanges) -> npt.NDArray[np.uint64]:
    start, end = int(rows[0, 0]), int(rows[-1, 1])
    values = sequence.expand(start, end)
    return values if len(rows) == 1 else values[row_ranges.expand(rows) - start]
