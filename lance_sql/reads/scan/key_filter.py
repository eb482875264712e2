"""Pre-filter of a merge: drops rows of a large table that cannot have one of the keys before the join.

A Bloom filter with one hash: each key sets a flag of a table, and a row whose key maps to an unset flag has none of
the keys. The join, which looks up each row in a hash table and takes ten times as long, excludes the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.values import kinds
from lance_sql.values.arrays import I64

MAX_KEYS: Final = 1 << 18
"""Limit of keys; more would set too many flags."""

_LEAST_BITS: Final = 16
_MOST_BITS: Final = 22
_FLAGS_A_KEY: Final = 32


class KeyFilter:
    """Flags of some keys.

    keys: of a type that `can_be_filtered`; NULL sets no flag
    """

    def __init__(self, keys: pa.ChunkedArray) -> None:
        self._type = keys.type
        distinct = keys.drop_null()
        bits = min(max(_LEAST_BITS, (len(distinct) * _FLAGS_A_KEY).bit_length()), _MOST_BITS)
        values = distinct.combine_chunks()
        self._flags = _kernels.key_filter(_numbers(values), values.type.bit_width // 8, bits)

    def rows(self, keys: pa.Array) -> I64:
        """Returns the positions of rows that may have one of the keys, ascending. No matching row is missed.

        keys: of the same type as the filter's keys
        """
        return _kernels.passing_keys(_numbers(keys), keys.type.bit_width // 8, self._flags)

    def over(self, batches: Iterable[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
        """Yields the rows of batches that may have one of the keys in a column; all rows if its type differs."""
        for batch in batches:
            keys = batch.column(column)
            if keys.type != self._type:
                yield batch
                continue
            chosen = self.rows(keys)
            if len(chosen) == batch.num_rows:
                yield batch
            elif len(chosen):
                yield batch.take(pa.array(chosen))


def can_be_filtered(type: pa.DataType) -> bool:
    """Whether keys of a type are numbers that are equal if and only if the keys are."""
    return bool(pa.types.is_integer(type) or kinds.is_clock(type))


def _numbers(keys: pa.Array) -> pa.Buffer:
    """Returns the buffer of a number for each key; arbitrary for NULL."""
    width = keys.type.bit_width // 8
    values = keys.buffers()[1]
    if values is None or not len(keys):
        return pa.py_buffer(bytes(len(keys) * width))
    return values.slice(keys.offset * width, len(keys) * width)
