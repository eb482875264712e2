"""Fragment reuse index: new addresses of rows that indices still have at their old addresses.

    rewrite    0 (100 rows, 10 deleted), 1 (100 rows)  -->  4 (190 rows)
    row        0:37, behind 4 deleted ones             -->  4:33
    zone       1:[0, 50)                               -->  4:[90, 140)

The live rows of the old fragments become those of the new ones, in the same order. A new fragment may have been
rewritten again. Other mappings are not followed: no old index entry applies to their new fragments.

Source: message FragmentReuseIndexDetails; fragment reuse index, ordered compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.proto import table_pb2
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64
from lance_sql.values.bitmaps import deserialize_64
from lance_sql.values.row_ranges import RowRanges

NOWHERE: Final = np.uint64(2**64 - 1)
"""Address of a row that was deleted. There is no such fragment."""

MAX_VERSION: Final = 1
"""Last supported version of the index details."""

# Offsets of deleted rows take four bytes each; a file may claim 2^32 of them.
_MOST_DELETED: Final = 1 << 26
_LOW: Final = np.uint64(2**32 - 1)
_MAX_ROWS: Final = 2**32


@dataclass(frozen=True)
class Transition:
    """A rewrite of fragments into others.

    sources, destinations: their ids
    deleted: physical offsets of deleted rows of each source, ascending; None for a mapping that is not followed
    starts: position of each source's first live row among all live rows, then their number: int64[k + 1]
    sizes: physical rows of each source
    ends: the position behind the last row of each destination: int64[m]
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    deleted: tuple[I64, ...] | None
    starts: I64
    sizes: tuple[int, ...]
    ends: I64

    def size(self, destination: int) -> int:
        index = self.destinations.index(destination)
        return int(self.ends[index] - (self.ends[index - 1] if index else 0))

    def positions(self, source: int, offsets: I64) -> I64:
        """Returns the positions of rows among all live rows; -1 for deleted rows and offsets past the end."""
        assert self.deleted is not None
        index = self.sources.index(source)
        before = np.searchsorted(self.deleted[index], offsets)
        gone = offsets >= self.sizes[index]
        if len(self.deleted[index]):
            nearest = self.deleted[index][np.minimum(before, len(self.deleted[index]) - 1)]
            gone |= nearest == offsets
        positions: I64 = np.where(gone, -1, self.starts[index] + offsets - before)
        return positions

    def addresses(self, positions: I64) -> U64:
        """Returns the addresses of rows by their positions."""
        indices = np.searchsorted(self.ends, positions, side="right")
        firsts = np.concatenate((np.zeros(1, np.int64), self.ends))[indices]
        # one more for positions past the end
        ids = np.array([*self.destinations, 0], np.uint64)[indices]
        addresses: U64 = ids << np.uint64(32) | (positions - firsts).astype(np.uint64)
        return np.where((positions < 0) | (indices >= len(self.destinations)), NOWHERE, addresses)

    def ranges(self, source: int, starts: I64, ends: I64) -> tuple[I64, I64, I64, I64]:
        """Maps ranges of a source's rows to ranges of the destinations' rows.

        returns: fragment ids, starts, ends, and the number of the input range of each one
        """
        assert self.deleted is not None
        index = self.sources.index(source)
        bounds = np.minimum(np.stack((starts, ends)), self.sizes[index])
        first, last = self.starts[index] + bounds - np.searchsorted(self.deleted[index], bounds)
        ranges = []
        begin = 0
        for destination, end in zip(self.destinations, self.ends.tolist(), strict=True):
            inside = np.flatnonzero((first < end) & (last > begin) & (last > first))
            if len(inside):
                parts = np.maximum(first[inside], begin) - begin, np.minimum(last[inside], end) - begin
                ranges.append((np.full(len(inside), destination, np.int64), *parts, inside))
            begin = end
        if not ranges:
            nothing = np.empty(0, np.int64)
            return nothing, nothing, nothing, nothing
        ids, begins, stops, numbers = (np.concatenate(column) for column in zip(*ranges, strict=True))
        return ids, begins, stops, numbers


