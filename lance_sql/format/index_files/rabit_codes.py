"""The columns of RQ: the bits of a rotated vector, and the factors of its distances.

    _rabit_codes          bit i of a row: whether value i is above 0
    __add_factors, __scale_factors, __error_factors
                          of distances by these bits only
    __blocked_ex_codes    further bits of each value, if any: blocks of 64 values
    __add_factors_ex, __scale_factors_ex
                          of distances by all bits

Sign bits are stored for groups of 32 rows of a partition, interleaved by byte.

Source: RaBitQ; vector index specification, storage of RQ.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.values.arrays import U8

SIGNS: Final = "_rabit_codes"
EXTRA: Final = "__blocked_ex_codes"
FACTORS: Final = ("__add_factors", "__scale_factors", "__error_factors")
EXTRA_FACTORS: Final = ("__add_factors_ex", "__scale_factors_ex")
MOST_BITS: Final = 9

_GROUP: Final = 32
_ORDER: Final = np.array([0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])
_BLOCK: Final = 64


def widths(dimension: int, num_bits: int) -> dict[str, int]:
    """Returns the columns in order, with the bytes of a row in each; 0 for a factor, f32."""
    by_column = {SIGNS: (dimension + 7) // 8, **dict.fromkeys(FACTORS, 0)}
    if num_bits > 1:
        by_column |= {EXTRA: -(-dimension // _BLOCK) * 8 * (num_bits - 1), **dict.fromkeys(EXTRA_FACTORS, 0)}
    return by_column


def row_bytes(dimension: int, num_bits: int) -> int:
    return sum(width or 4 for width in widths(dimension, num_bits).values())


def columns(rows: U8, dimension: int, num_bits: int) -> dict[str, pa.Array]:
    """Returns the columns of a partition.

    rows: [n, row_bytes], from the kernels
    """
    arrays, start = {}, 0
    for name, width in widths(dimension, num_bits).items():
        part = np.ascontiguousarray(rows[:, start : start + (width or 4)])
        start += width or 4
        if width:
            values = pa.array((packed_signs(part) if name == SIGNS else part).reshape(-1))
            arrays[name] = pa.FixedSizeListArray.from_arrays(values, width)
        else:
            arrays[name] = pa.array(part.view(np.float32).reshape(-1))
    return arrays


def packed_signs(signs: U8) -> U8:
    """Packs sign bits [n, bytes] of a partition into the stored form: the inverse of `unpacked_signs`."""
    count, width = signs.shape
    whole = count // _GROUP * _GROUP
    rows = signs[:whole].reshape(-1, _GROUP, width).transpose(0, 2, 1)
    first, second = rows[:, :, _ORDER], rows[:, :, _ORDER + 16]
    blocks = np.concatenate((first & 15 | second << 4, first >> 4 | second & 0xF0), axis=2)
    return np.concatenate((blocks.reshape(-1), signs[whole:].T.reshape(-1))).reshape(count, width)


def unpacked_signs(packed: U8) -> U8:
    """Unpacks sign bits [n, bytes], stored in groups of 32 rows by byte, with nibbles of two rows in a byte."""
    count, width = packed.shape
    whole = count // _GROUP * _GROUP
    flat = packed.reshape(-1)
    signs = np.empty_like(packed)
    blocks = flat[: whole * width].reshape(-1, width, _GROUP)
    low, high = blocks[:, :, :16], blocks[:, :, 16:]
    rows = np.empty((len(blocks), width, _GROUP), np.uint8)
    rows[:, :, _ORDER] = (low & 15) | (high & 15) << 4
    rows[:, :, _ORDER + 16] = low >> 4 | high & 0xF0
    signs[:whole] = rows.transpose(0, 2, 1).reshape(whole, width)
    rest = count - whole
    signs[whole:] = flat[whole * width :].reshape(width, rest).T
    return signs


def extra_codes(stored: U8, bits: int, size: int) -> U8:
    """Returns the codes of `bits` bits in addition to the signs, [n, size], of blocks of 64 values."""
    blocks = stored.reshape(len(stored), -1, 8 * bits)
    codes = np.zeros((*blocks.shape[:2], _BLOCK), np.uint8)
    base = {1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 6, 7: 6, 8: 8}[bits]
    if base == 1:
        codes[:] = np.unpackbits(blocks, axis=2, bitorder="little")
    elif base == 8:
        codes[:] = blocks
    elif base == 2:
        for run in range(4):
            codes[:, :, 16 * run : 16 * run + 16] = blocks[:, :, :16] >> (2 * run) & 3
    elif base == 4 and bits == 4:
        for run in range(4):
            eights = blocks[:, :, 8 * run : 8 * run + 8]
            codes[:, :, 16 * run : 16 * run + 8] = eights & 15
            codes[:, :, 16 * run + 8 : 16 * run + 16] = eights >> 4
    elif base == 4:
        for half in range(2):
            sixteen = blocks[:, :, 16 * half : 16 * half + 16]
            codes[:, :, 32 * half : 32 * half + 16] = sixteen & 15
            codes[:, :, 32 * half + 16 : 32 * half + 32] = sixteen >> 4
    else:
        for run in range(3):
            sixteen = blocks[:, :, 16 * run : 16 * run + 16]
            codes[:, :, 16 * run : 16 * run + 16] = sixteen & 63
            codes[:, :, 48:] |= (sixteen >> 6) << (2 * run)
    if bits in (3, 5, 7):
        top = np.unpackbits(blocks[:, :, -8:], axis=2, bitorder="little")
        for run in range(4):
            for value in range(16):
                bit = 8 * (value % 8) + 2 * run + value // 8
                codes[:, :, 16 * run + value] |= top[:, :, bit] << base
    return codes.reshape(len(stored), -1)[:, :size]
