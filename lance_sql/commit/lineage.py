"""What the rows of new fragments get from the version before: row ids, and the version that inserted each row.

Row ids and versions are those of the manifest; where they are hidden columns, their data files are read.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import row_ranges
from lance_sql.errors import CorruptFile, InvalidArgument, at
from lance_sql.file.columns import read_columns
from lance_sql.file.heads import HeadCache
from lance_sql.file.leaves import Leaf
from lance_sql.file.opening import Listed, open_column
from lance_sql.file.reader import DataFile
from lance_sql.layouts.nest import Chain
from lance_sql.schema import Field
from lance_sql.table import row_ids, row_versions
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
    file = _open(snapshot, source.file)
    rows = num_rows(snapshot, fragment)
    with at(file=file.path):
        if file.num_rows != rows:
            raise CorruptFile(f"the file has {file.num_rows} rows, its fragment {rows}")
        leaf = Leaf(Field("row lineage", 0, -1, "uint64"), pa.uint64())
        listed = Listed(frozenset([0]), {0: source.column_index})
        column = open_column(file, listed, leaf, Chain(pa.uint64()), "row lineage")
        assert column is not None
        (array,) = read_columns([column], row_ranges.single(0, rows))
        if array.null_count:
            raise CorruptFile("a hidden column of row ids or versions has NULLs")
    values: U64 = array.to_numpy()
    return values


def _open(snapshot: Snapshot, file: ListedFile) -> DataFile:
    store, path = snapshot.resolve_data_file(file)
    return DataFile(store, path, HeadCache())
