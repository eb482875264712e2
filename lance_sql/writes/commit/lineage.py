"""Row lineage of new fragments: the version that inserted each row, taken from the version before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from lance_sql.errors import InvalidArgument
from lance_sql.table.fragment import Fragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U32, U64, BoolMask
from lance_sql.values.bitmaps import U64Set

_IDS_AT_ONCE: Final = 1 << 17
"""Number of ids searched together. The search takes several times their memory, and few ids cost as much as many."""


def created_at_of(snapshot: Snapshot, fragments: Iterable[Fragment], ids: U64) -> U64:
    """Returns the versions that inserted the rows with these ids, in their order.

    fragments: fragments with the live rows
    raises: InvalidArgument for a row that is not live, or an id that occurs twice
    """
    if len(U64Set.of(ids)) != len(ids):
        raise InvalidArgument("two rows of new fragments carry the same row id")
    fragments = list(fragments)
    created_at = np.empty(len(ids), np.uint64)
    for start in range(0, len(ids), _IDS_AT_ONCE):
        part = slice(start, start + _IDS_AT_ONCE)
        created_at[part] = _created_at(snapshot, fragments, ids[part])
    return created_at


def _created_at(snapshot: Snapshot, fragments: Sequence[Fragment], ids: U64) -> U64:
    created_at = np.zeros(len(ids), np.uint64)
    missing = np.arange(len(ids))
    for fragment in fragments:
        if not len(missing):
            break
        opened = snapshot.open(fragment)
        indices, offsets = opened.row_id_sequence.positions(ids[missing])
        alive = ~_contains(opened.deletions, offsets)
        indices, offsets = indices[alive], offsets[alive]
        created_at[missing[indices]] = opened.created_at_sequence.take(offsets)
        missing = np.delete(missing, indices)
    if len(missing):
        raise InvalidArgument(
            f"the row id {ids[missing[0]]} is carried over, but no fragment that the update touches has such a row in"
            f" {snapshot.label}"
        )
    return created_at


def _contains(ascending: U32, values: I64) -> BoolMask:
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    positions = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    is_contained: BoolMask = ascending[positions] == values
    return is_contained
