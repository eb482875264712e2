"""Opening of files 0.1 and 2.0, their columns, and those of the first files 2.1: see `format.file.old_files`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.file.footer import LegacyFooter
from lance_sql.format.file.leaves import Leaf
from lance_sql.format.file.opening import Listed
from lance_sql.format.file.reader import FileReader
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.old_files.dictionaries import with_values
from lance_sql.format.old_files.metadata_v0_1 import LegacyMetadata
from lance_sql.format.old_files.path_column import PathColumn, StoredColumn
from lance_sql.format.old_files.path_writer import PathWriter
from lance_sql.format.old_files.tree import ArrayTree, List
from lance_sql.format.old_files.wire import tree_from_wire
from lance_sql.format.schema import Field
from lance_sql.store import ByteRange


class Opening:
    """Implements `OldFiles`."""

    def metadata(
        self, footer: LegacyFooter, read: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]
    ) -> LegacyMetadata:
        return LegacyMetadata(footer, read)

    def layout(self, message: bytes) -> ArrayTree:
        return tree_from_wire(message)

    def open_column(self, file: FileReader, listed: Listed, leaf: Leaf, chain: Chain, name: str) -> PathColumn:
        if isinstance(file.metadata, LegacyMetadata):
            return _by_ids(file, file.metadata, listed, leaf, chain, name)
        return _by_numbers(file, listed.columns, leaf, chain, name)

    def columns_writer(
        self, field: Field, first_column: int, page_bytes: int, put: Callable[[pa.Buffer], int]
    ) -> PathWriter:
        return PathWriter(field, first_column, page_bytes, put)


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
