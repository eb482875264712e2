"""The bytes of values for a bloom filter, and their hashes.

    integers, dates, times, timestamps, floats    little endian, as wide as the type
    text, binary                                  their bytes

Source: indices, bloom filter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.values.arrays import U64


def check(type: pa.DataType) -> None:
    """Makes sure that bloom filters support the type.

    raises: UnsupportedFeature
    """
    kinds = pa.types
    is_known = kinds.is_integer(type) or kinds.is_float32(type) or kinds.is_float64(type)
    is_known = is_known or kinds.is_date(type) or kinds.is_time(type) or kinds.is_timestamp(type)
    is_bytes = kinds.is_string(type) or kinds.is_large_string(type)
    is_bytes = is_bytes or kinds.is_binary(type) or kinds.is_large_binary(type)
    if not (is_known or is_bytes):
        raise UnsupportedFeature(f"a bloom filter on a column of type {type}")


def hashes(values: pa.Array) -> U64:
    """Returns the hash of each value that is not NULL: uint64.

    values: of a type that `check` accepts
    """
    values = values.drop_null()
    out = np.empty(len(values), np.uint64)
    if len(values) == 0:
        return out
    if pa.types.is_primitive(values.type):
        width = values.type.bit_width // 8
        _, data = values.buffers()
        _kernels.hash_fixed(data.slice(values.offset * width), width, len(values), out)
        return out
    bits = 64 if pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type) else 32
    _, offsets, data = values.buffers()
    _kernels.hash_strings(offsets.slice(values.offset * bits // 8), bits, len(values), data or b"", out)
    return out
