"""Columns of the data files of a fragment, as listed in the manifest.

Most fragments of a table list the same columns, so the file of each leaf of a field is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.file.leaves import Leaf, as_stored, is_leaf, leaves
from lance_sql.format.file.mapped_columns import PlainColumn
from lance_sql.format.schema import Field, arrow_field, jsonb
from lance_sql.format.schema.types import is_json, plain_type
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.fragment import DataFile

_DOCUMENT: Final = pa.large_binary()

_MOST_LISTS: Final = 16
"""Different lists of columns that a set of fields is found in at once."""


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


@dataclass(frozen=True, eq=False)
class ListedFiles:
    """Columns of each file of a fragment. Fragments with the same lists share one of these."""

    files: tuple[ListedColumns, ...]

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        files = [*enumerate(self.files)]
        return {field_id: number for number, file in reversed(files) for field_id in file.fields}

    def file_number(self, field_id: int) -> int | None:
        """Returns the number of the first file with a field; None if all values are NULL."""
        return self._numbers.get(field_id)

    def has_column(self, field_id: int) -> bool:
        number = self.file_number(field_id)
        return number is not None and self.files[number].has_column(field_id)


class PlainColumns(NamedTuple):
    """Columns of a file that the kernels open.

    positions: of their fields among those that are read, ascending
    texts: types of the texts that their documents become; None for other columns
    """

    positions: list[int]
    columns: list[PlainColumn]
    texts: list[pa.DataType | None]

    def finished(self, arrays: Sequence[pa.Array]) -> list[pa.Array | None]:
        """Returns the values in the types that are delivered. None for an array of documents that cannot be read:
        others say where."""
        return [
            array if texts is None else _texts(array, texts) for array, texts in zip(arrays, self.texts, strict=True)
        ]


class FieldsToRead:
    """Fields that are read together.

    delivered: other types for top-level leaf fields, by field id
    """

    def __init__(self, fields: Sequence[Field], delivered: Mapping[int, pa.DataType] | None = None) -> None:
        self.fields = fields
        self.delivered = delivered or {}
        self._plain: dict[ListedFiles, Mapping[int, PlainColumns]] = {}

    @property
    def without_dictionaries(self) -> FieldsToRead:
        """The same fields, of which none becomes a dictionary, so that values of several fragments can be joined."""
        return self if self._in_plain_types is None else self._in_plain_types

    @cached_property
    def _in_plain_types(self) -> FieldsToRead | None:
        """None if no field becomes a dictionary: a reference to itself would be a cycle."""
        plain = {id: type for id, type in self.delivered.items() if not pa.types.is_dictionary(type)}
        return None if len(plain) == len(self.delivered) else FieldsToRead(self.fields, plain)

    def plain_columns(self, files: ListedFiles) -> Mapping[int, PlainColumns]:
        """Returns the columns of the fields without nesting, by the number of their file; found once for all fragments
        that list the same."""
        found = self._plain.get(files)
        if found is None:
            if len(self._plain) >= _MOST_LISTS:
                self._plain.clear()
            found = self._plain[files] = self._find_plain(files)
        return found

    def _find_plain(self, files: ListedFiles) -> Mapping[int, PlainColumns]:
        by_file: dict[int, PlainColumns] = {}
        for position, field in enumerate(self.fields):
            if plain_type(field) is None and (not is_leaf(field) or field.is_blob_v2):
                continue
            number = files.file_number(field.id)
            index = files.files[number].columns.get(field.id) if number is not None else None
            if number is not None and index is not None:
                type = self.delivered.get(field.id) or arrow_field(field).type
                texts = type if is_json(field) and type != _DOCUMENT else None
                column = PlainColumn.of(index, type if texts is None else _DOCUMENT, field.name)
                if column is not None:
                    found = by_file.setdefault(number, PlainColumns([], [], []))
                    found.positions.append(position)
                    found.columns.append(column)
                    found.texts.append(texts)
        return by_file


def _texts(documents: pa.Array, type: pa.DataType) -> pa.Array | None:
    try:
        return jsonb.to_text(documents).cast(type)
    except (CorruptFile, UnsupportedFeature):
        return None


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
