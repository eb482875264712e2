"""Sets of rows in index files: numbers of 64 bits as a bitmap of the lower half for each upper half.

    u32 entries | u32 upper half, u32 length, 32-bit roaring bitmap | ...      length 0: every row with this upper half

A number is the address of a row, whose upper half is a fragment, or a stable row id.

Source: indices, RowAddrTreeMap.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lance_sql.errors import CorruptFile, at
from lance_sql.values import bitmaps
from lance_sql.values.arrays import U64

if TYPE_CHECKING:
    from pyroaring import BitMap


_COUNT: Final = struct.Struct("<I")
_ENTRY: Final = struct.Struct("<II")

MAX_NUMBERS: Final = 1 << 24
"""Larger sets are not expanded: a few bytes can represent 2^32 numbers."""


@dataclass(frozen=True, slots=True)
class RowSet:
    """Row numbers.

    numbers: ascending, distinct: uint64[n]
    whole: upper halves with all numbers in the set, ascending: uint64[k]
    """

    numbers: U64
    whole: U64


def parse(data: bytes | memoryview, *, keys: U64 | None = None, most: int = MAX_NUMBERS) -> RowSet | None:
    """Parses a serialized set; returns None if it has more than `most` numbers.

    keys: return only these upper halves; all by default
    raises: CorruptFile
    """
    wanted = None if keys is None else frozenset(keys.tolist())
    parts, whole = [], []
    total = 0
    for upper, bitmap in _entries(data):
        if wanted is not None and upper not in wanted:
            continue
        if bitmap is None:
            whole.append(upper)
            continue
        total += len(bitmap)
        if total > min(most, MAX_NUMBERS):
            return None
        parts.append(np.array(bitmap.to_array(), np.uint32).astype(np.uint64) | np.uint64(upper << 32))
    numbers = np.concatenate(parts) if parts else np.empty(0, np.uint64)
    if len(parts) > 1 and (numbers[1:] <= numbers[:-1]).any():
        numbers = np.unique(numbers)
    return RowSet(numbers, np.unique(np.array(whole, np.uint64)))


def check(data: bytes | memoryview) -> None:
    """Makes sure that bytes are a valid set, without building it.

    raises: CorruptFile
    """
    for _ in _entries(data):
        pass


def _entries(data: bytes | memoryview) -> Iterator[tuple[int, BitMap | None]]:
    """Yields the upper halves of a set with the lower ones of each; None for all of them.

    raises: CorruptFile
    """
    data = memoryview(data)
    with at():
        if len(data) < _COUNT.size:
            raise CorruptFile(f"a set of rows in {len(data)} bytes")
        (count,) = _COUNT.unpack_from(data)
        position = _COUNT.size
        for _ in range(count):
            if position + _ENTRY.size > len(data):
                raise CorruptFile(f"a set of {count} entries of rows ends at byte {len(data)}")
            upper, length = _ENTRY.unpack_from(data, position)
            position += _ENTRY.size
            if position + length > len(data):
                raise CorruptFile(f"a bitmap of {length} bytes at byte {position} of {len(data)}")
            content = data[position : position + length].tobytes()
            yield upper, bitmaps.deserialize(content, "rows") if length else None
            position += length
        if position != len(data):
            raise CorruptFile(f"{len(data) - position} bytes behind a set of rows")


class GrowingSet:
    """A growing set in compressed form."""

    __slots__ = ("_bitmaps",)

    def __init__(self) -> None:
        self._bitmaps: dict[int, BitMap] = {}

    def add(self, numbers: U64) -> None:
        """Adds numbers, in any order."""
        uppers = numbers >> np.uint64(32)
        edges = [0, *(np.flatnonzero(uppers[1:] != uppers[:-1]) + 1).tolist(), len(numbers)]
        for first, end in itertools.pairwise(edges):
            if end > first:
                lower = bitmaps.bitmap(numbers[first:end].astype(np.uint32))
                upper = int(uppers[first])
                bitmap = self._bitmaps.get(upper)
                if bitmap is None:
                    self._bitmaps[upper] = lower
                else:
                    bitmap |= lower

    def serialize(self) -> bytes:
        """Serializes the set."""
        parts = [_COUNT.pack(len(self._bitmaps))]
        for upper, bitmap in sorted(self._bitmaps.items()):
            bitmap.run_optimize()
            content = bitmap.serialize()
            parts += [_ENTRY.pack(upper, len(content)), content]
        return b"".join(parts)


def serialize(numbers: U64) -> bytes:
    """Serializes a set of these numbers."""
    growing = GrowingSet()
    growing.add(numbers)
    return growing.serialize()


def union(sets: Iterable[RowSet]) -> RowSet:
    parts = list(sets)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return RowSet(np.empty(0, np.uint64), np.empty(0, np.uint64))
    return RowSet(
        np.unique(np.concatenate([each.numbers for each in parts])),
        np.unique(np.concatenate([each.whole for each in parts])),
    )
