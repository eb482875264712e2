"""What the rows of new fragments get from the version before: row ids, and the version that inserted each row.

Row ids and versions are those of the manifest; where they are hidden columns, their data files are read.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from lance_sql.errors import InvalidArgument
from lance_sql.file.heads import HeadCache
from lance_sql.file.reader import DataFile
from lance_sql.table import hidden_columns, row_ids, row_versions
from lance_sql.table.fragments import DataFile as ListedFile
from lance_sql.table.fragments import Fragment, HiddenColumn
from lance_sql.table.row_ids import RowIds
from lance_sql.table.row_versions import RowVersions
from lance_sql.table.segments import U64
from lance_sql.table.snapshot import Snapshot


def num_rows(snapshot: Snapshot, fragment: Fragment) -> int:
    """The physical rows of a fragment, from a data file where the manifest does not know them."""
    if fragment.physical_rows or not fragment.files:
        return fragment.physical_rows
    return _open(snapshot, fragment.files[0]).num_rows


def row_ids_of(snapshot: Snapshot, fragment: Fragment) -> RowIds:
    """The row ids of all physical rows."""
    found = snapshot.row_ids(fragment, num_rows(snapshot, fragment))
    return row_ids.from_values(_read(snapshot, fragment, found)) if isinstance(found, HiddenColumn) else found


def created_at(snapshot: Snapshot, fragment: Fragment) -> RowVersions:
    """The versions that inserted the rows."""
    return _versions(snapshot, fragment, snapshot.created_at(fragment, num_rows(snapshot, fragment)))


def last_updated_at(snapshot: Snapshot, fragment: Fragment) -> RowVersions:
    """The versions that changed the rows last."""
    return _versions(snapshot, fragment, snapshot.last_updated_at(fragment, num_rows(snapshot, fragment)))


def created_at_of(snapshot: Snapshot, fragments: Iterable[Fragment], ids: U64) -> U64:
    """The versions that inserted the rows with these ids, in their order.

    fragments: where the rows are alive
    raises: InvalidArgument when a row is not, or an id occurs twice
    """
    if len(np.unique(ids)) != len(ids):
        raise InvalidArgument("two rows of new fragments carry the same row id")
    found = np.zeros(len(ids), np.uint64)
    missing = np.arange(len(ids))
    for fragment in fragments:
        if not len(missing):
            break
        indices, offsets = row_ids_of(snapshot, fragment).positions(ids[missing])
        alive = ~_contains(snapshot.deletions(fragment, num_rows(snapshot, fragment)), offsets)
        indices, offsets = indices[alive], offsets[alive]
        found[missing[indices]] = created_at(snapshot, fragment).take(offsets)
        missing = np.delete(missing, indices)
    if len(missing):
        raise InvalidArgument(
            f"the row id {ids[missing[0]]} is carried over, but no fragment that the update touches has such a row in"
            f" {snapshot.label}"
        )
    return found


def _contains(ascending: npt.NDArray[np.uint32], values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    found: npt.NDArray[np.bool_] = ascending[places] == values
    return found


def _versions(snapshot: Snapshot, fragment: Fragment, found: RowVersions | HiddenColumn) -> RowVersions:
    return row_versions.from_values(_read(snapshot, fragment, found)) if isinstance(found, HiddenColumn) else found


def _read(snapshot: Snapshot, fragment: Fragment, source: HiddenColumn) -> U64:
    return hidden_columns.read(_open(snapshot, source.file), source.column_index, num_rows(snapshot, fragment))


def _open(snapshot: Snapshot, file: ListedFile) -> DataFile:
    store, path = snapshot.resolve_data_file(file)
    return DataFile(store, path, HeadCache())
