"""Columns that the kernels open, all of one file in one call: from the bytes of its metadata to readers of pages.

This takes a tenth of the time of opening each column in Python. Columns that the kernels do not open, and damaged ones,
are opened one by one: see `KernelColumn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file import open_pages
from lance_sql.format.file.kernel_column import KernelColumn
from lance_sql.format.file.metadata_v2 import MetadataV2
from lance_sql.format.layouts.column_type import plain_type
from lance_sql.format.layouts.form import Form, form_of
from lance_sql.store import ByteRange
from lance_sql.values.row_ranges import RowRanges

if TYPE_CHECKING:
    from lance_sql.format.file.column import Column
    from lance_sql.format.file.reader import FileReader

Key: TypeAlias = tuple[int, _kernels.ColumnType]
"""A column of a file: its number, and the type that its pages become."""

_MOST_ROUNDS: Final = 3
"""Bytes are requested at most so often: those of the metadata, then those of the heads of pages."""

_NUM_BYTES: Final = 1024


class PlainColumn(NamedTuple):
    """A column of a file whose values are not nested.

    key: its number in the file, and the type of its values
    type: that the values become
    form: of the arrays of the kernels
    field: of these arrays
    name: of the table's column, for errors
    """

    key: Key
    type: pa.DataType
    form: Form
    field: pa.Field
    name: str

    @classmethod
    def of(cls, number: int, type: pa.DataType, name: str) -> PlainColumn | None:
        """Returns a column of a file; None for a type whose columns the kernels do not open."""
        wanted = plain_type(type)
        if wanted is None:
            return None
        form = form_of(type, _kernels.PageForm.VALUES)
        assert form is not None
        return cls((number, wanted), type, form, pa.field(name, form.type), name)


class MappedColumns:
    """The open columns of a file. Thread-safe.

    num_bytes: approximate memory
    """

    def __init__(self) -> None:
        self._readers: dict[Key, _kernels.ColumnReader] = {}
        self.num_bytes = _NUM_BYTES

    def known(self, columns: Sequence[Key]) -> list[_kernels.ColumnReader | None]:
        """Returns the columns that are open, some perhaps without the wanted pages; None for others."""
        return [self._readers.get(each) for each in columns]

    def open(
        self, file: FileReader, columns: Sequence[Key], rows: RowRanges, *, are_plain: bool
    ) -> list[_kernels.ColumnReader | None]:
        """Opens the pages of columns with some rows. Returns None for columns that the kernels do not open.

        are_plain: only columns whose pages have values without parts
        raises: CorruptFile for a file that is shorter than its metadata claims
        """
        metadata = file.metadata
        assert isinstance(metadata, MetadataV2)
        known = [(*each, self._readers.get(each)) for each in columns]
        parts = [(file.bytes.size - file.bytes.tail.size, file.bytes.tail)]
        for _ in range(_MOST_ROUNDS):
            readers, missing, num_bytes = _kernels.open_columns(
                parts,
                metadata.column_table,
                file.bytes.size,
                file.num_rows,
                known,
                rows,
                are_plain,
            )
            self.num_bytes += num_bytes
            if not missing:
                break
            known = [
                (*each, reader or earlier) for each, reader, (*_, earlier) in zip(columns, readers, known, strict=True)
            ]
            ranges = [ByteRange(start, end) for start, end in zip(missing[::2], missing[1::2], strict=True)]
            parts += zip(missing[::2], file.bytes.fetch(ranges), strict=True)
        for each, reader, (*_, earlier) in zip(columns, readers, known, strict=True):
            if reader is not earlier and reader is not None:
                # if two threads open a column, one of them uses its reader only once
                self._readers.setdefault(each, reader)
        return readers


def is_possible(file: FileReader) -> bool:
    """Whether the kernels open columns of the file: a mapped one of version 2.1 or later. For others, the heads of all
    pages are requested together, and known for later handles; see `column_rows`."""
    is_v2_1 = isinstance(file.metadata, MetadataV2) and file.file_version.path_columns is not True
    return is_v2_1 and file.bytes.is_mapped


class OpeningTogether:
    """Opens columns that are read together, when the first of them is needed: see `open_pages.Opening`."""

    def __init__(self, columns: Iterable[Column], rows: RowRanges, *, is_nested: bool) -> None:
        """
        columns: iterated at most once
        rows: that are read
        is_nested: as for `Column.open`
        """
        self._columns = columns
        self._rows = rows
        self._is_nested = is_nested
        self._by_file: dict[FileReader, list[tuple[KernelColumn, bool]]] | None = None

    def of_file(self, file: FileReader) -> None:
        if not is_possible(file):
            return
        if self._by_file is None:
            self._by_file = {}
            for column in self._columns:
                is_whole = column.is_whole(is_nested=self._is_nested) if isinstance(column, KernelColumn) else None
                if isinstance(column, KernelColumn) and is_whole is not None:
                    self._by_file.setdefault(column.file, []).append((column, is_whole))
        asked = self._by_file.pop(file, ())
        closed = [(column, is_whole) for column, is_whole in asked if not column.is_open(self._rows, is_whole=is_whole)]
        if not closed:
            return
        wanted = [(column.index, column.kernel_type(is_whole=is_whole)) for column, is_whole in closed]
        readers = opened(file, wanted, self._rows, are_plain=False)
        for (column, is_whole), reader in zip(closed, readers, strict=True):
            if reader is not None:
                column.adopt(reader, is_whole=is_whole)


def known(file: FileReader, columns: Sequence[Key]) -> Sequence[_kernels.ColumnReader | None]:
    """Returns the cached columns of a file, some of whose pages may not be open. None for a column that is not cached.

    columns: keys of `PlainColumn`
    """
    kept = file.page_cache.get((MappedColumns, file.bytes))
    return kept.known(columns) if isinstance(kept, MappedColumns) else [None]


def opened(
    file: FileReader, columns: Sequence[Key], rows: RowRanges, *, are_plain: bool
) -> list[_kernels.ColumnReader | None]:
    """Opens the pages of columns with some rows. Returns None for columns that the kernels do not open.

    columns: as for `known`
    raises: CorruptFile for a file that is shorter than its metadata claims
    """
    if not open_pages.are_kept(file):
        return MappedColumns().open(file, columns, rows, are_plain=are_plain)
    key = MappedColumns, file.bytes
    kept = file.page_cache.get(key)
    columns_of_file = kept if isinstance(kept, MappedColumns) else MappedColumns()
    num_bytes = columns_of_file.num_bytes
    readers = columns_of_file.open(file, columns, rows, are_plain=are_plain)
    if kept is None or columns_of_file.num_bytes != num_bytes:
        # with its new size
        file.page_cache.keep(key, columns_of_file, replaces=lambda _: True)
    return readers
