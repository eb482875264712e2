"""The bytes of values for a bloom filter, and their hashes.

    integers, dates, times, timestamps, floats    little endian, as wide as the type
    text, binary                                  their bytes

Source: indices, bloom filter.
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.values import kinds
from lance_sql.values.arrays import U64
from lance_sql.values.hashes import of_bytes


def check(type: pa.DataType) -> None:
    """Makes sure that bloom filters support the type.

    raises: UnsupportedFeature
    """
    is_known = pa.types.is_integer(type) or pa.types.is_float32(type) or pa.types.is_float64(type)
    is_known = is_known or (kinds.is_clock(type) and not pa.types.is_duration(type))
    if not (is_known or kinds.has_offsets(type)):
        raise UnsupportedFeature(f"a bloom filter on a column of type {type} is not supported")


def hashes(values: pa.Array) -> U64:
    """Returns the hash of each value that is not NULL: uint64.

    values: of a type that `check` accepts
    """
    return of_bytes(values.drop_null())
