"""Roaring bitmaps: in files, and as compact sets of 64-bit numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lance_sql.errors import CorruptFile
from lance_sql.values.arrays import U32, U64

if TYPE_CHECKING:
    from pyroaring import BitMap, BitMap64


_NUMBERS_AT_ONCE = 1 << 16
_LOW_HALF = np.uint64(2**32 - 1)


def deserialize(content: bytes, what: str) -> BitMap:
    """Deserializes a set. A few bytes of runs can stand for 2^32 numbers: check its length before reading them.

    what: noun for the numbers, for messages
    raises: CorruptFile
    """
    # imported here, because it takes a few milliseconds that most tables do not need
    from pyroaring import BitMap

    try:
        # also checks the counts that the containers claim
        return BitMap.deserialize(content)
    except ValueError as error:
        raise CorruptFile(f"not a bitmap of {what} ({error})") from error


def deserialize_64(content: bytes) -> BitMap64:
    """Deserializes a set of 64-bit row numbers. Here too, a few bytes of runs can stand for very many.

    raises: CorruptFile
    """
    from pyroaring import BitMap64

    try:
        return BitMap64.deserialize(content)
    except (ValueError, IndexError) as error:
        raise CorruptFile(f"not a bitmap of rows ({error})") from error


def bitmap(numbers: U32) -> BitMap:
    """Returns the set of these numbers."""
    from pyroaring import BitMap

    # an array of this type is read as a whole, NumPy's number by number
    return BitMap(array("I", numbers.astype(np.uint32, copy=False).tobytes()))


def halves(numbers: U64) -> dict[int, U32]:
    """Returns the low 32 bits of numbers by their high ones, ascending. For row addresses: the offsets by fragment."""
    if not len(numbers):
        return {}
    is_ascending = bool((numbers[1:] >= numbers[:-1]).all())
    ordered = numbers if is_ascending else np.sort(numbers)
    high = ordered >> np.uint64(32)
    low = (ordered & _LOW_HALF).astype(np.uint32)
    if high[0] == high[-1]:
        return {int(high[0]): low}
    starts = np.flatnonzero(high[1:] != high[:-1]) + 1
    parts = np.split(low, starts)
    return dict(zip(high[np.append(0, starts)].tolist(), parts, strict=True))


@dataclass(frozen=True)
class U64Set:
    """A set of 64-bit numbers, such as row ids or addresses. Picklable.

    A random fifth of all numbers takes 0.6 bytes each. Single ones take 2, and a few for every 65,536 between them.

    parts: the low halves by the high half; none is empty
    """

    parts: Mapping[int, BitMap]

    @classmethod
    def of(cls, numbers: U64) -> U64Set:
        """Builds the set of these numbers, in any order and with duplicates."""
        # part by part, so that sorting takes little memory
        parts: dict[int, BitMap] = {}
        for start in range(0, len(numbers), _NUMBERS_AT_ONCE):
            for high, low in halves(numbers[start : start + _NUMBERS_AT_ONCE]).items():
                if high in parts:
                    parts[high] |= bitmap(low)
                else:
                    parts[high] = bitmap(low)
        return cls(parts)

    @classmethod
    def union(cls, sets: Iterable[U64Set]) -> U64Set:
        """Returns the numbers of all sets."""
        parts: dict[int, BitMap] = {}
        for each in sets:
            for high, low in each.parts.items():
                if high in parts:
                    parts[high] |= low
                else:
                    parts[high] = low.copy()
        return cls(parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts.values()))

    def __sub__(self, other: U64Set) -> U64Set:
        left = {high: low - other.parts[high] if high in other.parts else low for high, low in self.parts.items()}
        return U64Set({high: low for high, low in left.items() if low})

    @property
    def halves(self) -> Mapping[int, U32]:
        """Mapping like the result of the function `halves`. Each array is created on access, and not cached."""
        return _Halves(self.parts)


class _Halves(Mapping[int, U32]):
    def __init__(self, parts: Mapping[int, BitMap]) -> None:
        self._parts = parts

    def __getitem__(self, high: int) -> U32:
        return np.array(self._parts[high].to_array(), np.uint32)

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._parts))

    def __len__(self) -> int:
        return len(self._parts)
