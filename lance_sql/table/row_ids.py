"""Row ids: one per physical row of a fragment, including deleted rows.

A sequence stays in its segments: the single range of an unchanged fragment takes constant memory for any number of
rows.

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
from lance_sql.table.segments import IdRange, Segment
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64

MOST_EXPANDED: Final = 4 * 1024 * 1024
"""Maximum number of ids that are expanded to find their smallest form."""


@dataclass(frozen=True, slots=True)
class RowIds:
    """Row ids of a fragment: the concatenated values of the segments."""

    segments: tuple[Segment, ...]

    @property
    def num_rows(self) -> int:
        """Number of physical rows."""
        return sum(segment.num_values for segment in self.segments)

    @property
    def num_bytes(self) -> int:
        """Memory of the segments."""
        return sum(segment.num_bytes for segment in self.segments)

    def as_range(self) -> IdRange | None:
        """Returns the only range that the ids are; None for others."""
        only = self.segments[0] if len(self.segments) == 1 else None
        return only if isinstance(only, IdRange) else None

    def bounds(self) -> tuple[int, int] | None:
        """Returns a lower and an upper bound of the ids; None without rows."""
        if (only := self.as_range()) is not None and only.end > only.start:
            return only.start, only.end - 1
        bounds = [segment.bounds() for segment in self.segments if segment.num_values]
        if not bounds:
            return None
        return min(least for least, _ in bounds), max(greatest for _, greatest in bounds)

    def expand(self, start: int = 0, end: int | None = None) -> U64:
        """Returns the ids of the physical rows [start, end).

        Allocates the requested number of ids: check the row count against the data files first.
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
        """Returns the ids of the rows at these physical offsets, which must be below `num_rows`."""
        if (only := self.as_range()) is not None:
            return np.uint64(only.start) + offsets.astype(np.uint64)
        ids: U64 = self.expand()[offsets]
        return ids

    def slice(self, start: int, end: int) -> RowIds:
        """Returns the ids of the existing physical rows in [start, end). Expands no range."""
        parts = []
        before = 0
        for segment in self.segments:
            first, last = max(start - before, 0), min(end - before, segment.num_values)
            if first < last:
                parts.append(segment if (first, last) == (0, segment.num_values) else segment.slice(first, last))
            before += segment.num_values
        return RowIds(tuple(parts))

    def runs(self) -> tuple[I64, U64]:
        """Returns runs of consecutive ids: the first row of each, and its id. Expands no range."""
        starts, values = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        before = 0
        for segment in self.segments:
            firsts, ids = segment.runs()
            starts.append(firsts + before)
            values.append(ids)
            before += segment.num_values
        return np.concatenate(starts), np.concatenate(values)

    def positions(self, ids: U64) -> tuple[I64, I64]:
        """Returns the positions of these ids in the fragment.

        ids: in any order
        returns: (index_in_ids, offsets), parallel: ids[index_in_ids[i]] is the id of physical row offsets[i].
            In no particular order; a missing id does not occur, an id of two rows occurs twice.
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
    """Parses row ids from a serialized sequence. Nothing is expanded.

    num_rows: physical rows of the fragment
    raises: CorruptFile for bytes that are not a sequence, and for a sequence of another length
    """
    with at():
        message = row_ids_pb2.RowIdSequence.FromString(data)
        ids = RowIds(tuple([segments.parse(segment) for segment in message.segments]))
        if ids.num_rows != num_rows:
            raise CorruptFile(f"the row id sequence has {ids.num_rows} ids for a fragment of {num_rows} rows")
        return ids


def parse_prefix(data: bytes, max_rows: int) -> RowIds:
    """Parses the row ids of the first rows of a fragment from a transaction; the others have none yet.

    max_rows: physical rows of the fragment
    raises: CorruptFile for bytes that are not a sequence, and for more ids than rows
    """
    with at():
        message = row_ids_pb2.RowIdSequence.FromString(data)
        ids = RowIds(tuple([segments.parse(segment) for segment in message.segments]))
        if ids.num_rows > max_rows:
            raise CorruptFile(f"the row id sequence has {ids.num_rows} ids for a fragment of {max_rows} rows")
        return ids


def serialize(ids: RowIds | U64) -> bytes:
    """Serializes row ids. Segments keep their forms, and values get the smallest one."""
    parts = ids.segments if isinstance(ids, RowIds) else (segments.smallest(ids),)
    message = row_ids_pb2.RowIdSequence(segments=[segments.serialize(part) for part in parts])
    return bytes(message.SerializeToString())


def serialize_smallest(ids: RowIds) -> bytes:
    """Serializes row ids as one segment of the smallest form. Many ids use several segments, and are never all
    expanded."""
    if ids.num_rows <= MOST_EXPANDED:
        return serialize(ids.expand())
    return serialize(RowIds(tuple(_joined(ids.segments))))


def _joined(parts: Iterable[Segment]) -> Iterator[Segment]:
    """Yields the segments, with adjacent ranges merged."""
    held: Segment | None = None
    for part in parts:
        if isinstance(held, IdRange) and isinstance(part, IdRange) and held.end == part.start:
            held = IdRange(held.start, part.end)
            continue
        if held is not None:
            yield held
        held = part
    if held is not None:
        yield held


def from_values(ids: U64) -> RowIds:
    """Returns the row ids of a hidden column."""
    return RowIds((segments.of_values(ids),))


def addresses(fragment_id: int, num_rows: int) -> RowIds:
    """Returns the row addresses of a fragment, which are the row ids of tables without stable ones.

    An address has the fragment id in its high half and the physical offset in its low half.
    """
    start = fragment_id << 32
    return RowIds((IdRange(start, start + num_rows),))
