"""From a leaf of a field to its column in a data file: the one place that tells the families of file versions apart."""

from collections.abc import Mapping

from lance_sql.encodings.tree import List
from lance_sql.errors import CorruptFile, at
from lance_sql.file.columns import Column, LeafColumn
from lance_sql.file.leaves import Leaf
from lance_sql.file.path_columns import PathColumn, StoredColumn
from lance_sql.file.reader import DataFile
from lance_sql.layouts.nest import Chain
from lance_sql.schema import Field


def open_column(file: DataFile, columns: Mapping[int, int], leaf: Leaf, chain: Chain, name: str) -> Column | None:
    """The column of a leaf; None when the file does not have it.

    columns: field ids to columns, as the table lists them for this file
    chain: what the column becomes
    name: of the table's column, for errors
    """
    index = columns.get(leaf.field.id)
    if index is None:
        return None
    with at(file=file.path, column=name):
        if not file.metadata.has_path_columns:
            return LeafColumn(file, index, chain, name)
        lists = []
        for field in reversed(leaf.parents):
            if field.is_list:
                if field.id not in columns:
                    raise CorruptFile(f"the file has a column for the items of {field.name!r}, but none for the lists")
                lists.append(_stored(file, columns[field.id], field, name))
        stored = _stored(file, index, leaf.field, name)
        characters = None
        if stored.metadata.pages and isinstance(stored.encoding(0), List):
            characters = _stored(file, index + 1, leaf.field, name)
        return PathColumn(tuple(lists), stored, chain, characters)


def _stored(file: DataFile, index: int, field: Field, name: str) -> StoredColumn:
    has_null_key = not field.logical_type.startswith("dict:")
    return StoredColumn(file, index, file.column(index), has_null_key, name)