class FragmentReuse:
    """All rewrites of a table that its indices do not include yet."""

    def __init__(self, transitions: Iterable[Transition]) -> None:
        """
        raises: CorruptFile for a fragment that is a source or destination twice, or made of newer ones
        """
        self._consumers: dict[int, Transition] = {}
        self._producers: dict[int, Transition] = {}
        for each in transitions:
            for known, ids in ((self._consumers, each.sources), (self._producers, each.destinations)):
                if len(set(ids)) < len(ids) or known.keys() & set(ids):
                    raise CorruptFile("the fragment reuse index has a fragment twice")
                known.update(dict.fromkeys(ids, each))
            # ids of fragments only grow, so following the rewrites terminates
            if each.sources and each.destinations and max(each.sources) >= min(each.destinations):
                raise CorruptFile(f"fragment {min(each.destinations)} is recorded as made of {max(each.sources)}")

    def sources(self, fragment_ids: Collection[int]) -> set[int]:
        """Returns these fragments and all fragments they were rewritten from, directly or indirectly."""
        sources: set[int] = set()
        left = list(fragment_ids)
        while left:
            number = left.pop()
            if number not in sources:
                sources.add(number)
                if number in self._producers:
                    left += self._producers[number].sources
        return sources

    def moved(self, addresses: U64) -> U64:
        """Maps old addresses of rows to current ones; `NOWHERE` for rows that are gone. Addresses under mappings that
        are not followed stay."""
        addresses = addresses.copy()
        left: npt.NDArray[np.intp] = np.arange(len(addresses))
        while len(left):
            ids = addresses[left] >> np.uint64(32)
            moved = []
            for number in np.unique(ids).tolist():
                transition = self._consumers.get(number)
                if transition is None or transition.deleted is None:
                    continue
                rows = left[ids == number]
                offsets = (addresses[rows] & _LOW).astype(np.int64)
                addresses[rows] = transition.addresses(transition.positions(number, offsets))
                moved.append(rows)
            left = np.concatenate(moved) if moved else np.empty(0, np.intp)
        return addresses

    def moved_ranges(self, ids: I64, starts: I64, ends: I64) -> tuple[I64, I64, I64, I64]:
        """Maps ranges of rows of fragments to current ranges. A range may be split; one without live rows is dropped.

        returns: fragment ids, starts, ends, and the number of the input range of each one
        """
        numbers = np.arange(len(ids))
        while True:
            fragment_ids = np.unique(ids)
            rewritten = [number for number in fragment_ids.tolist() if number in self._consumers]
            if not rewritten:
                return ids, starts, ends, numbers
            still = ~np.isin(ids, rewritten)
            parts = [(ids[still], starts[still], ends[still], numbers[still])]
            for number in rewritten:
                transition = self._consumers[number]
                if transition.deleted is not None:
                    mine = np.flatnonzero(ids == number)
                    *ranges, origins = transition.ranges(number, starts[mine], ends[mine])
                    parts.append((ranges[0], ranges[1], ranges[2], numbers[mine][origins]))
            ids, starts, ends, numbers = (np.concatenate(column) for column in zip(*parts, strict=True))

    def unknown_rows(self, fragment_ids: Collection[int], covered: Collection[int]) -> dict[int, RowRanges]:
        """Returns the rows of fragments that index entries do not cover. Fragments that are not covered at all are
        left out.

        covered: the fragments that the index covered at any time
        """
        unknown: dict[int, RowRanges] = {}
        # sources come before their destinations
        for number in sorted(self.sources(fragment_ids)):
            transition = self._producers.get(number)
            if number in covered:
                unknown[number] = row_ranges.EMPTY
            elif transition is not None and transition.deleted is not None:
                known = _known_rows(number, transition, unknown)
                if len(known):
                    unknown[number] = row_ranges.difference(row_ranges.single(0, transition.size(number)), known)
        return {number: unknown[number] for number in fragment_ids if number in unknown}


