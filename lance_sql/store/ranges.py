"""Merging of neighbouring byte ranges: a request costs more than the few bytes between two ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lance_sql.store.contract import ByteRange

# About what a cloud store delivers in the time of one request.
DEFAULT_GAP = 64 * 1024
DEFAULT_MAX_SIZE = 16 * 1024 * 1024


class Placement(NamedTuple):
    """Where a range asked for lies: `offset` bytes into merged range number `part`."""

    part: int
    offset: int


def merge(
    ranges: Sequence[ByteRange], gap: int = DEFAULT_GAP, max_size: int = DEFAULT_MAX_SIZE
) -> tuple[list[ByteRange], list[Placement]]:
    """Fewer ranges that cover the given ones, in ascending order, and where each given one lies in them.

    gap: ranges at most this many bytes apart become one
    max_size: a merged range grows no further; a longer range that was asked for stays whole
    """
    merged: list[ByteRange] = []
    placements = [Placement(0, 0)] * len(ranges)
    for i in sorted(range(len(ranges)), key=ranges.__getitem__):
        start, end = ranges[i]
        if merged:
            last = merged[-1]
            joined = ByteRange(last.start, max(last.end, end))
            if end <= last.end or (start - last.end <= gap and joined.end - joined.start <= max_size):
                merged[-1] = joined
                placements[i] = Placement(len(merged) - 1, start - last.start)
                continue
        merged.append(ByteRange(start, end))
        placements[i] = Placement(len(merged) - 1, 0)
    return merged, placements
