"""Bytes of a file that were asked for ahead of whoever looks at them, and where they are."""

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
        """The bytes [start, end); None where they are not all in one part."""
        place = bisect_right(self._starts, start) - 1
        if place < 0 or end > self._ranges[place].end:
            return None
        return self._contents[place].slice(start - self._ranges[place].start, end - start)


def read(ranges: Sequence[ByteRange], fetch: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]) -> HeldBytes:
    """These ranges, those that touch as one."""
    found: list[ByteRange] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1].end:
            found[-1] = ByteRange(found[-1].start, max(found[-1].end, end))
        elif start < end:
            found.append(ByteRange(start, end))
    assert all(before.end < after.start for before, after in pairwise(found))
    return HeldBytes(found, fetch(found) if found else ())
