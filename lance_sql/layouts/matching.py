"""Which values of a page match a part of a filter, found out on the values as they are encoded.

Integers, floats and decimals become unsigned keys in the order of the values, so that most comparisons are ranges of
keys. The items of a dictionary are tested once, whatever the test; rows then take the answers by their indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.encodings import general
from lance_sql.encodings.blocks import Block, to_array
from lance_sql.encodings.chunk_rows import ChunkRows
from lance_sql.encodings.tree import ByteStreamSplit, Encoding, Flat, General, InlineBitpacking, Rle
from lance_sql.layouts.levels import LevelCodec
from lance_sql.store import ByteRange

Flags: TypeAlias = npt.NDArray[np.uint8]
"""A byte for each row: 1 while it may pass the filter, else 0."""

KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Values whose keys lie from `low` to `high`, both included; or those whose keys do not.

    order: how values become keys, as `_kernels.match_range` numbers it
    num_bits: of a value
    """

    order: int
    num_bits: int
    low: int
    high: int
    inside: bool = True

    def intersect(self, other: KeyRange) -> KeyRange | None:
        """The keys in both; None where that is not a range."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        same = (self.order, self.num_bits) == (other.order, other.num_bits)
        if not (same and self.inside and other.inside and low <= high):
            return None
        return KeyRange(self.order, self.num_bits, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class ValueTest:
    """A part of a filter that looks at the values of one column.

    answers: whether each value of an array matches; bool[len]
    keys: the values that match, where they are a range of keys
    wants_null: the test is whether a value is NULL (True) or not (False); None: another test, which NULL never passes
    """

    answers: Callable[[pa.Array], npt.NDArray[np.bool_]]
    keys: KeyRange | None = None
    wants_null: bool | None = None


@dataclass(frozen=True, slots=True)
class PageMatch:
    """Some rows of one page: `keep` takes the buffers of `ranges`, and clears the flags of rows that do not match."""

    ranges: Sequence[ByteRange]
    keep: Callable[[Sequence[pa.Buffer], Flags], None]


Answer: TypeAlias = bool | Callable[[ChunkRows, Flags], None]
"""The same for every row, or what keeps the flags of the rows in some chunks."""


def mini_block_answer(
    values: Encoding, definition: LevelCodec | None, dictionary: Block | None, leaf: pa.DataType, test: ValueTest
) -> Answer | None:
    """How the values of a mini-block page without lists are tested; None where they have to be decoded.

    definition: None where no value is NULL
    leaf: the type of the values
    """
    levels = (definition.codec, definition.num_bits) if definition is not None else None
    if test.wants_null is not None:
        return _validity_answer(levels, wants_null=test.wants_null)
    if isinstance(values, General):
        inner = mini_block_answer(values.values, definition, dictionary, leaf, test)
        if not callable(inner):
            return inner
        return lambda rows, flags: inner(general.inflate(values.compression, rows), flags)
    codec = fixed_width_codec(values)
    if codec is None:
        return None
    if dictionary is not None:
        return _items_answer(codec, levels, to_array(dictionary, _item_type(leaf)), test)
    if test.keys is None or test.keys.num_bits != codec[1] or pa.types.is_dictionary(leaf):
        return None
    return _range_answer(codec, levels, test.keys)


def _validity_answer(levels: tuple[int, int] | None, *, wants_null: bool) -> Answer:
    if levels is None:
        return not wants_null
    codec, num_bits = levels

    def keep(rows: ChunkRows, flags: Flags) -> None:
        _kernels.match_validity(rows.chunks, rows.ranges, codec, num_bits, not wants_null, flags)

    return keep


def _items_answer(
    codec: tuple[int, int], levels: tuple[int, int] | None, items: pa.Array, test: ValueTest
) -> Answer | None:
    answers = test.answers(items)
    if not answers.any():
        return False
    if answers.all() and levels is None:
        return True
    if codec[1] == 128:
        return None
    table = answers.view(np.uint8)

    def keep(rows: ChunkRows, flags: Flags) -> None:
        _kernels.match_items(rows.chunks, rows.ranges, *codec, table, levels, flags)

    return keep


def _range_answer(codec: tuple[int, int], levels: tuple[int, int] | None, keys: KeyRange) -> Answer:
    low, high = (key.to_bytes(KEY_BYTES, "little") for key in (keys.low, keys.high))

    def keep(rows: ChunkRows, flags: Flags) -> None:
        _kernels.match_range(rows.chunks, rows.ranges, *codec, keys.order, low, high, keys.inside, levels, flags)

    return keep


def fixed_width_codec(values: Encoding) -> tuple[int, int] | None:
    """The kernels' number of a codec of values of fixed width, and their bits; None for other values."""
    match values:
        case Flat(bits_per_value=8 | 16 | 32 | 64 | 128 as bits):
            return 0, bits
        case InlineBitpacking(word_bits=bits):
            return 1, bits
        case ByteStreamSplit(values=Flat(bits_per_value=16 | 32 | 64 | 128 as bits)):
            return 2, bits
        case Rle(values=Flat(bits_per_value=8 | 16 | 32 | 64 as bits), run_lengths=Flat(bits_per_value=8)):
            return 3, bits
    return None


def _item_type(leaf: pa.DataType) -> pa.DataType:
    return leaf.value_type if pa.types.is_dictionary(leaf) else leaf
