"""Which rows of a large table cannot have one of some keys, told by one look at each.

Each key marks one of many places, which follows from its bits. A row whose key leads to a place without a mark has none
of the keys; of the others, most are found out by the join that comes after. A join has to look each row up in a hash
table, which takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.arrays import I64

MAX_KEYS: Final = 1 << 18
"""Of more keys, too many places would be marked."""

_LEAST_BITS: Final = 16
_MOST_BITS: Final = 22
_PLACES_A_KEY: Final = 32


class KeySieve:
    """The places of some keys.

    keys: of a type that `has_places`; NULL marks no place
    """

    def __init__(self, keys: pa.ChunkedArray) -> None:
        self._type = keys.type
        distinct = keys.drop_null()
        bits = min(max(_LEAST_BITS, (len(distinct) * _PLACES_A_KEY).bit_length()), _MOST_BITS)
        values = distinct.combine_chunks()
        self._marked = _kernels.marked_places(_numbers(values), values.type.bit_width // 8, bits)

    def rows(self, keys: pa.Array) -> I64:
        """The places of rows that may have one of the keys, ascending: all that have one are among them.

        keys: of the same type as those of the sieve
        """
        return _kernels.keys_at_marks(_numbers(keys), keys.type.bit_width // 8, self._marked)

    def over(self, batches: Iterable[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
        """The rows of batches that may have one of the keys in a column; all where it is of another type."""
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


def has_places(type: pa.DataType) -> bool:
    """Whether keys of a type are numbers that are equal where the keys are."""
    return bool(pa.types.is_integer(type) or (pa.types.is_temporal(type) and not pa.types.is_interval(type)))


def _numbers(keys: pa.Array) -> pa.Buffer:
    """A number for each key; any for NULL."""
    width = keys.type.bit_width // 8
    values = keys.buffers()[1]
    if values is None or not len(keys):
        return pa.py_buffer(bytes(len(keys) * width))
    return values.slice(keys.offset * width, len(keys) * width)
