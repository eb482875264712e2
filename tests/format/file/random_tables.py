"""Random tables of every type that a version of the format can hold, cut into batches that begin anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.strategies import RandomArrow

_FROM_INTEGERS = [
    pa.int16(),
    pa.uint8(),
    pa.uint32(),
    pa.uint64(),
    pa.float16(),
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns", "+05:30"),
    pa.duration("ms"),
    pa.decimal256(50, 3),
    pa.decimal128(5, -2),
]
_MORE_LEAVES = [
    *_FROM_INTEGERS,
    pa.large_binary(),
    pa.binary(5),
    pa.binary(300),
    pa.dictionary(pa.int16(), pa.string()),
    pa.dictionary(pa.int16(), pa.int64()),
]


class AnyArrow(RandomArrow):
    """Random types and arrays, with the less common leaves among them."""

    def type(self, depth: int) -> pa.DataType:
        type = super().type(depth)
        if pa.types.is_nested(type) or self._rng.random() < 0.5:
            return type
        return self._pick(_MORE_LEAVES)

    def _leaf(self, type: pa.DataType, length: int, mask: npt.NDArray[Any]) -> pa.Array:
        if pa.types.is_dictionary(type):
            kinds = int(self._pick([1, 5, 120]))
            items = pa.array(np.arange(kinds)).cast(type.value_type)
            keys = self._rng.integers(0, kinds, length)
            return pa.DictionaryArray.from_arrays(pa.array(keys, type.index_type, mask=mask), items)
        if pa.types.is_fixed_size_binary(type):
            words = [bytes([n]) * type.byte_width for n in self._rng.integers(0, 256, length).tolist()]
            return pa.array(words, type, mask=mask)
        if type in _FROM_INTEGERS:
            values = pa.array(self._rng.integers(0, 100, length), mask=mask)
            if pa.types.is_decimal(type):
                return values.cast(pa.decimal128(21, 0)).cast(type, safe=False)
            if type == pa.date64():
                return values.cast(pa.int32()).cast(pa.date32()).cast(type)
            if pa.types.is_temporal(type) and type.bit_width == 32:
                return values.cast(pa.int32()).cast(type)
            return values.cast(type)
        return super()._leaf(type, length, mask)


def random_batches(seed: int, file_version: str) -> list[pa.RecordBatch]:
    """A few columns of up to three levels; most tables have some hundred rows."""
    random = np.random.default_rng([seed, 7])
    arrow = AnyArrow(seed, file_version=file_version)
    num_rows = int(random.choice([1, 3, 100, 1500, 6000], p=[0.1, 0.2, 0.4, 0.2, 0.1]))
    columns = {f"c{i}": arrow.array(arrow.type(3), num_rows) for i in range(int(random.integers(1, 5)))}
    if random.random() < 0.1:
        # not inside of others: Arrow 26 aborts when it flattens slices of structs with such a member
        columns["n"] = pa.nulls(num_rows)
    batch = pa.record_batch(columns)
    size = max(int(random.integers(1, num_rows + 1)), num_rows // 20)
    return [batch.slice(start, size) for start in range(0, num_rows, size)]
