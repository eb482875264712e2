"""Which rows of a version a change removes or replaces, and what that makes of their fragments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile
from lance_sql.table import deletions, row_ids
from lance_sql.table.fragment import Fragment
from lance_sql.table.snapshot import Snapshot

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

_OFFSET_MASK = np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class Tombstones:
    """What becomes of the fragments that rows were removed from.

    updated: fragments with a new deletion file
    removed: ids of the fragments that have no row left
    affected: the removed rows by fragment id, as physical offsets
    """

    updated: tuple[Fragment, ...]
    removed: tuple[int, ...]
    affected: Mapping[int, U32]

    @property
    def num_rows(self) -> int:
        """How many rows were removed."""
        return sum(map(len, self.affected.values()))


def delete_rows(snapshot: Snapshot, addresses: U64) -> Tombstones:
    """Writes deletion files in which live rows are deleted as well.

    addresses: of the rows, in any order, each once
    """
    touched = by_fragment(addresses)
    fragments = snapshot.manifest.fragments.by_id(touched.keys())
    updated, removed, affected = [], [], {}
    for fragment_id, offsets in touched.items():
        fragment = fragments[fragment_id]
        opened = snapshot.open(fragment)
        num_rows = opened.num_rows
        affected[fragment_id] = offsets
        deleted = np.union1d(opened.deletions, offsets)
        if len(deleted) > num_rows:
            raise CorruptFile(f"fragment {fragment_id}: {len(deleted)} of {num_rows} rows are deleted")
        if len(deleted) == num_rows:
            removed.append(fragment_id)
        else:
            file = deletions.write(snapshot.store, fragment_id, snapshot.version, deleted.astype(np.uint32))
            updated.append(replace(fragment, deletion_file=file))
    return Tombstones(tuple(updated), tuple(removed), affected)


def by_fragment(addresses: U64) -> dict[int, U32]:
    """The offsets in each fragment, ascending."""
    ordered = np.sort(addresses)
    ids = ordered >> np.uint64(32)
    offsets = (ordered & _OFFSET_MASK).astype(np.uint32)
    found, starts = np.unique(ids, return_index=True)
    parts = np.split(offsets, starts[1:])
    return dict(zip(found.tolist(), parts, strict=True)) if len(found) else {}


def carrying(snapshot: Snapshot, fragments: Sequence[Fragment], ids: Sequence[U64]) -> tuple[Fragment, ...]:
    """New fragments that carry the ids of rows that were moved into them, where the table has stable ids.

    ids: of the first rows of the fragments, in order; the rows behind them are new ones
    """
    if not snapshot.manifest.has_stable_row_ids:
        return tuple(fragments)
    left = np.concatenate(ids) if ids else np.empty(0, np.uint64)
    carried = []
    for fragment in fragments:
        own, left = left[: fragment.physical_rows], left[fragment.physical_rows :]
        carried.append(replace(fragment, row_ids=row_ids.serialize(own)) if len(own) else fragment)
    return tuple(carried)
