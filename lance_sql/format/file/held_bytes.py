"""Prefetched bytes of a file, by position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

import pyarrow as pa

from lance_sql.store import ByteRange


class HeldBytes:
    """Parts of a file in memory. Immutable."""

    def __init__(self, ranges: Sequence[ByteRange], contents: Sequence[pa.Buffer]) -> None:
        """
        ranges: ascending, without overlaps
        contents: of each
        """
        self._starts = [each.start for each in ranges]
        self._ranges = ranges
        self._contents = contents

    def find(self, start: int, end: int) -> pa.Buffer | None:
        """Returns the bytes [start, end), or None unless all are in one part."""
        index = bisect_right(self._starts, start) - 1
        if index < 0 or end > self._ranges[index].end:
            return None
        return self._contents[index].slice(start - self._ranges[index].start, end - start)


def read(ranges: Sequence[ByteRange], fetch: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]) -> HeldBytes:
    """Reads these ranges, and joins those that touch."""
    joined: list[ByteRange] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1].end:
            joined[-1] = ByteRange(joined[-1].start, max(joined[-1].end, end))
        elif start < end:
            joined.append(ByteRange(start, end))
    assert all(before.end < after.start for before, after in pairwise(joined))
    return HeldBytes(joined, fetch(joined) if joined else ())
