"""Columns of the data files of a fragment, as listed in the manifest.

Most fragments of a table list the same columns, so the file of each leaf of a field is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa

from lance_sql.format.file.leaves import Leaf, as_stored, leaves
from lance_sql.format.schema import Field, arrow_field
from lance_sql.table.fragment import DataFile


@dataclass(frozen=True, slots=True, eq=False)
class ListedColumns:
    """Columns of a data file.

    fields: ids
    columns: columns of fields with their own; empty for version 0.1, whose files use ids
    is_by_id: the file lists no columns at all, as in version 0.1
    """

    fields: frozenset[int]
    columns: Mapping[int, int]
    is_by_id: bool

    def has_column(self, field_id: int) -> bool:
        """Whether a field of the file has its own column."""
        return self.is_by_id or field_id in self.columns


@dataclass(frozen=True, slots=True, eq=False)
class ListedFiles:
    """Columns of each file of a fragment. Fragments with the same lists share one of these."""

    files: tuple[ListedColumns, ...]

    def file_number(self, field_id: int) -> int | None:
        """Returns the number of the first file with a field; None if all values are NULL."""
        return next((number for number, file in enumerate(self.files) if field_id in file.fields), None)

    def has_column(self, field_id: int) -> bool:
        """Whether a file has a column for a field."""
        number = self.file_number(field_id)
        return number is not None and self.files[number].has_column(field_id)


def listed(files: Sequence[DataFile]) -> ListedFiles:
    """Returns the columns of the files of a fragment."""
    return _listed_files(tuple([(file.fields, file.column_indices) for file in files]))


@lru_cache(maxsize=16 * 1024)
def stored_leaves(
    field: Field, delivered: pa.DataType | None, files: ListedFiles
) -> tuple[Field, tuple[tuple[Leaf, int], ...]]:
    """Returns a field as stored, and its leaves with the number of the file of each; missing leaves are left out.

    delivered: another type for a top-level leaf field
    """
    if not field.children:
        number = files.file_number(field.id)
        leaf = Leaf(field, delivered or arrow_field(field).type)
        return field, () if number is None else ((leaf, number),)
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
