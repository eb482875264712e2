"""Which columns the data files of a fragment have, by what the manifest lists.

Most fragments of a table list the same, so what follows from it is found once: which file holds each leaf of a field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from lance_sql.format.file.leaves import Leaf, as_stored, leaves
from lance_sql.format.schema import Field
from lance_sql.table.fragment import DataFile


@dataclass(frozen=True, slots=True, eq=False)
class ListedColumns:
    """What a data file has.

    fields: ids
    columns: the columns of fields that have one of their own; empty for version 0.1, whose files go by ids
    is_by_id: the file lists no columns at all, as those of version 0.1
    """

    fields: frozenset[int]
    columns: Mapping[int, int]
    is_by_id: bool

    def has_column(self, field_id: int) -> bool:
        """Whether a field that the file has is stored by itself."""
        return self.is_by_id or field_id in self.columns


@dataclass(frozen=True, slots=True, eq=False)
class ListedFiles:
    """What each of a fragment's files has. Fragments that list the same share one of these."""

    files: tuple[ListedColumns, ...]

    def file_number(self, field_id: int) -> int | None:
        """The number of the file that holds a field; of two the first one. None when every row is NULL there."""
        return next((number for number, file in enumerate(self.files) if field_id in file.fields), None)

    def has_column(self, field_id: int) -> bool:
        """Whether a file has a column for a field."""
        number = self.file_number(field_id)
        return number is not None and self.files[number].has_column(field_id)


def listed(files: Sequence[DataFile]) -> ListedFiles:
    """What the files of a fragment have."""
    return _listed_files(tuple([(file.fields, file.column_indices) for file in files]))


@lru_cache(maxsize=16 * 1024)
def stored_leaves(
    field: Field, delivered: pa.DataType | None, files: ListedFiles
) -> tuple[Field, tuple[tuple[Leaf, int], ...]]:
    """A field as the files store it, and its leaves with the number of the file that holds each; others are left out.

    delivered: another type for a top-level leaf field
    """
    stored = as_stored(field, files.has_column)
    leaf_files = []
    for leaf in leaves(stored):
        number = files.file_number(leaf.field.id)
        if number is not None:
            leaf_files.append((replace(leaf, type=delivered) if delivered is not None else leaf, number))
    return stored, tuple(leaf_files)


@lru_cache(maxsize=256)
def _listed_files(files: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]) -> ListedFiles:
    return ListedFiles(tuple([_listed_columns(*file) for file in files]))


@lru_cache(maxsize=256)
def _listed_columns(fields: tuple[int, ...], column_indices: tuple[int, ...]) -> ListedColumns:
    columns = DataFile("", fields, column_indices, (2, 0), 0).columns()
    return ListedColumns(frozenset(fields), columns, is_by_id=not column_indices)
