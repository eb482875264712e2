"""Rows that a change removes or replaces, and the resulting fragments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lance_sql.errors import CorruptFile
from lance_sql.table import deletions, row_ids
from lance_sql.table.fragment import Fragment
from lance_sql.table.row_ids import RowIds
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import U32
from lance_sql.values.bitmaps import U64Set


@dataclass(frozen=True, slots=True)
class Tombstones:
    """Result of removing rows from fragments.

    updated: fragments with a new deletion file
    removed: ids of the fragments without any row left
    affected: the removed rows by fragment id, as physical offsets
    num_rows: number of removed rows
    """

    updated: tuple[Fragment, ...]
    removed: tuple[int, ...]
    affected: Mapping[int, U32]
    num_rows: int


def delete_rows(snapshot: Snapshot, addresses: U64Set) -> Tombstones:
    """Writes deletion files with additional deleted rows."""
    rows = addresses.halves
    fragments = snapshot.manifest.fragments.by_id(rows.keys())
    left: dict[int, U32] = {}
    removed = []
    num_rows_removed = 0
    for fragment_id in rows:
        fragment = fragments[fragment_id]
        opened = snapshot.open(fragment)
        num_rows = opened.num_rows
        deleted = rows[fragment_id]
        num_rows_removed += len(deleted)
        if len(opened.deletions):
            deleted = np.union1d(opened.deletions, deleted)
        if len(deleted) > num_rows:
            raise CorruptFile(f"fragment {fragment_id}: {len(deleted)} of {num_rows} rows are deleted")
        if len(deleted) == num_rows:
            removed.append(fragment_id)
        else:
            left[fragment_id] = deleted.astype(np.uint32)
    files = deletions.write_all(snapshot.store, snapshot.version, left)
    updated = tuple(replace(fragments[each], deletion_file=file) for each, file in files.items())
    return Tombstones(updated, tuple(removed), rows, num_rows_removed)


def carrying(snapshot: Snapshot, fragments: Sequence[Fragment], ids: RowIds) -> tuple[Fragment, ...]:
    """Returns new fragments that carry the ids of rows moved into them, if the table has stable row ids.

    ids: of the first rows of the fragments, in order; later rows are new ones
    """
    if not snapshot.manifest.has_stable_row_ids:
        return tuple(fragments)
    carried = []
    start = 0
    for fragment in fragments:
        own = ids.slice(start, start + fragment.physical_rows)
        carried.append(replace(fragment, row_ids=row_ids.serialize_smallest(own)) if own.num_rows else fragment)
        start += fragment.physical_rows
    return tuple(carried)
