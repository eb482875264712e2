"""Opening of the column of a leaf in a data file: the one place that distinguishes the families of file versions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.tree import List
from lance_sql.format.file.dictionaries import with_values
from lance_sql.format.file.leaf_column import LeafColumn
from lance_sql.format.file.leaves import Leaf
from lance_sql.format.file.metadata_v0_1 import LegacyMetadata
from lance_sql.format.file.path_columns import PathColumn, StoredColumn
from lance_sql.format.file.read_columns import Column
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.schema import Field


def _no_dictionary(field: Field) -> pa.Array:
    raise CorruptFile(f"there are no values for the dictionary {field.name!r}")


@dataclass(frozen=True, slots=True)
class Listed:
    """The table's entry of a data file.

    fields: the ids of the fields in the file
    columns: their columns, if they have their own; empty for version 0.1, whose files use ids
    ids: `fields` in the order of the file; empty if the file has the same ids
    dictionary: the values of a dictionary field of version 0.1
    """

    fields: frozenset[int]
    columns: Mapping[int, int]
    ids: tuple[int, ...] = ()
    dictionary: Callable[[Field], pa.Array] = _no_dictionary


def open_column(file: FileReader, listed: Listed, leaf: Leaf, chain: Chain, name: str) -> Column | None:
    """Opens the column of a leaf; returns None if the file does not have it.

    chain: the type that the column becomes
    name: of the table's column, for errors
    """
    if leaf.field.id not in listed.fields:
        return None
    with file.at(name):
        if isinstance(file.metadata, LegacyMetadata):
            return _by_ids(file, file.metadata, listed, leaf, chain, name)
        if not listed.columns:
            raise CorruptFile("the table does not record the columns of the file")
        index = listed.columns.get(leaf.field.id)
        if index is None:
            return None
        if file.metadata.has_path_columns:
            return _by_numbers(file, listed.columns, leaf, chain, name)
        return LeafColumn(file, index, chain, name)


def _by_numbers(file: FileReader, columns: Mapping[int, int], leaf: Leaf, chain: Chain, name: str) -> PathColumn:
    """Opens the columns of version 2.0 on the path to a leaf."""

    def column(index: int) -> StoredColumn:
        # the same message has two meanings, which only the type of the field distinguishes
        has_null_key = not leaf.field.logical_type.startswith("dict:")
        return StoredColumn(file, index, file.column(index), has_null_key, name)

    lists = []
    for field in reversed(leaf.parents):
        if field.is_list:
            if field.id not in columns:
                raise CorruptFile(f"the file has the items of {field.name!r}, but not the lists")
            lists.append(column(columns[field.id]))
    index = columns[leaf.field.id]
    stored = column(index)
    characters = None
    if stored.metadata.pages and isinstance(stored.encoding(0), List):
        characters = column(index + 1)
    return PathColumn(tuple(lists), stored, chain, characters)


def _by_ids(
    file: FileReader, metadata: LegacyMetadata, listed: Listed, leaf: Leaf, chain: Chain, name: str
) -> PathColumn:
    """Opens the pages of version 0.1 on the path to a leaf."""
    list_fields = [field for field in leaf.parents if field.is_list]
    if not listed.fields.issuperset(field.id for field in list_fields):
        raise CorruptFile("the file has the items of lists, but not the lists")
    own = metadata.own_ids(listed.ids)
    values = leaf.field._replace(id=own.get(leaf.field.id, leaf.field.id))
    pages = metadata.values(values, is_top_level=not list_fields)
    stored = StoredColumn(file, values.id, pages, False, name)
    lists = []
    for number, field in enumerate(list_fields, 1):
        field = field._replace(id=own.get(field.id, field.id))
        pages = metadata.lists(field, pages, is_top_level=number == len(list_fields))
        lists.append(StoredColumn(file, field.id, pages, False, name))
    if pa.types.is_dictionary(chain.leaf):
        finish = with_values(chain.leaf, lambda: listed.dictionary(leaf.field))
        chain = replace(chain, stored=chain.leaf.index_type, finish=finish)
    statistics = partial(metadata.statistics, values)
    return PathColumn(tuple(reversed(lists)), stored, chain, stored_statistics=statistics)
