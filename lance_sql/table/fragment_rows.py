"""Rows of several fragments, which become one array for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from lance_sql.format.file import mapped_rows
from lance_sql.format.layouts.page import concat
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values.row_ranges import RowRanges

FragmentRows: TypeAlias = tuple[OpenFragment, RowRanges]
"""At least one row of a fragment."""


def read(parts: Sequence[FragmentRows], wanted: FieldsToRead) -> list[pa.Array]:
    """Reads one array for each field, with the rows of all parts, one after the other.

    wanted: of which none becomes a dictionary, if there are several parts
    raises: as `OpenFragment.read`
    """
    if len(parts) == 1:
        ((fragment, rows),) = parts
        return fragment.read(wanted, rows)
    arrays = _read_at_once(parts, wanted)
    if arrays is None:
        read = [fragment.read(wanted, rows) for fragment, rows in parts]
        arrays = [concat(column) for column in zip(*read, strict=True)]
    return arrays


def _read_at_once(parts: Sequence[FragmentRows], wanted: FieldsToRead) -> list[pa.Array] | None:
    """Returns None if the fields are not in one mapped file of each fragment."""
    files = []
    for fragment, rows in parts:
        found = fragment.in_one_file(wanted, rows)
        if found is None:
            return None
        file, plain = found
        files.append(file)
    arrays = mapped_rows.read(files)
    if arrays is None:
        return None
    # the types are those of the fields: alike in all fragments
    finished = [array for array in plain.finished(arrays) if array is not None]
    return finished if len(finished) == len(arrays) else None