def _known_rows(destination: int, transition: Transition, unknown: Mapping[int, RowRanges]) -> RowRanges:
    """Returns the rows of a destination that were covered rows of a source."""
    known = row_ranges.EMPTY
    for source, size in zip(transition.sources, transition.sizes, strict=True):
        if source in unknown:
            rows = row_ranges.difference(row_ranges.single(0, size), unknown[source])
            ids, starts, ends, _ = transition.ranges(source, rows[:, 0], rows[:, 1])
            mine = ids == destination
            known = row_ranges.union(known, np.stack((starts[mine], ends[mine]), axis=1))
    return known


def parse(details: bytes, external: Callable[[str, int, int], bytes]) -> FragmentReuse:
    """Parses the history in the details of the index.

    external: reads a range of a file in the folder of the index: its name, offset and size
    raises: CorruptFile, UnsupportedFeature
    """
    with at():
        message = table_pb2.FragmentReuseIndexDetails.FromString(details)
        content = message.inline
        if message.HasField("external"):
            file = message.external
            content = table_pb2.FragmentReuseIndexDetails.InlineContent.FromString(
                external(file.path, file.offset, file.size)
            )
    made = [
        _transition(group.old_fragments, group.new_fragments, group.changed_row_addrs)
        for version in content.versions
        for group in version.groups
    ]
    for each in content.transitions:
        rows = each.ordered_compaction.changed_row_addrs if each.HasField("ordered_compaction") else None
        made.append(_transition(each.sources, each.destinations, rows))
    return FragmentReuse(made)


def _transition(
    sources: Sequence[table_pb2.FragmentReuseIndexDetails.FragmentDigest],
    destinations: Sequence[table_pb2.FragmentReuseIndexDetails.FragmentDigest],
    live: bytes | None,
) -> Transition:
    for digest in (*sources, *destinations):
        if digest.id >= 2**32 or digest.physical_rows > _MAX_ROWS:
            raise CorruptFile(f"the fragment reuse index has fragment {digest.id} of {digest.physical_rows} rows")
    sizes = tuple(source.physical_rows for source in sources)
    ends = np.cumsum([destination.physical_rows for destination in destinations], dtype=np.int64)
    ids = tuple(source.id for source in sources), tuple(destination.id for destination in destinations)
    if live is None:
        return Transition(*ids, None, np.zeros(len(sizes) + 1, np.int64), sizes, ends)
    deleted = _deleted(live, dict(zip(ids[0], sizes, strict=False)))
    starts = np.cumsum([0, *(size - len(gone) for size, gone in zip(sizes, deleted, strict=True))], dtype=np.int64)
    if starts[-1] != (ends[-1] if len(ends) else 0):
        raise CorruptFile(f"{starts[-1]} live rows of fragments {ids[0]} became {ends[-1:]} rows")
    return Transition(*ids, deleted, starts, sizes, ends)


def _deleted(live: bytes, sizes: Mapping[int, int]) -> tuple[I64, ...]:
    """Returns the offsets of the deleted rows of fragments.

    live: addresses of the live rows, as a bitmap
    sizes: physical rows by id
    """
    from pyroaring import BitMap64

    addresses = deserialize_64(live)
    offsets = []
    left = _MOST_DELETED
    for number, size in sizes.items():
        gone = BitMap64(range(number << 32, (number << 32) + size)) - addresses
        left -= len(gone)
        if left < 0:
            raise UnsupportedFeature(
                f"a fragment reuse index with more than {_MOST_DELETED} deleted rows is not supported"
            )
        offsets.append((np.array(gone.to_array(), np.uint64) & _LOW).astype(np.int64))
    return tuple(offsets)
