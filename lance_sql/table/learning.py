"""Learned statistics: collects min/max statistics while rows of a fragment are read, and finds them again.

    a fragment, a field --> the file and column of the field --> that file's identity --> `format.file.learned`

Statistics are learned for fields with one column of their own, and for members of structs, which are reduced to
one. Fields below lists are not learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file.column_rows import observe
from lance_sql.format.file.learned import LearnedKey
from lance_sql.format.file.leaves import is_leaf, leaf_in_structs
from lance_sql.format.file.zone_statistics import ROWS_PER_ZONE, KeyKind, key_kind, observe_array
from lance_sql.format.schema import Field, arrow_field
from lance_sql.table.files import TableFiles
from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.listed_columns import FieldsToRead, listed
from lance_sql.table.open_fragment import OpenFragment, UnknownColumn
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges

MAX_ROWS: Final = 1 << 32
"""Limit of rows of a fragment, as of row addresses."""

_GAP: Final = ROWS_PER_ZONE // 2
"""Gap between two ranges, for example of deleted rows, that is observed as well to complete zones."""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """Stored column of a field of a fragment, and the kind of its keys.

    index: of its column in the file
    """

    file: DataFile
    index: int
    kind: KeyKind


def column_of(fragment: Fragment, field: Field) -> FileColumn | None:
    """Returns the stored column of a field; None for fields that are not learned or not stored in the fragment."""
    field = leaf_in_structs(field)
    kind = key_kind(arrow_field(field).type) if is_leaf(field) else None
    if kind is None:
        return None
    files = listed(fragment.files)
    number = files.file_number(field.id)
    index = files.files[number].columns.get(field.id) if number is not None else None
    return FileColumn(fragment.files[number], index, kind) if number is not None and index is not None else None


def find(files: TableFiles, fragment: Fragment, field: Field) -> _kernels.ZoneBounds | None:
    """Returns the learned statistics of a field for the current file; opens no file."""
    column = column_of(fragment, field)
    if files.learned is None or column is None:
        return None
    store, path = files.resolve(column.file)
    identity = store.identity(path)
    return files.learned.find(LearnedKey(identity, column.index, column.kind)) if identity is not None else None


def learn(fragment: OpenFragment, fields: Sequence[Field], rows: RowRanges) -> None:
    """Observes rows that are about to be read, for columns whose values the kernels can read in the file.

    Nothing is learned from less than a zone, so that reading single rows stays cheap.
    """
    if fragment.files.learned is None or not _has_zones(fragment, rows):
        return
    wide: RowRanges | None = None
    for field in fields:
        unknown = unknown_column(fragment, field)
        if unknown is None or unknown.kind.is_prefix:
            continue
        if unknown.column.file.bytes.is_in_memory:
            # its pages are tested without decoding values, and there are few of them
            learn_values(fragment, field, rows, fragment.read(FieldsToRead([field]), rows)[0])
        else:
            wide = row_ranges.coalesce(rows, _GAP) if wide is None else wide
            observe(unknown.column, wide, unknown.bounds)


def learn_values(fragment: OpenFragment, field: Field, rows: RowRanges, values: pa.Array) -> None:
    """Observes the values of rows that have been read.

    values: of `rows`
    """
    if fragment.files.learned is None or not _has_zones(fragment, rows):
        return
    unknown = unknown_column(fragment, field)
    if unknown is None:
        return
    values = _inside(values)
    if key_kind(values.type) != unknown.kind or not unknown.column.file.bytes.is_unchanged:
        return
    done = 0
    for start, end in rows.tolist():
        observe_array(unknown.bounds, unknown.kind, start, values.slice(done, end - start))
        done += end - start


def widened(fragment: OpenFragment, rows: RowRanges) -> RowRanges:
    """Returns the rows with the gaps that kernels observe as well to complete zones; the rows alone if nothing is
    learned."""
    if fragment.files.learned is None or row_ranges.count(rows) < ROWS_PER_ZONE:
        return rows
    return row_ranges.coalesce(rows, _GAP)


def unknown_bounds(fragment: OpenFragment, field: Field, rows: RowRanges) -> _kernels.ZoneBounds | None:
    """Returns the statistics that kernels update while they read the rows; None if there are none or less than a
    zone is read.

    Call it after the bytes have been fetched: nothing is learned from a replaced file.
    """
    if fragment.files.learned is None or not _has_zones(fragment, rows):
        return None
    unknown = unknown_column(fragment, field)
    if unknown is None or not unknown.column.file.bytes.is_unchanged:
        return None
    return unknown.bounds


def unknown_column(fragment: OpenFragment, field: Field) -> UnknownColumn | None:
    """Returns the column of a field with incomplete statistics; None if there is none."""
    key = leaf_in_structs(field).id
    if key in fragment.unknown:
        unknown = fragment.unknown[key]
        if unknown is not None and unknown.bounds.all_known:
            unknown = fragment.unknown[key] = None
        return unknown
    unknown = fragment.unknown[key] = _open(fragment, field)
    return unknown


def _has_zones(fragment: OpenFragment, rows: RowRanges) -> bool:
    """Whether the rows are as many as a zone has, or reach the end and are at least half of the last zone."""
    count = row_ranges.count(rows)
    rest = fragment.num_rows % ROWS_PER_ZONE
    return count >= ROWS_PER_ZONE or (rows[-1, 1] == fragment.num_rows and 2 * count >= rest > 0)


def _inside(values: pa.Array) -> pa.Array:
    """Returns the values of the single member of structs, NULL if one of the structs is."""
    while pa.types.is_struct(values.type) and values.type.num_fields == 1:
        (values,) = values.flatten()
    return values


def _open(fragment: OpenFragment, field: Field) -> UnknownColumn | None:
    stored, learned = column_of(fragment.fragment, field), fragment.files.learned
    # a damaged file may claim any number of rows
    if stored is None or learned is None or fragment.num_rows > MAX_ROWS:
        return None
    columns = list(fragment.columns_of(field))
    if len(columns) != 1 or columns[0].file.bytes.identity is None:
        return None
    key = LearnedKey(columns[0].file.bytes.identity, stored.index, stored.kind)
    bounds = learned.column(key, fragment.num_rows, fragment.files.location.store.uri)
    return UnknownColumn(columns[0], stored.kind, bounds)
