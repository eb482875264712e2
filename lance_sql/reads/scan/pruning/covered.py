"""Fragments that an index segment covers, and conversion of rows in its files to rows of these."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lance_sql.errors import CorruptFile
from lance_sql.format.index_files.row_sets import RowSet
from lance_sql.format.index_files.zones import Zones
from lance_sql.reads.scan import lineage
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.pruning.known_rows import KnownRows, distinct, everything, numbers_of
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.fragment_reuse import NOWHERE, FragmentReuse
from lance_sql.table.fragments import Fragments
from lance_sql.table.indices import IndexSegment
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.row_ranges import RowRanges

_OFFSETS = np.uint64(2**32 - 1)
_MAX_ROWS = 2**32


@dataclass(frozen=True)
class Covered:
    """Fragments of a version that a segment covers.

    fragments: all fragments of the version
    fragment_indices: indices of the covered ones in the manifest, ascending
    claimed: indices of those that the segment names itself, not through `moves`
    moves: moves of rows that the segment has at old addresses
    unknown: rows of these fragments that the segment does not cover, as numbers
    """

    fragments: Fragments
    fragment_indices: I64
    claimed: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    moves: FragmentReuse | None = None
    unknown: RowRanges = field(default_factory=lambda: row_ranges.EMPTY)

    @classmethod
    def of(cls, candidates: Candidates, segment: IndexSegment, moves: FragmentReuse | None) -> Covered:
        """Returns the fragments that a segment covers completely or in part."""
        assert segment.fragment_ids is not None
        fragment_indices = candidates.fragment_indices
        ids = candidates.fragments.table.ids[fragment_indices]
        if moves is None:
            covered = np.isin(ids, np.array(sorted(segment.fragment_ids), np.uint64))
            return cls(candidates.fragments, np.sort(fragment_indices[covered]))
        unknown = moves.unknown_rows(ids.tolist(), segment.fragment_ids)
        id_of = dict(zip(fragment_indices.tolist(), ids.tolist(), strict=True))
        covered_indices = sorted(index for index, fragment_id in id_of.items() if fragment_id in unknown)
        numbers = [unknown[id_of[index]] + numbers_of(index, np.zeros(1, np.int64)) for index in covered_indices]
        return cls(
            candidates.fragments,
            np.array(covered_indices, np.int64),
            np.array([index for index in covered_indices if id_of[index] in segment.fragment_ids], np.int64),
            moves,
            np.concatenate(numbers) if numbers else row_ranges.EMPTY,
        )

    @cached_property
    def num_rows(self) -> int:
        """Number of rows of the covered fragments, including deleted ones; an estimate for tables of early writers."""
        return int(self._rows[self.fragment_indices].sum())

    @cached_property
    def ids(self) -> U64:
        """Ids of the fragments, ascending."""
        return np.sort(self.fragments.table.ids[self.fragment_indices])

    @cached_property
    def ids_in_files(self) -> U64:
        """Ids of the fragments under which the segment may have these rows, ascending."""
        if self.moves is None:
            return self.ids
        return np.array(sorted(self.moves.sources(self.ids.tolist())), np.uint64)

    def and_unknown(self, known: KnownRows) -> KnownRows:
        """Returns the known rows of the segment, and the rows that it does not cover."""
        if len(self.unknown) == 0:
            return known
        left = row_ranges.intersect(self.unknown, everything(known.fragment_indices))
        return KnownRows(known.fragment_indices, row_ranges.union(known.rows, left))

    @property
    def _rows(self) -> I64:
        return self.fragments.table.physical_rows.astype(np.int64)

    def without(self, fragment_indices: I64) -> Covered:
        """Returns the coverage without some fragments."""
        return replace(self, fragment_indices=np.setdiff1d(self.fragment_indices, fragment_indices, assume_unique=True))

    def addresses(self, addresses: U64) -> KnownRows:
        """Returns the rows at these addresses, without those of other fragments. Fragments that rows at old addresses
        may have reached in ways that are not recorded are left out.

        raises: CorruptFile for addresses past the end of a fragment
        """
        if self.moves is not None:
            addresses = self.moves.moved(addresses)
            return self.without(self._unsure(addresses))._rows_at(addresses)
        return self._rows_at(addresses)

    def _unsure(self, addresses: U64) -> I64:
        """Returns the indices of fragments that may have the rows at addresses of fragments that are gone.

        A compaction by pylance after a deferred one names its new fragments in the index, whose entries keep addresses
        that lead to the fragments before them. Ids of fragments only grow.
        """
        ids = np.unique(addresses >> np.uint64(32))
        gone = np.setdiff1d(ids, np.append(self.fragments.table.ids, NOWHERE >> np.uint64(32)))
        if len(gone) == 0:
            return np.empty(0, np.int64)
        unsure: I64 = self.claimed[self.fragments.table.ids[self.claimed] > gone[0]]
        return np.intersect1d(unsure, self.fragment_indices)

    def _rows_at(self, addresses: U64) -> KnownRows:
        fragment_indices = self._indices_of(addresses >> np.uint64(32))
        offsets = (addresses & _OFFSETS).astype(np.int64)
        inside = fragment_indices >= 0
        fragment_indices, offsets = fragment_indices[inside], offsets[inside]
        if self.fragments.trust_rows and (offsets >= self._rows[fragment_indices]).any():
            raise CorruptFile("an index has rows past the end of a fragment")
        return KnownRows.of_numbers(self.fragment_indices, numbers_of(fragment_indices, offsets))

    def row_ids(self, row_ids: U64, candidates: Candidates) -> KnownRows:
        """Returns the rows with these stable ids, if they are in the covered fragments."""
        row_ids = distinct(row_ids)
        inside = replace(candidates, fragment_indices=self.fragment_indices)
        parts = [np.empty(0, np.int64)]
        for fragment_index in lineage.with_row_ids(inside, row_ids).tolist() if len(row_ids) else ():
            _, offsets = candidates.open(fragment_index).row_id_sequence.positions(row_ids)
            parts.append(numbers_of(fragment_index, offsets))
        return KnownRows.of_numbers(self.fragment_indices, np.concatenate(parts))

    def rows(self, row_set: RowSet, *, with_ids_of: Candidates | None = None) -> KnownRows:
        """Returns the rows of a set.

        with_ids_of: the rows whose stable row ids the set contains; addresses without it
        raises: as `addresses`; CorruptFile for a set of ids that contains all ids with a common upper half
        """
        if with_ids_of is not None:
            if len(row_set.whole):
                raise CorruptFile("an index has a set of all row ids with one prefix")
            return self.row_ids(row_set.numbers, with_ids_of)
        known = self.addresses(row_set.numbers)
        if len(row_set.whole) == 0:
            return known
        whole = row_set.whole.astype(np.int64)
        ids, starts, ends, _ = self._moved(whole, np.zeros_like(whole), np.full_like(whole, _MAX_ROWS))
        sure = self if self.moves is None else self.without(self._unsure(ids.astype(np.uint64) << np.uint64(32)))
        indices = np.intersect1d(known.fragment_indices, sure.fragment_indices)
        rows = row_ranges.union(known.rows, sure._as_rows(ids, starts, ends))
        return KnownRows(indices, row_ranges.intersect(rows, everything(indices)))

    def tiled(self, zones: Zones) -> bool:
        """Whether the zones of the covered fragments contain each of their rows once."""
        return self._on_zones(zones)[1]

    def _on_zones(self, zones: Zones) -> tuple[I64, bool]:
        """Returns the indices of the fragments of zones, and whether the zones tile these; cached."""
        last = self._last_zones
        if not last or last[0] is not zones:
            fragment_indices = self._indices_of(zones.fragment_ids.astype(np.uint64))
            inside = fragment_indices >= 0
            if self.moves is not None:
                # moved zones may be split, and other zones may be of adjacent rows
                last[:] = [zones, fragment_indices, False]
                return fragment_indices, False
            rows = self._rows[self.fragment_indices]
            is_tiled = False
            if self.fragments.trust_rows and (rows > 0).all() and inside.any():
                zone_indices = inside.nonzero()[0]
                zone_indices = zone_indices[np.lexsort((zones.starts[zone_indices], fragment_indices[zone_indices]))]
                firsts = np.concatenate(([True], np.diff(fragment_indices[zone_indices]) > 0))
                lasts = np.concatenate((firsts[1:], [True]))
                begins = np.where(firsts, 0, np.roll(zones.ends[zone_indices], 1))
                is_tiled = (
                    np.array_equal(fragment_indices[zone_indices][firsts], self.fragment_indices)
                    and np.array_equal(zones.starts[zone_indices], begins)
                    and np.array_equal(zones.ends[zone_indices][lasts], rows)
                )
            last[:] = [zones, fragment_indices, is_tiled]
        return last[1], last[2]

    @cached_property
    def _last_zones(self) -> list[Any]:
        return []

    def zones_as_rows(self, zones: Zones, chosen: BoolMask) -> RowRanges:
        """Returns the rows of the chosen zones of covered fragments, in ascending ranges; zones may overlap."""
        if self.moves is not None:
            moved = self._moved(zones.fragment_ids[chosen], zones.starts[chosen], zones.ends[chosen])
            return self._as_rows(*moved[:3])
        return self._ranges(self._on_zones(zones)[0][chosen], zones.starts[chosen], zones.ends[chosen])

    def _moved(self, ids: I64, starts: I64, ends: I64) -> tuple[I64, I64, I64, I64]:
        """Maps ranges of fragments to their current places, see `FragmentReuse.moved_ranges`."""
        if self.moves is None:
            return ids, starts, ends, np.arange(len(ids))
        return self.moves.moved_ranges(ids, starts, ends)

    def _as_rows(self, ids: I64, starts: I64, ends: I64) -> RowRanges:
        """Converts ranges of fragments to numbers, without those of other fragments."""
        return self._ranges(self._indices_of(ids.astype(np.uint64)), starts, ends)

    def _ranges(self, fragment_indices: I64, first: I64, last: I64) -> RowRanges:
        """Converts ranges of fragments, by their indices, to numbers, without those with the index -1."""
        inside = fragment_indices >= 0
        starts = numbers_of(fragment_indices[inside], first[inside])
        ends = numbers_of(fragment_indices[inside], np.zeros(1, np.int64)) + last[inside]
        filled = ends > starts
        starts, ends = starts[filled], ends[filled]
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
        if len(starts) == 0:
            return np.empty((0, 2), np.int64)
        reach = np.maximum.accumulate(ends)
        firsts = np.concatenate(([0], (starts[1:] > reach[:-1]).nonzero()[0] + 1))
        lasts = np.concatenate((firsts[1:] - 1, [len(starts) - 1]))
        return np.stack((starts[firsts], reach[lasts]), axis=1)

    def without_zones(self, zones: Zones) -> I64:
        """Returns the indices of covered fragments without any zone.

        Updates and compactions of early releases record that an index covers new fragments that are not in its file.
        """
        ids, _, _, _ = self._moved(zones.fragment_ids, zones.starts, zones.ends)
        missing: I64 = np.setdiff1d(self.fragment_indices, self._indices_of(ids.astype(np.uint64)))
        return missing

    def not_tiled(self, zones: Zones) -> I64:
        """Returns the indices of covered fragments whose end the zones do not reach.

        An early release did not count deleted rows, so that its zones contain other rows.
        """
        ends = np.zeros(len(self.fragments.table), np.int64)
        ids, _, lasts, _ = self._moved(zones.fragment_ids, zones.starts, zones.ends)
        fragment_indices = self._indices_of(ids.astype(np.uint64))
        inside = fragment_indices >= 0
        np.maximum.at(ends, fragment_indices[inside], lasts[inside])
        indices = self.fragment_indices
        known = self._rows[indices] if self.fragments.trust_rows else np.zeros(len(indices))
        short: I64 = indices[(ends[indices] < known) | (known == 0)]
        return short

    def _indices_of(self, fragment_ids: U64) -> I64:
        """Returns the indices of fragments by their ids; -1 for those that are not covered."""
        ids = self.ids
        if len(ids) == 0:
            return np.full(len(fragment_ids), -1, np.int64)
        at = np.minimum(ids.searchsorted(fragment_ids), len(ids) - 1)
        fragment_indices: I64 = np.where(ids[at] == fragment_ids, self._fragment_indices_by_id[at], -1)
        return fragment_indices

    @cached_property
    def _fragment_indices_by_id(self) -> I64:
        """Fragment indices in the order of `ids`."""
        return self.fragment_indices[np.argsort(self.fragments.table.ids[self.fragment_indices])]
