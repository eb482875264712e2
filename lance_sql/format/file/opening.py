"""Opening of the column of a leaf in a data file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lance_sql.errors import CorruptFile
from lance_sql.format.file.column import Column
from lance_sql.format.file.kernel_column import KernelColumn
from lance_sql.format.file.leaves import Leaf
from lance_sql.format.file.metadata_v2 import MetadataV2
from lance_sql.format.file.old_files import old_files
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
        if isinstance(file.metadata, MetadataV2):
            if not listed.columns:
                raise CorruptFile("the table does not record the columns of the file")
            index = listed.columns.get(leaf.field.id)
            if index is None:
                return None
            if not file.metadata.has_path_columns:
                return KernelColumn(file, index, chain, name)
        return old_files().open_column(file, listed, leaf, chain, name)
