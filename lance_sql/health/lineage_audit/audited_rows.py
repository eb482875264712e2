"""The live rows of some fragments of a version, with their ids and versions, as columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lance_sql.errors import TABLE_ERRORS
from lance_sql.table.fragment import Fragment
from lance_sql.table.row_versions import stored_rows
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64, BoolMask


@dataclass(frozen=True)
class LiveRows:
    """Rows in the order of their fragments; the columns are parallel.

    fragments: the id of the fragment of each row
    offsets: physical
    unreadable: the errors of fragments that have no rows here, by their ids
    wrong_lengths: problems of the lengths of sequences, by the ids of fragments
    """

    ids: U64
    created: U64
    updated: U64
    fragments: I64
    offsets: I64
    unreadable: dict[int, str] = field(default_factory=dict)
    wrong_lengths: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, fragments: Iterable[Fragment]) -> LiveRows:
        """Collects the live rows of fragments of a version; reads no data files if sequences are inline."""
        parts: list[tuple[U64, U64, U64, I64, I64]] = []
        unreadable: dict[int, str] = {}
        wrong_lengths: dict[int, str] = {}
        for fragment in fragments:
            try:
                opened = snapshot.open(fragment)
                live = opened.live_rows()
                # an empty fragment has sequences as well
                _ = opened.row_id_sequence, opened.created_at_sequence, opened.last_updated_at_sequence
                if reason := wrong_length(fragment, opened.num_rows):
                    wrong_lengths[fragment.id] = reason
                if not len(live):
                    continue
                columns = opened.row_ids(live), opened.created_at(live), opened.last_updated_at(live)
            except TABLE_ERRORS as error:
                unreadable[fragment.id] = error.message
                continue
            offsets = row_ranges.expand(live)
            parts.append((*columns, np.full(len(offsets), fragment.id, np.int64), offsets))
        ids, created, updated = (_joined([part[number] for part in parts], np.uint64) for number in range(3))
        numbers, offsets = (_joined([part[number] for part in parts], np.int64) for number in (3, 4))
        return cls(ids, created, updated, numbers, offsets, unreadable, wrong_lengths)

    @property
    def num_rows(self) -> int:
        return len(self.ids)

    def in_fragments(self, ids: Iterable[int]) -> BoolMask:
        """Returns a mask of the rows in one of these fragments."""
        return np.isin(self.fragments, np.fromiter(ids, np.int64))

    def positions_of(self, ids: U64) -> I64:
        """Returns the positions of rows with these ids; -1 for missing ids. For duplicate ids, any position."""
        if not self.num_rows:
            return np.full(len(ids), -1, np.int64)
        order = np.argsort(self.ids, kind="stable")
        nearest = np.minimum(np.searchsorted(self.ids, ids, sorter=order), self.num_rows - 1)
        positions: I64 = order[nearest]
        positions[self.ids[positions] != ids] = -1
        return positions

    def repeated(self) -> U64:
        """Returns ids that several rows have, ascending."""
        ordered = np.sort(self.ids)
        return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _joined(parts: list[npt.NDArray[Any]], type: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, type)


def wrong_length(fragment: Fragment, num_rows: int) -> str | None:
    """Returns the problem if a version sequence has a wrong length, which readers adjust; else None."""
    for what, source in (("created-at", fragment.created_at), ("last-updated-at", fragment.last_updated_at)):
        if isinstance(source, bytes) and stored_rows(source) != num_rows:
            return f"the {what} versions cover {stored_rows(source)} rows, the fragment has {num_rows}"
    return None
