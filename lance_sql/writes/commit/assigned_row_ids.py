"""Stable row ids for the rows of a table created without them: the row address becomes the row id.

    fragment 0, 3 rows      ids 0, 1, 2                           next row id: above every address that a fragment of
    fragment 7, 2 rows      ids 7 << 32, (7 << 32) + 1            the table has ever had

Before this version `_rowid` was the address. So every row keeps its id, and index entries stay valid, even in an
index that another writer builds concurrently. Row versions begin with this version. Earlier ones are not recorded.

The commit is a `Merge`, which conflicts with all changes that others compute from the version before.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.table import features, indices, row_ids, row_versions
from lance_sql.table.fragment import Fragment
from lance_sql.table.index_kinds import SYSTEM
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import IdRange
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.draft import Draft
from lance_sql.writes.commit.operations import Merge

# Ids stay below 2^63, because other engines use signed integers.
_MAX_FRAGMENT_ID: Final = 2**31 - 2


def merge_with_row_ids(snapshot: Snapshot, *, keeps_indices: bool) -> Merge:
    """Returns the operation that assigns a stable id to every row of a version.

    keeps_indices: preserve the indices; otherwise they are dropped
    raises: InvalidArgument if the table has stable row ids, or indices that cannot be preserved; UnsupportedFeature
    """
    manifest = snapshot.manifest
    if manifest.has_stable_row_ids:
        raise InvalidArgument(f"{snapshot.name} has stable row ids already")
    highest = max([*manifest.fragments.ids, manifest.max_fragment_id or 0])
    # the table had stable row ids before a restore removed them, and they are not assigned again
    base = -(-manifest.next_row_id >> 32)
    if base + highest > _MAX_FRAGMENT_ID:
        raise UnsupportedFeature(
            f"{snapshot.name}: stable row ids for fragments with ids up to {highest} are not supported"
        )
    if keeps_indices:
        _check_indices(snapshot, base)
    fragments = tuple(_with_ids(snapshot, fragment, base + fragment.id) for fragment in manifest.fragments)
    next_row_id = (base + highest + 1) << 32
    return Merge(
        fragments,
        manifest.schema,
        preserves_nullability=True,
        next_row_id=next_row_id,
        drops_indices=not keeps_indices,
    )


def assign(draft: Draft, operation: Merge) -> None:
    """Assigns the row ids of the operation to the rows of the draft, and the draft's version as their row versions."""
    assert operation.next_row_id is not None
    current = draft.manifest.fragments.by_id(set(draft.manifest.fragments.ids))
    replaced = []
    for fragment in operation.fragments:
        now = row_versions.serialize(row_versions.constant(fragment.physical_rows, draft.version))
        replaced.append(
            dataclasses.replace(
                current[fragment.id],
                physical_rows=fragment.physical_rows,
                deletion_file=fragment.deletion_file,
                row_ids=fragment.row_ids,
                created_at=now,
                last_updated_at=now,
            )
        )
    draft.edit(replaced=replaced)
    draft.change(reader_flags=draft.manifest.reader_flags | features.STABLE_ROW_IDS, next_row_id=operation.next_row_id)
    draft.index_section = None if operation.drops_indices else indices.of_stable_table(draft.index_section)


def _with_ids(snapshot: Snapshot, fragment: Fragment, upper_half: int) -> Fragment:
    """Returns the fragment with ids from `upper_half` << 32 on, and with row counts that old writers left out."""
    opened = snapshot.open(fragment)
    start, file = upper_half << 32, fragment.deletion_file
    if file is not None and not file.num_deleted_rows:
        file = dataclasses.replace(file, num_deleted_rows=len(opened.deletions))
    return dataclasses.replace(
        fragment,
        physical_rows=opened.num_rows,
        deletion_file=file,
        row_ids=row_ids.serialize(RowIds((IdRange(start, start + opened.num_rows),))),
    )


def _check_indices(snapshot: Snapshot, base: int) -> None:
    for index in snapshot.indices():
        if base:
            reason = "the rows get other ids than their addresses, for it had stable row ids before a restore"
        elif index.index_type in SYSTEM:
            reason = f"the index {index.name!r} maps moved rows by their old addresses"
        else:
            continue
        raise InvalidArgument(
            f"The indices of {snapshot.name} cannot be kept: {reason}. Drop them (indices='drop'), and build them again"
        )
