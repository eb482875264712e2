"""The bytes of values for a bloom filter, and their hashes.

    integers, dates, times, timestamps, floats    little endian, as wide as the type
    text, binary                                  their bytes

Source: indices, bloom filter.
"""

from __future__ import annotations

import pyarrow as pa

from lance_sql.errors import UnsupportedFeature
from lance_sql.values.arrays import U64
from lance_sql.values.hashes import of_bytes


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
        raise UnsupportedFeature(f"a bloom filter on a column of type {type} is not supported")


def hashes(values: pa.Array) -> U64:
    """Returns the hash of each value that is not NULL: uint64.

    values: of a type that `check` accepts
    """
    return of_bytes(values.drop_null())
