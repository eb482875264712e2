"""The order of values in index files: floats by the total order of IEEE 754, text and bytes by their bytes, NULL first.

    -NaN < -inf < .. < -0.0 < 0.0 < .. < inf < NaN

Source: indices, zone map and BTree.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import UnsupportedFeature
from lance_sql.values import kinds
from lance_sql.values.arrays import I64, U64

_WORD_BITS: Final = 64

_SAMPLED_VALUES: Final = 1 << 13
_MOST_DIFFERENT: Final = 0.25
"""Each distinct value is compared only once if the share of distinct values is at most this."""


def check(type: pa.DataType) -> None:
    """Makes sure that values of the type have an order here.

    raises: UnsupportedFeature
    """
    is_known = kinds.is_number(type) or pa.types.is_boolean(type) or kinds.is_clock(type) or kinds.has_offsets(type)
    # intervals have no order, and short decimals are not stored
    if not is_known or (pa.types.is_decimal(type) and type.bit_width < 128):
        raise UnsupportedFeature(f"a scalar index on a column of type {type} is not supported")


def keys(values: pa.Array) -> pa.Array:
    """Returns sort keys, NULL for NULL, that Arrow compares in this order."""
    type = values.type
    if pa.types.is_floating(type):
        bits = values.view(f"int{type.bit_width}").cast(pa.int64())
        number = bits.fill_null(0).to_numpy()
        # below zero, larger bits are smaller numbers
        flipped = np.where(number < 0, number ^ np.int64(2 ** (type.bit_width - 1) - 1), number)
        return pa.array(flipped, mask=values.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_temporal(type):
        return values.view(f"int{type.bit_width}")
    if pa.types.is_boolean(type):
        return values.cast(pa.uint8())
    if pa.types.is_string(type):
        return values.view(pa.binary())
    if pa.types.is_large_string(type):
        return values.view(pa.large_binary())
    return values


def ascending(values: pa.Array) -> I64:
    """Returns the positions of the values in sorted order, stable: int64[len(values)]."""
    sortable = keys(values)
    if pa.types.is_integer(sortable.type):
        if not sortable.null_count:
            return _ascending_integers(sortable.to_numpy())
        is_null = sortable.is_null().to_numpy(zero_copy_only=False)
        valid = np.flatnonzero(~is_null)
        return np.concatenate([np.flatnonzero(is_null), valid[_ascending_integers(sortable.drop_null().to_numpy())]])
    if kinds.has_offsets(sortable.type) and _repeats(sortable):
        return _ascending_integers(_ranks(sortable))
    return _arrow_order(sortable)


def _arrow_order(sortable: pa.Array) -> I64:
    indices = pc.array_sort_indices(sortable, order="ascending", null_placement="at_start")
    positions: I64 = indices.to_numpy().astype(np.int64)
    return positions


def _repeats(values: pa.Array) -> bool:
    """Whether there seem to be few distinct values, because a sample has equal ones.

    A sample of n values out of d distinct ones has n * n / (2 * d) repeated ones.
    """
    step = len(values) // _SAMPLED_VALUES
    if not step:
        return False
    sample = values.take(pa.array(np.arange(0, _SAMPLED_VALUES * step, step)))
    num_equal = _SAMPLED_VALUES - pc.count_distinct(sample, "all").as_py()
    return bool(2 * num_equal * len(values) * _MOST_DIFFERENT > _SAMPLED_VALUES**2)


def _ranks(values: pa.Array) -> I64:
    """Returns for each value the number of smaller distinct ones, -1 for NULL; each is compared only once."""
    encoded = values.dictionary_encode()
    order = _arrow_order(encoded.dictionary)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    value_ranks: I64 = np.append(ranks, -1)[encoded.indices.fill_null(len(order)).to_numpy()]
    return value_ranks


def _ascending_integers(numbers: npt.NDArray[np.integer[Any]]) -> I64:
    """Returns the positions of numbers in sorted order, stable: int64[len(numbers)].

    NumPy sorts words many times faster than positions by words, and faster still without stability. The position is
    therefore a part of the sorted word, if both fit.
    """
    if len(numbers) == 0:
        return np.empty(0, np.int64)
    low, high = int(numbers.min()), int(numbers.max())
    position_bits = _bits_of(len(numbers) - 1)
    if _bits_of(high - low) + position_bits <= _WORD_BITS:
        # differences of 64 bits wrap, with correct results
        return _ascending_words(numbers.astype(np.uint64) - np.uint64(low % 2**_WORD_BITS), position_bits)
    positions: I64 = np.argsort(numbers).astype(np.int64, copy=False)
    ordered = numbers[positions]
    is_new = ordered[1:] != ordered[:-1]
    if is_new.all():
        return positions
    # equal values have one rank, which is at most a position
    ranks = np.empty(len(numbers), np.uint64)
    ranks[positions[0]] = 0
    ranks[positions[1:]] = np.cumsum(is_new, dtype=np.uint64)
    return _ascending_words(ranks, position_bits)


def _ascending_words(words: U64, position_bits: int) -> I64:
    """Returns the positions of words with room for a position, in sorted order; overwrites the words."""
    words <<= np.uint64(position_bits)
    words |= np.arange(len(words), dtype=np.uint64)
    words.sort()
    words &= np.uint64(2**position_bits - 1)
    positions: I64 = words.view(np.int64)
    return positions


def _bits_of(number: int) -> int:
    return max(number.bit_length(), 1)
