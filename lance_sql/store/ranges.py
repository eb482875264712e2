"""Planning of requests for byte ranges of a remote file.

A request costs a round trip, in which a connection could transfer a megabyte or two. Ranges with small gaps are
therefore merged into one, and long ones are divided over connections:

    wanted         |aa|    |bb|            |ccccccccccccccccccc|   |dd|
    requests       |----------|            |---------|----------------|
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from lance_sql.store.contract import ByteRange

GAP_BYTES: Final = 64 * 1024
"""Gaps up to this size are always read over: they arrive before another request would have been sent."""

ROUND_TRIP_BYTES: Final = 1024 * 1024
"""About the number of bytes that a connection to a cloud store transfers in the time of a request."""

PART_BYTES: Final = 4 * 1024 * 1024
"""Longer ranges are requested in parts of this size, over several connections."""

LEAST_OVER_READ: Final = 4 * 1024 * 1024
"""This many unneeded bytes may always be read; more only if four times as many are wanted."""


class Placement(NamedTuple):
    """The place of a range: `offset` bytes into part number `part`, continued in the following parts."""

    part: int
    offset: int


def merge(
    ranges: Sequence[ByteRange], gap: int = ROUND_TRIP_BYTES, part_bytes: int = PART_BYTES
) -> tuple[list[ByteRange], list[Placement]]:
    """Returns the parts of a file to request, in ascending order, and the place of each range in them.

    gap: ranges at most this many bytes apart are merged; see `LEAST_OVER_READ`
    part_bytes: no part is longer; those of one stretch follow each other without a gap
    """
    order = sorted(range(len(ranges)), key=ranges.__getitem__)
    placements = [Placement(0, 0)] * len(ranges)
    gap = _affordable([ranges[i] for i in order], gap)
    parts: list[ByteRange] = []
    members: list[int] = []
    start = end = 0
    for i in order:
        if members and ranges[i].start - end > gap:
            _add_parts(ByteRange(start, end), members, ranges, part_bytes, parts, placements)
            members = []
        start, end = (start, max(end, ranges[i].end)) if members else ranges[i]
        members.append(i)
    if members:
        _add_parts(ByteRange(start, end), members, ranges, part_bytes, parts, placements)
    return parts, placements


def cut_out(
    ranges: Sequence[ByteRange], placements: Sequence[Placement], contents: Sequence[pa.Buffer]
) -> list[pa.Buffer]:
    """Returns the bytes of each range, without a copy if possible.

    contents: of the parts
    """
    return [
        contents[placement.part].slice(placement.offset, end - start)
        if placement.offset + end - start <= contents[placement.part].size
        else _joined(placement, end - start, contents)
        for placement, (start, end) in zip(placements, ranges, strict=True)
    ]


def _affordable(ranges: Sequence[ByteRange], gap: int) -> int:
    """Returns the gap, or a smaller one if too many unneeded bytes would be read.

    ranges: ascending
    """
    if gap <= GAP_BYTES:
        return gap
    over: list[int] = []
    end = wanted = 0
    for i, each in enumerate(ranges):
        if i and GAP_BYTES < each.start - end <= gap:
            over.append(each.start - end)
        wanted += max(each.end - max(each.start, end), 0)
        end = max(end, each.end)
    left = max(wanted // 4, LEAST_OVER_READ)
    affordable = GAP_BYTES
    for size in sorted(over):
        left -= size
        if left < 0:
            return min(affordable, size - 1)
        affordable = size
    return gap


def _add_parts(
    stretch: ByteRange,
    members: Sequence[int],
    ranges: Sequence[ByteRange],
    part_bytes: int,
    parts: list[ByteRange],
    placements: list[Placement],
) -> None:
    """Adds the parts of a stretch, and the places of its members in them."""
    first = len(parts)
    size = stretch.end - stretch.start
    count = max(-(-size // part_bytes), 1)
    length = max(-(-size // count), 1)
    edges = [stretch.start + min(i * length, size) for i in range(count + 1)]
    parts.extend(ByteRange(start, end) for start, end in pairwise(edges))
    for i in members:
        number, offset = divmod(ranges[i].start - stretch.start, length)
        # an empty range may be at the very end
        placements[i] = Placement(first + number, offset) if number < count else Placement(first, 0)


def _joined(placement: Placement, size: int, contents: Sequence[pa.Buffer]) -> pa.Buffer:
    """Joins a range that is in several parts. Copies without the interpreter's lock, into recycled memory."""
    joined = pa.allocate_buffer(size)
    into = np.frombuffer(joined, np.uint8)
    part, offset = placement
    done = 0
    while done < size:
        piece = np.frombuffer(contents[part], np.uint8)[offset : offset + size - done]
        np.copyto(into[done : done + len(piece)], piece)
        done += len(piece)
        part, offset = part + 1, 0
    return joined
