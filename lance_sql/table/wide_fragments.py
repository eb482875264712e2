"""Many fields of one fragment, whose columns are read together if possible.

A table of thousands of columns has few rows in each of its files, and opening a column takes longer than decoding it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from lance_sql.format.file import small_files
from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

MIN_FIELDS: Final = 64
"""With fewer fields, opening each of them takes little time."""

MAX_ROWS: Final = 16 * 1024
"""Columns are decoded whole, which is too much if a file has many rows and few of them are needed."""


def is_wide(fragment: Fragment, num_fields: int) -> bool:
    """Whether this number of fields of the fragment is better read together."""
    return num_fields >= MIN_FIELDS and 0 < fragment.physical_rows <= MAX_ROWS


def read(
    fragment: OpenFragment, fields: Sequence[Field], rows: RowRanges, delivered: Mapping[int, pa.DataType]
) -> list[pa.Array]:
    """Reads like `OpenFragment.read`."""
    arrays = _read_together(fragment, fields, rows, delivered)
    missing = [field for field in fields if field.id not in arrays]
    if missing:
        read = fragment.read(missing, rows, delivered)
        arrays.update((field.id, array) for field, array in zip(missing, read, strict=True))
    return [arrays[field.id] for field in fields]


def _read_together(
    fragment: OpenFragment, fields: Sequence[Field], rows: RowRanges, delivered: Mapping[int, pa.DataType]
) -> dict[int, pa.Array]:
    """Returns the fields that could be read together, by field id."""
    columns: dict[int, list[tuple[int, int, pa.DataType]]] = {}
    for field in fields:
        if not is_leaf(field) or is_json(field) or field.is_blob_v2:
            continue
        number = fragment.listed.file_number(field.id)
        index = fragment.listed.files[number].columns.get(field.id) if number is not None else None
        type = delivered.get(field.id) or arrow_field(field).type
        if number is not None and index is not None and small_files.is_plain(type):
            columns.setdefault(number, []).append((field.id, index, type))
    num_rows = fragment.num_rows
    arrays: dict[int, pa.Array] = {}
    for number, wanted in columns.items():
        ids, indices, types = zip(*wanted, strict=True)
        content = fragment.local_content(number) if len(ids) >= MIN_FIELDS else None
        if content is None:
            continue
        decoded = small_files.read_many_columns(content, num_rows, indices, types)
        arrays.update((id, array) for id, array in zip(ids, decoded, strict=True) if array is not None)
    if len(rows) == 1:
        start, end = rows[0].tolist()
        is_part = end - start < num_rows
        return {id: array.slice(start, end - start) for id, array in arrays.items()} if is_part else arrays
    row_indices = pa.array(row_ranges.expand(rows))
    return {id: array.take(row_indices) for id, array in arrays.items()}
