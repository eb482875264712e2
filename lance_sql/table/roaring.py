"""Roaring bitmaps in the portable 32-bit serialization, to the values they hold.

    cookie      u32: 12346, then u32 n; or 12347 in the low half and n - 1 in the high half, then n bits that
                say which containers are runs
    header      n x (u16 high half of the values, u16 number of values - 1)
    offsets     n x u32; left out with 12347 and n < 4; not needed, the containers follow each other
    containers  runs: u16 m, then m x (u16 first, u16 length - 1)
                up to 4096 values: u16 each
                more: a bitmap of 8192 bytes, least significant bit first

The counts that a bitmap states are checked against what it holds. Libraries that read bitmaps for speed trust
them, and write past their buffers when they are wrong.

Source: table.md 6; the RoaringFormatSpec of the Roaring project.
"""

from __future__ import annotations

import struct
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.errors import CorruptFile

_Scalar = TypeVar("_Scalar", bound=np.generic)

_NO_RUNS: Final = 12346
_WITH_RUNS: Final = 12347
_MIN_OFFSETS: Final = 4
_MAX_ARRAY: Final = 4096
_BITMAP_BYTES: Final = 8192


def values(data: bytes | pa.Buffer, max_values: int) -> npt.NDArray[np.uint32]:
    """The values, ascending.

    raises: CorruptFile for bytes that are no such bitmap or go on behind it, and, before any is expanded, for
        more than `max_values` values
    """
    view = memoryview(data)
    cookie, position = _u32(view, 0), 4
    runs: npt.NDArray[np.uint8] | None = None
    if cookie & 0xFFFF == _WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = _array(view, position, (count + 7) // 8, np.uint8)
        runs = np.unpackbits(flags, bitorder="little")[:count]
        position += len(flags)
    elif cookie == _NO_RUNS:
        count, position = _u32(view, 4), 8
    else:
        raise CorruptFile(f"a roaring bitmap starts with {_NO_RUNS} or {_WITH_RUNS}, not {cookie}")
    if count > 2**16:
        raise CorruptFile(f"a roaring bitmap of {count} containers")
    header = _array(view, position, 2 * count, np.uint16).reshape(count, 2)
    position += 4 * count
    if runs is None or count >= _MIN_OFFSETS:
        _array(view, position, count, np.uint32)
        position += 4 * count
    if np.any(header[1:, 0] <= header[:-1, 0]):
        raise CorruptFile("the containers of a roaring bitmap are out of order")
    num_values = int(header[:, 1].sum(dtype=np.int64)) + count
    if num_values > max_values:
        raise CorruptFile(f"a roaring bitmap of {num_values} values where {max_values} are possible")

    parts = []
    for i, (high, last) in enumerate(header.tolist()):
        low, size = _container(view, position, last + 1, is_run=runs is not None and bool(runs[i]))
        parts.append(low + np.uint32(high << 16))
        position += size
    if position != len(view):
        raise CorruptFile(f"{len(view) - position} bytes follow a roaring bitmap")
    return np.concatenate(parts) if parts else np.empty(0, np.uint32)


def _container(view: memoryview, position: int, count: int, *, is_run: bool) -> tuple[npt.NDArray[np.uint32], int]:
    """The low halves of a container's values, and its size in bytes."""
    if is_run:
        (num_runs,) = _array(view, position, 1, np.uint16).tolist()
        pairs = _array(view, position + 2, 2 * num_runs, np.uint16).astype(np.int64).reshape(num_runs, 2)
        starts, ends = pairs[:, 0], pairs[:, 0] + pairs[:, 1] + 1
        if np.any(ends > 2**16) or np.any(starts[1:] < ends[:-1]):
            raise CorruptFile("the runs of a roaring container are out of order")
        lengths = ends - starts
        _check_count(int(lengths.sum()), count)
        first = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return (first + np.arange(len(first))).astype(np.uint32), 2 + 4 * num_runs
    if count <= _MAX_ARRAY:
        low = _array(view, position, count, np.uint16).astype(np.uint32)
        if np.any(low[1:] <= low[:-1]):
            raise CorruptFile("the values of a roaring container are out of order")
        return low, 2 * count
    bits = np.unpackbits(_array(view, position, _BITMAP_BYTES, np.uint8), bitorder="little")
    low = np.flatnonzero(bits).astype(np.uint32)
    _check_count(len(low), count)
    return low, _BITMAP_BYTES


def _check_count(found: int, stated: int) -> None:
    if found != stated:
        raise CorruptFile(f"a roaring container holds {found} values instead of {stated}")


def _u32(view: memoryview, position: int) -> int:
    if position + 4 > len(view):
        raise CorruptFile(f"a roaring bitmap of {len(view)} bytes")
    (value,) = struct.unpack_from("<I", view, position)
    return int(value)


def _array(view: memoryview, position: int, count: int, dtype: type[_Scalar]) -> npt.NDArray[_Scalar]:
    kind = np.dtype(dtype).newbyteorder("<")
    if position + count * kind.itemsize > len(view):
        raise CorruptFile(f"a roaring bitmap of {len(view)} bytes is cut at byte {position}")
    return np.frombuffer(view, kind, count, position)
