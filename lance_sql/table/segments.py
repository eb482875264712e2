"""Segments: compact lists of unsigned 64-bit values.

    Range            start, start + 1, ... end - 1
    RangeWithHoles   the range without some ascending values
    RangeWithBitmap  value start + i if bit i is set, least significant bit of the first byte first
    Values           any values in any order; searching sorted ones is faster

The number of values is known, and checked by the caller, before any of them is expanded.

Source: messages lance.table.U64Segment and EncodedU64Array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lance_sql.errors import CorruptFile
from lance_sql.format.proto import row_ids_pb2
from lance_sql.values.arrays import I64, U64, BoolMask

if TYPE_CHECKING:
    from collections.abc import Mapping

_NARROW: Final[Mapping[str, str]] = {"u16_array": "<u2", "u32_array": "<u4"}


@dataclass(frozen=True, slots=True)
class IdRange:
    """Values of [start, end)."""

    start: int
    end: int

    @property
    def num_values(self) -> int:
        return self.end - self.start

    @property
    def num_bytes(self) -> int:
        return 0

    def bounds(self) -> tuple[int, int]:
        """Returns the least and greatest value; only for a segment with values."""
        return self.start, self.end - 1

    def expand(self) -> U64:
        """Returns all values in order."""
        return np.uint64(self.start) + np.arange(self.num_values, dtype=np.uint64)

    def runs(self) -> tuple[I64, U64]:
        """Returns runs of consecutive values: the position of the first value of each, and that value."""
        count = min(self.num_values, 1)
        return np.zeros(count, np.int64), np.full(count, self.start, np.uint64)

    def slice(self, start: int, end: int) -> IdRange:
        """Returns the values at positions [start, end)."""
        return IdRange(self.start + start, self.start + end)

    def positions(self, wanted: U64) -> tuple[I64, I64]:
        """Returns the indices in `wanted` of the values that occur here, and their positions."""
        indices = self._covers(wanted).nonzero()[0]
        return indices, (wanted[indices] - np.uint64(self.start)).astype(np.int64)

    def _covers(self, wanted: U64) -> BoolMask:
        if self.end == self.start:
            return np.zeros(len(wanted), np.bool_)
        return (wanted >= np.uint64(self.start)) & (wanted <= np.uint64(self.end - 1))


@dataclass(frozen=True, slots=True, eq=False)
class IdValues:
    """Explicit values, in their order.

    is_sorted: strictly ascending
    """

    values: U64
    is_sorted: bool

    @property
    def num_values(self) -> int:
        return len(self.values)

    @property
    def num_bytes(self) -> int:
        return self.values.nbytes

    def bounds(self) -> tuple[int, int]:
        return int(self.values.min()), int(self.values.max())

    def expand(self) -> U64:
        return self.values

    def runs(self) -> tuple[I64, U64]:
        return _runs(self.values)

    def slice(self, start: int, end: int) -> IdValues:
        return IdValues(self.values[start:end], self.is_sorted)

    def positions(self, wanted: U64) -> tuple[I64, I64]:
        order = None if self.is_sorted else np.argsort(self.values, kind="stable")
        ascending = self.values if order is None else self.values[order]
        first = ascending.searchsorted(wanted, "left")
        counts = ascending.searchsorted(wanted, "right") - first
        indices = np.arange(len(wanted)).repeat(counts)
        # A value that occurs twice is returned twice, at neighboring positions of the sorted order.
        repeat = np.arange(len(indices)) - (counts.cumsum() - counts).repeat(counts)
        positions = first.repeat(counts) + repeat
        return indices.astype(np.int64), (positions if order is None else order[positions]).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class RangeWithHoles:
    """Values of [start, end) without `holes`, which are ascending and inside the range."""

    start: int
    end: int
    holes: U64

    @property
    def num_values(self) -> int:
        return self.end - self.start - len(self.holes)

    @property
    def num_bytes(self) -> int:
        return self.holes.nbytes

    def bounds(self) -> tuple[int, int]:
        """Returns bounds that may not be tight: either end may be a hole."""
        return self.start, self.end - 1

    def expand(self) -> U64:
        return np.delete(IdRange(self.start, self.end).expand(), (self.holes - np.uint64(self.start)).astype(np.intp))

    def runs(self) -> tuple[I64, U64]:
        firsts = np.concatenate((np.array([self.start], np.uint64), self.holes + np.uint64(1)))
        ends = np.concatenate((self.holes, np.array([self.end], np.uint64)))
        firsts, lengths = firsts[firsts < ends], (ends - firsts)[firsts < ends].astype(np.int64)
        return lengths.cumsum() - lengths, firsts

    def slice(self, start: int, end: int) -> IdValues:
        return IdValues(self.expand()[start:end], is_sorted=True)

    def positions(self, wanted: U64) -> tuple[I64, I64]:
        indices, numbers = IdRange(self.start, self.end).positions(wanted)
        holes_before = self.holes.searchsorted(wanted[indices], "left")
        holes_up_to = self.holes.searchsorted(wanted[indices], "right")
        has_no_hole = holes_before == holes_up_to
        return indices[has_no_hole], (numbers - holes_before)[has_no_hole]


@dataclass(frozen=True, slots=True)
class RangeWithBitmap:
    """Values of [start, end) whose bit is set.

    bitmap: ceil((end - start) / 8) bytes, spare bits zero
    """

    start: int
    end: int
    bitmap: bytes

    @property
    def num_values(self) -> int:
        return int.from_bytes(self.bitmap, "little").bit_count()

    @property
    def num_bytes(self) -> int:
        return len(self.bitmap)

    def bounds(self) -> tuple[int, int]:
        """Returns bounds that may not be tight: the bits at the ends may be zero."""
        return self.start, self.end - 1

    def expand(self) -> U64:
        bits = np.unpackbits(np.frombuffer(self.bitmap, np.uint8), bitorder="little")
        ids: U64 = bits.nonzero()[0].astype(np.int64, copy=False).view(np.uint64)
        ids += np.uint64(self.start)
        return ids

    def runs(self) -> tuple[I64, U64]:
        return _runs(self.expand())

    def slice(self, start: int, end: int) -> IdValues:
        return IdValues(self.expand()[start:end], is_sorted=True)

    def positions(self, wanted: U64) -> tuple[I64, I64]:
        return IdValues(self.expand(), is_sorted=True).positions(wanted)


Segment = IdRange | RangeWithHoles | RangeWithBitmap | IdValues


def of_values(values: U64) -> IdValues:
    """Returns the segment of these values, which become read-only."""
    values.flags.writeable = False
    return IdValues(values, is_sorted=_ascends(values))


def smallest(values: U64) -> Segment:
    """Returns the segment of these values with the fewest bytes; the values become read-only.

    Forms of equal size are chosen as by other writers.
    """
    if len(values) == 0:
        return IdRange(0, 0)
    values.flags.writeable = False
    if not _ascends(values):
        return IdValues(values, is_sorted=False)
    start, end = int(values[0]), int(values[-1]) + 1
    if end == 2**64:
        # the end of a range is a 64-bit number as well
        return IdValues(values, is_sorted=True)
    num_holes = end - start - len(values)
    if num_holes == 0:
        return IdRange(start, end)
    # arrays contain offsets from their least value
    width = next((np.dtype(each).itemsize for each in _NARROW.values() if end - start - 1 <= np.iinfo(each).max), 8)
    sizes = (width * num_holes, (end - start + 7) // 8, width * len(values))
    form = sizes.index(min(sizes))
    if form == 0:
        return RangeWithHoles(start, end, np.setdiff1d(IdRange(start, end).expand(), values, assume_unique=True))
    if form == 1:
        bits = np.zeros(end - start, np.uint8)
        bits[(values - np.uint64(start)).astype(np.intp)] = 1
        return RangeWithBitmap(start, end, np.packbits(bits, bitorder="little").tobytes())
    return IdValues(values, is_sorted=True)


def serialize(segment: Segment) -> row_ids_pb2.U64Segment:
    """Returns the message of a segment: the inverse of `parse`."""
    match segment:
        case IdRange(start, end):
            return row_ids_pb2.U64Segment(range={"start": start, "end": end})
        case RangeWithHoles(start, end, holes):
            return row_ids_pb2.U64Segment(
                range_with_holes={"start": start, "end": end, "holes": _serialize_array(holes)}
            )
        case RangeWithBitmap(start, end, bitmap):
            return row_ids_pb2.U64Segment(range_with_bitmap={"start": start, "end": end, "bitmap": bitmap})
        case IdValues(values, is_sorted):
            array = _serialize_array(values)
            if is_sorted:
                return row_ids_pb2.U64Segment(sorted_array=array)
            return row_ids_pb2.U64Segment(array=array)


def parse(message: row_ids_pb2.U64Segment) -> Segment:
    """Parses a segment from a message.

    raises: CorruptFile for a segment of unknown kind, a range that ends before it starts, holes outside their range
        or out of order, a bitmap of another size than its range, an array with incomplete values or values that do
        not fit 64 bits
    """
    form = message.WhichOneof("segment")
    if form is None:
        raise CorruptFile("a row id segment of an unknown kind")
    value = getattr(message, form)
    if form in ("array", "sorted_array"):
        # The recorded order is not trusted: a binary search in unsorted values would miss some.
        return of_values(_array(value))
    start, end = value.start, value.end
    if end < start:
        raise CorruptFile(f"a row id range ends at {end}, before its start {start}")
    if form == "range":
        return IdRange(start, end)
    if form == "range_with_holes":
        holes = _array(value.holes)
        if len(holes) and (int(holes.min()) < start or int(holes.max()) >= end or not _ascends(holes)):
            raise CorruptFile(f"the holes of the row id range {start} to {end} lie outside of it or do not ascend")
        return RangeWithHoles(start, end, holes)
    bitmap = value.bitmap
    if len(bitmap) != (end - start + 7) // 8:
        raise CorruptFile(f"a bitmap of {len(bitmap)} bytes for {end - start} row ids")
    spare = -(end - start) % 8
    if spare and bitmap[-1] >> (8 - spare):
        raise CorruptFile(f"a bitmap for {end - start} row ids has bits behind them")
    return RangeWithBitmap(start, end, bitmap)


def _array(message: row_ids_pb2.EncodedU64Array) -> U64:
    form = message.WhichOneof("array")
    if form is None:
        return np.empty(0, np.uint64)
    encoded = getattr(message, form)
    data = encoded.values if form == "u64_array" else encoded.offsets
    width = {"u16_array": 2, "u32_array": 4, "u64_array": 8}[form]
    if len(data) % width:
        raise CorruptFile(f"{len(data)} bytes of row ids do not divide into values of {width} bytes")
    values = np.frombuffer(data, f"<u{width}").astype(np.uint64)
    if form != "u64_array" and len(values):
        if encoded.base + int(values.max()) >= 2**64:
            raise CorruptFile(f"row ids from the base {encoded.base} do not fit 64 bits")
        values += np.uint64(encoded.base)
    return values


def _serialize_array(values: U64) -> row_ids_pb2.EncodedU64Array:
    base = int(values.min()) if len(values) else 0
    span = int(values.max()) - base if len(values) else 0
    for form, dtype in _NARROW.items():
        if span <= np.iinfo(dtype).max:
            offsets = (values - np.uint64(base)).astype(dtype).tobytes()
            if form == "u16_array":
                return row_ids_pb2.EncodedU64Array(u16_array={"base": base, "offsets": offsets})
            return row_ids_pb2.EncodedU64Array(u32_array={"base": base, "offsets": offsets})
    return row_ids_pb2.EncodedU64Array(u64_array={"values": values.astype("<u8").tobytes()})


def _runs(values: U64) -> tuple[I64, U64]:
    is_first = np.ones(len(values), np.bool_)
    # the number after the largest one wraps to 0, as when runs are expanded
    np.not_equal(values[1:], values[:-1] + np.uint64(1), out=is_first[1:])
    starts = is_first.nonzero()[0]
    return starts.astype(np.int64), values[starts]


def _ascends(values: U64) -> bool:
    return bool(np.all(values[1:] > values[:-1]))
