"""Hashes of values of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.values import kinds
from lance_sql.values.arrays import U64
from lance_sql.values.keys import as_lists, plain_values

_NULL: Final = np.uint64(0x9E3779B97F4A7C15)
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def of_rows(columns: Sequence[pa.Array], num_rows: int) -> U64:
    """Returns the hash of each row, equal for rows that are equal as keys. NULL is a value.

    columns: of any type, also nested
    """
    combined = np.zeros(num_rows, np.uint64)
    for column in columns:
        combined = (combined * _ODD) ^ _of_values(plain_values(column))
    # no bit of a column is lost in the product with the next ones
    return (combined ^ (combined >> np.uint64(32))) * _ODD


def of_bytes(values: pa.Array) -> U64:
    """Returns the xxHash64 of the bytes of each value, that of NULL is arbitrary.

    values: of a fixed number of bytes, or text or bytes
    """
    out = np.empty(len(values), np.uint64)
    if len(values) == 0:
        return out
    type = values.type
    if pa.types.is_primitive(type) or pa.types.is_decimal(type) or pa.types.is_fixed_size_binary(type):
        width = type.bit_width // 8
        _kernels.hash_fixed(values.buffers()[1].slice(values.offset * width), width, len(values), out)
        return out
    bits = kinds.offset_bits(type)
    _, offsets, data = values.buffers()
    _kernels.hash_strings(offsets.slice(values.offset * bits // 8), bits, len(values), data or b"", out)
    return out


def _of_values(values: pa.Array) -> U64:
    """
    values: plain
    """
    type = values.type
    if values.null_count == len(values):
        return np.full(len(values), _NULL)
    if pa.types.is_struct(type):
        hashes = of_rows(values.flatten(), len(values))
    elif pa.types.is_nested(type):
        lengths, items = as_lists(values)
        ends = np.cumsum(lengths)
        # wraps around, and so does the difference
        sums = np.concatenate(([np.uint64(0)], np.cumsum(of_rows([items], len(items)))))
        hashes = sums[ends] - sums[ends - lengths] + lengths.astype(np.uint64)
    else:
        hashes = of_bytes(values.cast(pa.int8()) if pa.types.is_boolean(type) else values)
    if values.null_count:
        hashes = np.where(values.is_null().to_numpy(zero_copy_only=False), _NULL, hashes)
    return hashes
