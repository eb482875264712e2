"""Which rows of a version a change removes or replaces, and what that makes of their fragments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile
from lance_sql.scan.fragments import FragmentRows
from lance_sql.scan.open_files import OpenFiles
from lance_sql.table import deletions
from lance_sql.table.fragments import Fragment
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


def bury(snapshot: Snapshot, addresses: U64) -> Tombstones:
    """Writes deletion files in which live rows are deleted as well.

    addresses: of the rows, in any order, each once
    """
    files = OpenFiles(snapshot)
    fragments = {fragment.id: fragment for fragment in snapshot.manifest.fragments}
    updated, removed, affected = [], [], {}
    for fragment_id, offsets in by_fragment(addresses).items():
        fragment = fragments[fragment_id]
        num_rows = FragmentRows(files, fragment).num_rows
        affected[fragment_id] = offsets
        deleted = np.union1d(snapshot.deletions(fragment, num_rows), offsets)
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
