"""Learned statistics of earlier scans of the same files: zones without a match, and zones in which all rows match.

    zones of a fragment    | 0 .. 8192 | .. 16384 | .. |     the same for all of its columns

A zone whose rows were not all observed stays, and is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from lance_sql import _kernels
from lance_sql.format.file.leaves import leaf_in_structs
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.file.zone_statistics import ROWS_PER_ZONE, key_kind, statistics
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.members import stored_member
from lance_sql.reads.scan.predicates import Path, Predicate, may_match, must_match, num_bytes
from lance_sql.reads.scan.projection import restrict
from lance_sql.reads.scan.pruning.known_rows import KnownRows, numbers_of
from lance_sql.reads.scan.pruning.source import Evidence
from lance_sql.runtime.caches import Measured, Usage
from lance_sql.table import learning
from lance_sql.table.files import TableFiles
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, BoolMask

_FEWEST_TESTED: Final = 16
"""Minimum number of zones; testing the rows of fewer zones takes less time than finding those that need no test."""

_MOST_DECISIONS: Final = 16
"""Limit of cached decisions. Engines plan one query several times, and users run queries again."""

_MOST_RANGES: Final = 1024
_MOST_BYTES: Final = 64 * 1024
"""Limits of cached decisions: results with many ranges of live rows, and long lists, are computed again."""


class LearnedZones:
    """Statistics learned in this process, or loaded from its folder."""

    name: Final = "learned statistics"

    def narrow(self, candidates: Candidates, predicate: Predicate) -> Evidence | None:
        if candidates.num_rows <= ROWS_PER_ZONE:
            # reading the rest costs less than pruning
            return None
        learned = _Learned.about(candidates, predicate)
        if learned is None:
            return None
        decision = learned.decision(candidates, predicate)
        return Evidence(self.name, decision.narrow(candidates), (learned.note(),), decision.passing)


def count_decided(candidates: Candidates, predicate: Predicate) -> tuple[int, Candidates]:
    """Returns the number of rows in zones in which the predicate is always true, and the candidates without these."""
    learned = _Learned.about(candidates, predicate) if candidates.num_rows > ROWS_PER_ZONE else None
    if learned is None:
        return 0, candidates
    zones = learned.zones
    decided = must_match(predicate, learned.statistics(candidates), len(zones.owners))
    if not decided.any():
        return 0, candidates
    left = KnownRows.but_for(zones.fragment_indices, zones.as_rows(decided)).narrow(candidates)
    return candidates.num_rows - left.num_rows, left


def _knows(bounds: _kernels.ZoneBounds | None, num_rows: int) -> bool:
    """Whether statistics exist for a fragment of this number of rows."""
    return bounds is not None and bounds.num_rows == num_rows and bounds.num_known > 0


@dataclass(frozen=True)
class _Zones:
    """Zones of some fragments, one fragment after the other.

    fragment_indices: of the fragments, ascending
    counts: number of zones of each fragment
    owners, starts, ends: the fragment index and the rows of each zone
    """

    fragment_indices: I64
    counts: I64
    owners: I64
    starts: I64
    ends: I64

    @classmethod
    def of(cls, fragment_indices: I64, num_rows: I64) -> _Zones:
        """
        num_rows: of each fragment
        """
        counts = -(-num_rows // ROWS_PER_ZONE)
        starts = (np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)) * ROWS_PER_ZONE
        ends = np.minimum(starts + ROWS_PER_ZONE, np.repeat(num_rows, counts))
        return cls(fragment_indices, counts, np.repeat(fragment_indices, counts), starts, ends)

    def as_rows(self, chosen: BoolMask) -> row_ranges.RowRanges:
        """Returns the rows of some zones."""
        owners = self.owners[chosen]
        bounds = (numbers_of(owners, self.starts[chosen]), numbers_of(owners, self.ends[chosen]))
        return row_ranges.coalesce(np.stack(bounds, axis=1), 0)


@dataclass
class _Decision:
    """Decision on a predicate.

    state: of the learned statistics at the time of the decision
    left: rows that may pass, for fragments with statistics; None if nothing is pruned
    passing: rows for which the predicate is true, see `Evidence.passing`
    """

    state: int
    left: KnownRows | None
    passing: row_ranges.RowRanges | None
    _of_everything: tuple[I64, Mapping[int, row_ranges.RowRanges]] | None = None

    def narrow(self, candidates: Candidates) -> Candidates:
        """Prunes candidates."""
        if self.left is None:
            return candidates
        if candidates.parts or len(candidates.fragment_indices) < len(candidates.fragments):
            return self.left.narrow(candidates)
        if self._of_everything is not None:
            fragment_indices, parts = self._of_everything
            return replace(candidates, fragment_indices=fragment_indices, parts=parts)
        narrowed = self.left.narrow(candidates)
        if sum(map(len, narrowed.parts.values())) <= _MOST_RANGES:
            # without the snapshot, which its own cache entry would keep alive
            self._of_everything = narrowed.fragment_indices, narrowed.parts
        return narrowed


@dataclass(frozen=True)
class _Learned:
    """Learned statistics of some fields.

    fields: columns, and members of structs, with the bounds of each fragment, in the order of the zones; None
        without statistics
    """

    zones: _Zones
    fields: Mapping[tuple[Path, Field], Sequence[_kernels.ZoneBounds | None]]

    @classmethod
    def about(cls, candidates: Candidates, predicate: Predicate) -> _Learned | None:
        """Returns the statistics of the fields in a predicate; None if there are none at all."""
        fragments = candidates.fragments
        files = candidates.snapshot.open_fragments.files
        if files.learned is None or not files.learned.may_know(files.location.store.uri) or not fragments.trust_rows:
            return None
        fields = _fields_of(candidates, predicate)
        rows = fragments.table.physical_rows
        bounds_by_fragment: dict[int, list[_kernels.ZoneBounds | None]] = {}
        for fragment_index in candidates.fragment_indices.tolist() if fields else ():
            known = [learning.find(files, fragments[fragment_index], field) for _, field in fields]
            known = [bounds if _knows(bounds, int(rows[fragment_index])) else None for bounds in known]
            if any(bounds is not None for bounds in known):
                bounds_by_fragment[fragment_index] = known
        if not bounds_by_fragment:
            return None
        fragment_indices = np.array(sorted(bounds_by_fragment), np.int64)
        by_field = {
            field: [bounds_by_fragment[index][i] for index in fragment_indices.tolist()]
            for i, field in enumerate(fields)
        }
        return cls(_Zones.of(fragment_indices, rows[fragment_indices].astype(np.int64)), by_field)

    def decision(self, candidates: Candidates, predicate: Predicate) -> _Decision:
        """Returns the decision on the predicate; computed again if more was learned since."""
        decided = _decided.setdefault(candidates.snapshot.open_fragments.files, {})
        state = hash(tuple(self._state(bounds) for bounds in self.fields.values()))
        decision = decided.get(predicate)
        if decision is not None and decision.state == state:
            return decision
        decision = self._decide(candidates, predicate, state)
        if num_bytes(predicate) <= _MOST_BYTES:
            if len(decided) >= _MOST_DECISIONS:
                decided.clear()
            decided[predicate] = decision
        return decision

    def _decide(self, candidates: Candidates, predicate: Predicate, state: int) -> _Decision:
        zones = self.zones
        statistics = self.statistics(candidates)
        possible = may_match(predicate, statistics, len(zones.owners))
        left = None if possible.all() else KnownRows.but_for(zones.fragment_indices, zones.as_rows(~possible))
        passing = None
        if np.count_nonzero(possible) >= _FEWEST_TESTED:
            decided = must_match(predicate, statistics, len(zones.owners))
            passing = zones.as_rows(decided) if decided.any() else None
        return _Decision(state, left, passing)

    def _state(self, bounds: Sequence[_kernels.ZoneBounds | None]) -> int:
        """Returns a number that changes when statistics of a field cover more, or other files."""
        known = tuple([(each.number, each.num_known) if each is not None else None for each in bounds])
        return hash((self.zones.fragment_indices.tobytes(), known))

    def statistics(self, candidates: Candidates) -> dict[Path, PageStatistics]:
        """Returns the statistics of all zones for each field; computed again if more was learned since."""
        cached = _field_statistics.setdefault(candidates.snapshot.open_fragments.files, {})
        by_path: dict[Path, PageStatistics] = {}
        for (path, field), bounds in self.fields.items():
            state = self._state(bounds)
            last = cached.get(field)
            if last is None or last[0] != state:
                last = cached[field] = (state, self._of_field(leaf_in_structs(field), bounds))
            by_path[path] = last[1]
        return by_path

    def _of_field(self, field: Field, bounds: Sequence[_kernels.ZoneBounds | None]) -> PageStatistics:
        type = arrow_field(field).type
        kind = key_kind(type)
        assert kind is not None
        counts = self.zones.counts.tolist()
        numbers = [
            np.zeros((n, 6), np.int64) if each is None else each.numbers()
            for each, n in zip(bounds, counts, strict=True)
        ]
        return statistics(np.concatenate(numbers), self.zones.ends - self.zones.starts, kind, type)

    def note(self) -> str:
        """Returns the note for `explain`."""
        known = []
        for (path, _), bounds in self.fields.items():
            num_known = sum(each.num_known for each in bounds if each is not None)
            known.append(f"{'.'.join(path)}: {num_known} of {len(self.zones.owners)} zones learned")
        return ", ".join(known)


def _fields_of(candidates: Candidates, predicate: Predicate) -> list[tuple[Path, Field]]:
    """Returns the columns and members of structs whose statistics can be learned, as fields cut down to them."""
    top_level = candidates.snapshot.manifest.schema.by_name
    fields = []
    for path in sorted(predicate.columns):
        top = top_level.get(path[0])
        field = restrict(top, [path[1:]]) if top is not None else None
        leaf = stored_member(field, path[1:]) if field is not None else None
        if field is not None and leaf is not None and key_kind(arrow_field(leaf).type):
            fields.append((path, field))
    return fields


_decided: WeakKeyDictionary[TableFiles, dict[Predicate, _Decision]] = WeakKeyDictionary()
_field_statistics: WeakKeyDictionary[TableFiles, dict[Field, tuple[int, PageStatistics]]] = WeakKeyDictionary()
_COUNTED: Final = (
    Measured("answers of learned statistics", lambda: Usage(len(_decided)), _decided.clear),
    Measured("learned statistics of fields", lambda: Usage(len(_field_statistics)), _field_statistics.clear),
)
