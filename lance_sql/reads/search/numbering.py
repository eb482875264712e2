"""Consecutive numbers of the rows of a version, so that a set of rows is an array of flags.

fragment      0             3          7
number        0 .. 99       100 .. 149 150 ..      physical rows, including deleted ones
"""

from __future__ import annotations

from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from lance_sql.format.index_files.vector_index import Partition
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS
from lance_sql.runtime.cached_property import cached_property
from lance_sql.runtime.caches import Measured, Usage
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64, BoolMask

_OFFSETS: Final = np.uint64(2**32 - 1)
_SPARSE: Final = 4
"""Ids are looked up in a dense array if the greatest id is at most this multiple of the number of rows."""


class RowNumbers:
    """Numbers of the rows of one version. Thread-safe: cached results are the same for all callers."""

    def __init__(self, snapshot: Snapshot) -> None:
        candidates = Candidates.all_of(snapshot)
        self._snapshot = snapshot
        self._fragment_indices = candidates.fragment_indices.tolist()
        self._ids = snapshot.manifest.fragments.table.ids[candidates.fragment_indices].astype(np.uint64)
        counts = np.array(
            [
                snapshot.open(snapshot.manifest.fragments[fragment_index]).num_rows
                for fragment_index in self._fragment_indices
            ],
            np.int64,
        )
        row_ranges.check_held(int(counts.sum()))
        self._firsts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self._order = np.argsort(self._ids)
        self._partitions: WeakKeyDictionary[Partition, I64] = WeakKeyDictionary()

    @property
    def num_rows(self) -> int:
        """Number of physical rows."""
        return int(self._firsts[-1])

    @cached_property
    def live(self) -> BoolMask:
        """Mask of the rows that are not deleted."""
        is_live = np.zeros(self.num_rows, np.bool_)
        for position, fragment_index in enumerate(self._fragment_indices):
            first = int(self._firsts[position])
            for start, end in (
                self._snapshot.open(self._snapshot.manifest.fragments[fragment_index]).live_rows().tolist()
            ):
                is_live[first + start : first + end] = True
        return is_live

    def of_fragments(self, fragment_ids: frozenset[int]) -> BoolMask | None:
        """Returns the mask of the rows in these fragments; None for all of them."""
        inside = np.array([number in fragment_ids for number in self._ids.tolist()], np.bool_)
        if inside.all():
            return None
        return np.repeat(inside, np.diff(self._firsts))

    def matching(self, predicate: Predicate) -> BoolMask:
        """Returns the mask of the live rows that match a filter."""
        passing = np.zeros(self.num_rows, np.bool_)
        scan = Scan(self._snapshot, resolve(self._snapshot, [ROW_ADDRESS]), predicate, None, None)
        for batch in scan.to_reader():
            passing[self.of_addresses(batch.column(0).to_numpy())] = True
        return passing

    def of_addresses(self, addresses: U64) -> I64:
        """Returns the numbers of rows; -1 for missing ones."""
        if len(self._ids) == 0:
            return np.full(len(addresses), -1, np.int64)
        ids = addresses >> np.uint64(32)
        at = np.minimum(np.searchsorted(self._ids, ids, sorter=self._order), len(self._ids) - 1)
        position = self._order[at]
        numbers = self._firsts[position] + (addresses & _OFFSETS).astype(np.int64)
        inside = (self._ids[position] == ids) & (numbers < self._firsts[position + 1])
        return np.where(inside, numbers, -1)

    def of_row_ids(self, row_ids: U64) -> I64:
        """Returns the numbers of rows by their row ids, which are addresses in tables without stable row ids."""
        if not self._snapshot.manifest.has_stable_row_ids:
            return self.of_addresses(row_ids)
        ids, numbers = self._by_row_id
        if numbers is None:
            inside = row_ids < np.uint64(len(ids))
            return np.where(inside, ids[np.where(inside, row_ids, 0).astype(np.int64)], -1)
        if len(ids) == 0:
            return np.full(len(row_ids), -1, np.int64)
        sorted_ids = ids.view(np.uint64)
        at = np.minimum(np.searchsorted(sorted_ids, row_ids), len(ids) - 1)
        return np.where(sorted_ids[at] == row_ids, numbers[at], -1)

    def of_partition(self, partition: Partition) -> I64:
        """Returns the numbers of the rows of an index partition, cached as long as the partition is alive."""
        numbers = self._partitions.get(partition)
        if numbers is None:
            numbers = self._partitions[partition] = self.of_row_ids(partition.row_ids)
        return numbers

    def addresses(self, numbers: I64) -> U64:
        position = np.searchsorted(self._firsts, numbers, side="right") - 1
        offsets = (numbers - self._firsts[position]).astype(np.uint64)
        addresses: U64 = self._ids[position] << np.uint64(32) | offsets
        return addresses

    @cached_property
    def _by_row_id(self) -> tuple[I64, I64 | None]:
        """Number of each id, if ids are not much more numerous than rows; otherwise the sorted ids, and their
        numbers."""
        fragments = self._snapshot.manifest.fragments
        ids = [
            self._snapshot.open(fragments[fragment_index]).row_id_sequence.expand()
            for fragment_index in self._fragment_indices
        ]
        # an id may occur twice: the old image of an updated row is deleted
        numbers = np.flatnonzero(self.live)
        every = np.concatenate([np.empty(0, np.uint64), *ids])[numbers]
        greatest = int(every.max()) if len(every) else 0
        if greatest < _SPARSE * self.num_rows + 1024:
            numbers_by_id = np.full(greatest + 1, -1, np.int64)
            numbers_by_id[every.astype(np.int64)] = numbers
            return numbers_by_id, None
        order = np.argsort(every)
        return every[order].view(np.int64), numbers[order]


_lock = Lock()
_numbers_by_snapshot: WeakKeyDictionary[Snapshot, RowNumbers] = WeakKeyDictionary()
_COUNTED: Final = Measured(
    "numbers of rows for searches", lambda: Usage(len(_numbers_by_snapshot)), _numbers_by_snapshot.clear
)


def row_numbers(snapshot: Snapshot) -> RowNumbers:
    """Returns the numbers of the rows of a version, computed once."""
    with _lock:
        numbers = _numbers_by_snapshot.get(snapshot)
    if numbers is None:
        numbers = RowNumbers(snapshot)
        with _lock:
            _numbers_by_snapshot[snapshot] = numbers
    return numbers
