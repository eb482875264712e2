"""Row ids: one per physical row of a fragment, deleted rows included.

A sequence stays in its segments: the one range of a fragment that was never touched costs nothing, however
many rows it has.

Source: message lance.table.RowIdSequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile, at
from lance_sql.format.proto import row_ids_pb2
from lance_sql.table import segments
from lance_sql.table.segments import Range, Segment
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64

MOST_EXPANDED: Final = 4 * 1024 * 1024
"""So many ids at most are expanded to find the smallest form for them."""


@dataclass(frozen=True, slots=True)
class RowIds:
    """The row ids of a fragment: the values of the segments, one after the other."""

    segments: tuple[Segment, ...]

    @property
    def num_rows(self) -> int:
        """Physical rows."""
        return sum(segment.num_values for segment in self.segments)

    @property
    def num_bytes(self) -> int:
        """Memory that the segments take."""
        return sum(segment.num_bytes for segment in self.segments)

    def bounds(self) -> tuple[int, int] | None:
        """No id is below the first or above the second number; None when there are no rows."""
        bounds = [segment.bounds() for segment in self.segments if segment.num_values]
        if not bounds:
            return None
        return min(least for least, _ in bounds), max(greatest for _, greatest in bounds)

    def expand(self, start: int = 0, end: int | None = None) -> U64:
        """The ids of the physical rows [start, end).

        As many are allocated as were asked for: check the row count against the data files first.
        """
        end = self.num_rows if end is None else end
        row_ranges.check_held(end - start)
        parts = []
        before = 0
        for segment in self.segments:
            num_values = segment.num_values
            first, last = max(start - before, 0), min(end - before, num_values)
            if first < last:
                whole = first == 0 and last == num_values
                parts.append((segment if whole else segment.slice(first, last)).expand())
            before += num_values
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else np.empty(0, np.uint64)

    def take(self, offsets: npt.NDArray[np.integer]) -> U64:
        """The ids of the rows at these physical offsets, which must be below `num_rows`."""
        if len(self.segments) == 1 and isinstance(self.segments[0], Range):
            return np.uint64(self.segments[0].start) + offsets.astype(np.uint64)
        ids: U64 = self.expand()[offsets]
        return ids

    def slice(self, start: int, end: int) -> RowIds:
        """The ids of the physical rows [start, end), as far as there are such rows. No range is expanded."""
        parts = []
        before = 0
        for segment in self.segments:
            first, last = max(start - before, 0), min(end - before, segment.num_values)
            if first < last:
                parts.append(segment if (first, last) == (0, segment.num_values) else segment.slice(first, last))
            before += segment.num_values
        return RowIds(tuple(parts))

    def runs(self) -> tuple[I64, U64]:
        """The ids as runs of such that follow each other: the first row of each, and its id. No range is expanded."""
        starts, values = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        before = 0
        for segment in self.segments:
            firsts, ids = segment.runs()
            starts.append(firsts + before)
            values.append(ids)
            before += segment.num_values
        return np.concatenate(starts), np.concatenate(values)

    def positions(self, ids: U64) -> tuple[I64, I64]:
        """Where these ids are in the fragment.

        ids: in any order
        returns: (index_in_ids, offsets), parallel: ids[index_in_ids[i]] is the id of physical row offsets[i].
            In no particular order; an id that is not here does not occur, one that two rows have occurs twice.
        """
        wanted_indices, offsets = [], []
        before = 0
        for segment in self.segments:
            indices, numbers = segment.positions(ids)
            wanted_indices.append(indices)
            offsets.append(numbers + before)
            before += segment.num_values
        if not wanted_indices:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(wanted_indices), np.concatenate(offsets)


def parse(data: bytes, num_rows: int) -> RowIds:
    """The row ids in a serialized sequence. Nothing is expanded.

    num_rows: physical rows of the fragment
    raises: CorruptFile for bytes that are no sequence, and for a sequence of another length
    """
    with at():
        message = row_ids_pb2.RowIdSequence.FromString(data)
        ids = RowIds(tuple([segments.parse(segment) for segment in message.segments]))
        if ids.num_rows != num_rows:
            raise CorruptFile(f"the row id sequence has {ids.num_rows} ids for a fragment of {num_rows} rows")
        return ids


def parse_prefix(data: bytes, max_rows: int) -> RowIds:
    """The row ids of the first rows of a fragment, as transactions hold them; the others have none yet.

    max_rows: physical rows of the fragment
    raises: CorruptFile for bytes that are no sequence, and for more ids than rows
    """
    with at():
        message = row_ids_pb2.RowIdSequence.FromString(data)
        ids = RowIds(tuple([segments.parse(segment) for segment in message.segments]))
        if ids.num_rows > max_rows:
            raise CorruptFile(f"the row id sequence has {ids.num_rows} ids for a fragment of {max_rows} rows")
        return ids


def serialize(ids: RowIds | U64) -> bytes:
    """The serialized sequence; segments keep their forms, and values get the smallest one."""
    parts = ids.segments if isinstance(ids, RowIds) else (segments.smallest(ids),)
    message = row_ids_pb2.RowIdSequence(segments=[segments.serialize(part) for part in parts])
    return bytes(message.SerializeToString())


def serialize_smallest(ids: RowIds) -> bytes:
    """The serialized sequence, in one segment of the smallest form; of many ids in several, which are never all
    expanded."""
    if ids.num_rows <= MOST_EXPANDED:
        return serialize(ids.expand())
    return serialize(RowIds(tuple(_joined(ids.segments))))


def _joined(parts: Iterable[Segment]) -> Iterator[Segment]:
    """The segments, and one for ranges of which each begins where the one before ends."""
    held: Segment | None = None
    for part in parts:
        if isinstance(held, Range) and isinstance(part, Range) and held.end == part.start:
            held = Range(held.start, part.end)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def from_values(ids: U64) -> RowIds:
    """The row ids in a hidden column."""
    return RowIds((segments.of_values(ids),))


def addresses(fragment_id: int, num_rows: int) -> RowIds:
    """The row addresses of a fragment, which are the row ids of tables without stable ones.

    An address has the fragment id in its high half and the physical offset in its low half.
    """
    start = fragment_id << 32
    return RowIds((Range(start, start + num_rows),))
