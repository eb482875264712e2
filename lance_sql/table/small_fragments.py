"""Whole columns of many small fragments, whose files are read together if possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from lance_sql.format.file import small_files
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.file.small_files import SmallFile
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.table.listed_columns import ListedFiles, stored_leaves
from lance_sql.table.open_fragment import OpenFragment


@dataclass(frozen=True, slots=True)
class SmallFragments:
    """Columns read from some fragments.

    starts: the first row of each fragment in the columns; None for a fragment that is still to be read
    columns: of all fragments that were read, concatenated
    """

    starts: Sequence[int | None]
    columns: Sequence[pa.Array]


def read(
    fragments: Sequence[OpenFragment], fields: Sequence[Field], delivered: Mapping[int, pa.DataType]
) -> SmallFragments:
    """Reads one array for each field, of all rows of the fragments that can be read together, including deleted rows.

    delivered: other types for top-level leaf fields, by field id
    """
    starts: list[int | None] = [None] * len(fragments)
    types = tuple([delivered.get(field.id) or arrow_field(field).type for field in fields])
    wanted = tuple(fields)
    chosen: list[int] = []
    files: list[SmallFile] = []
    for number, fragment in enumerate(fragments):
        stored_in = _file_and_columns(wanted, fragment.listed)
        file = fragment.small_file(*stored_in) if stored_in is not None else None
        if file is not None:
            chosen.append(number)
            files.append(file)
    if not files or not small_files.is_possible(types):
        return SmallFragments(starts, ())
    done, columns = small_files.read(files, types)
    start = 0
    for number, file, is_read in zip(chosen, files, done, strict=True):
        if is_read:
            starts[number] = start
            start += file.num_rows
    return SmallFragments(starts, columns)


@lru_cache(maxsize=1024)
def _file_and_columns(fields: tuple[Field, ...], files: ListedFiles) -> tuple[int, tuple[int, ...]] | None:
    """Returns the number of the single file with all fields, and their columns; None for other layouts."""
    numbers = set()
    columns = []
    for field in fields:
        if not is_leaf(field) or is_json(field) or field.is_blob_v2:
            return None
        _, leaf_files = stored_leaves(field, None, files)
        if len(leaf_files) != 1:
            return None
        number = leaf_files[0][1]
        column = files.files[number].columns.get(field.id)
        if column is None:
            return None
        numbers.add(number)
        columns.append(column)
    return (numbers.pop(), tuple(columns)) if len(numbers) == 1 else None
