"""Statistics of zones of a column, collected while its values were decoded.

    rows of a file    | 0 .. 8192 | .. 16384 |    the same zones for all of its columns
    known of each     NULLs, NaN, the smallest and the largest key

Values are mapped to unsigned keys in their order, as in filters (`format.layouts.matching`): text and binary
to their first eight bytes, decimals to 64 bits. This can make bounds wider, never narrower.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import ValueOrder
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.layouts.matching import key_order
from lance_sql.values import kinds
from lance_sql.values.arrays import I64, U64, BoolMask

ROWS_PER_ZONE: Final = 8192

_PREFIX_BYTES: Final = 8
_LAST_CHARACTER: Final = 0x10FFFF
_LAST_KEY: Final = (1 << 64) - 1

Numbers = I64


@dataclass(frozen=True, slots=True)
class KeyKind:
    """Conversion of the values of a type to keys.

    num_bits: of a value; for text and binary those of their first bytes
    is_prefix: for text and binary
    """

    order: ValueOrder
    num_bits: int
    is_prefix: bool = False


@lru_cache(maxsize=256)
def key_kind(type: pa.DataType) -> KeyKind | None:
    """Returns the conversion of values of a type to keys, or None if the type has none."""
    if isinstance(type, pa.BaseExtensionType):
        return None
    if kinds.has_offsets(type):
        return KeyKind(ValueOrder.UNSIGNED, 8 * _PREFIX_BYTES, is_prefix=True)
    order = key_order(type)
    return KeyKind(order, type.bit_width) if order is not None else None


def new_bounds(kind: KeyKind, num_rows: int) -> _kernels.ZoneBounds:
    """Returns empty bounds for a column of this many rows."""
    return _kernels.ZoneBounds(kind.order, kind.num_bits, num_rows, ROWS_PER_ZONE)


def observe_array(bounds: _kernels.ZoneBounds, kind: KeyKind, row: int, values: pa.Array) -> None:
    """Adds the values of the rows from `row` on.

    values: of a type of that kind
    """
    buffers = values.buffers()
    validity = buffers[0] if values.null_count else None
    if kind.is_prefix:
        data = buffers[2] if buffers[2] is not None else b""
        bounds.observe_strings(
            row, buffers[1], kinds.offset_bits(values.type), data, validity, values.offset, len(values)
        )
    else:
        bounds.observe_array(row, buffers[1], validity, values.offset, len(values))


def statistics(numbers: Numbers, num_rows: I64, kind: KeyKind, type: pa.DataType) -> PageStatistics:
    """Returns the statistics of each zone.

    numbers: as returned by `_kernels.ZoneBounds.numbers`; unknown for a zone that was not seen as a whole
    num_rows: of each zone
    type: of the column
    """
    is_known = numbers[:, 1] - numbers[:, 0] == num_rows
    num_valid, num_nans = numbers[:, 4], numbers[:, 5]
    have_bounds = is_known & (num_valid > num_nans)
    lows, highs = (np.ascontiguousarray(numbers[:, column]).view(np.uint64) for column in (2, 3))
    if kind.is_prefix:
        mins, maxs = _text_bounds(lows, highs, have_bounds, type)
    else:
        mins, maxs = key_values(lows, highs, have_bounds, kind, type)
    return PageStatistics(
        num_values=pa.array(num_rows),
        null_counts=pa.array(num_rows - num_valid, mask=~is_known),
        mins=mins,
        maxs=maxs,
        nan_counts=pa.array(num_nans, mask=~is_known) if kind.order is ValueOrder.FLOAT else None,
    )


def key_values(
    lows: U64,
    highs: U64,
    known: BoolMask,
    kind: KeyKind,
    type: pa.DataType,
) -> tuple[pa.Array, pa.Array]:
    """Returns the values with the smallest and the largest keys, if any.

    type: one whose keys are not prefixes
    """
    return _values(lows, known, kind, type, is_least=True), _values(highs, known, kind, type, is_least=False)


def _values(keys: U64, known: BoolMask, kind: KeyKind, type: pa.DataType, *, is_least: bool) -> pa.Array:
    bits = 64 if kind.num_bits == 128 else kind.num_bits
    top = np.uint64(1 << (bits - 1))
    if kind.num_bits == 128:
        # the key at either end stands for everything beyond it
        known = known & (keys != (0 if is_least else _LAST_KEY))
    if kind.order is ValueOrder.SIGNED:
        keys = keys ^ top
    elif kind.order is ValueOrder.FLOAT:
        keys = np.where(keys & top, keys ^ top, ~keys)
    words = np.where(known, keys, np.uint64(0)).astype(f"u{bits // 8}")
    if kind.num_bits == 128:
        signed = words.view(np.int64)
        wide = np.stack((signed, signed >> 63), axis=1)
        stored = pa.py_buffer(np.ascontiguousarray(wide if sys.byteorder == "little" else wide[:, ::-1]))
    else:
        stored = pa.py_buffer(words)
    return pa.Array.from_buffers(type, len(keys), [pa.array(known).buffers()[1], stored])


def _text_bounds(lows: U64, highs: U64, known: BoolMask, type: pa.DataType) -> tuple[pa.Array, pa.Array]:
    least, greatest = (_least_text, _greatest_text) if kinds.is_text(type) else (_least_bytes, _greatest_bytes)
    bounds = []
    for keys, bound in ((lows, least), (highs, greatest)):
        data = keys.astype(">u8").tobytes()
        parts = [data[at : at + _PREFIX_BYTES] for at in range(0, len(data), _PREFIX_BYTES)]
        bounds.append(pa.array([bound(part) if has else None for part, has in zip(parts, known.tolist(), strict=True)]))
    return bounds[0].cast(type), bounds[1].cast(type)


def _least_bytes(prefix: bytes) -> bytes:
    """Returns a lower bound of everything with this prefix, or that ends before the zeros."""
    return prefix.rstrip(b"\0")


def _greatest_bytes(prefix: bytes) -> bytes | None:
    """Returns an upper bound of everything with this prefix, or None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _characters(prefix: bytes) -> str | None:
    """Returns the complete characters of a prefix, or None if it is not UTF-8."""
    for end in range(_PREFIX_BYTES, _PREFIX_BYTES - 4, -1):
        try:
            return prefix[:end].decode()
        except UnicodeDecodeError:
            continue
    return None


def _least_text(prefix: bytes) -> str | None:
    text = _characters(prefix)
    return None if text is None else text.rstrip("\0")


def _greatest_text(prefix: bytes) -> str | None:
    text = _characters(prefix)
    while text:
        last = ord(text[-1])
        if last < _LAST_CHARACTER:
            # between these two lie surrogates, which are not characters
            return text[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        text = text[:-1]
    return None
