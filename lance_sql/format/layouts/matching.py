"""Tests of a filter on encoded values of a page.

Integers, floats and decimals are mapped to unsigned keys in the order of the values, so that most comparisons are
ranges of keys. Any test evaluates the items of a dictionary once; rows then take the answers by index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import FixedWidth, Items, VariableWidth, to_array
from lance_sql.values import kinds
from lance_sql.values.arrays import BoolMask

KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Values with keys from `low` to `high`, both included; or all other values.

    num_bits: of a value
    """

    order: _kernels.ValueOrder
    num_bits: int
    low: int
    high: int
    inside: bool = True

    def intersect(self, other: KeyRange) -> KeyRange | None:
        """Returns the keys in both, or None if they are not a range."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        same = (self.order, self.num_bits) == (other.order, other.num_bits)
        if not (same and self.inside and other.inside and low <= high):
            return None
        return KeyRange(self.order, self.num_bits, low, high)


@dataclass(frozen=True, slots=True)
class StringRange:
    """Byte strings from `low` on and before `end`, in byte order; or all others.

    end: None for no end
    """

    low: bytes
    end: bytes | None
    inside: bool = True

    def intersect(self, other: StringRange) -> StringRange | None:
        """Returns the strings in both, or None if they are not a range."""
        ends = [end for end in (self.end, other.end) if end is not None]
        low, end = max(self.low, other.low), min(ends, default=None)
        if not (self.inside and other.inside and (end is None or low < end)):
            return None
        return StringRange(low, end)


@dataclass(frozen=True, slots=True, eq=False)
class ValueTest:
    """A part of a filter on the values of one column.

    answers: whether each value of an array matches; bool[len]
    keys, strings: the values that match, if they are a range of keys, or of texts or binaries
    wants_null: whether the test is for NULL (True) or for values (False); None: another test, which NULL never passes
    """

    answers: Callable[[pa.Array], BoolMask]
    keys: KeyRange | None = None
    wants_null: bool | None = None
    strings: StringRange | None = None


@dataclass(frozen=True, slots=True)
class TestedValues:
    """What a test needs to know of the values of a page.

    bits: of numbers that the kernels test as they are stored, or of indices of items; None for other values
    are_strings: whether they are byte strings that the kernels test as they are stored
    has_nulls: whether some may be NULL
    items: of a dictionary; the one value of a constant page, none if that is NULL
    """

    bits: int | None
    are_strings: bool
    has_nulls: bool
    items: Items | None = None

    @classmethod
    def in_kernels(cls, reader: _kernels.ColumnReader, page: int) -> TestedValues | None:
        """Returns the values of a page that the kernels have opened; None for another page."""
        found = reader.tested_values(page)
        if found is None:
            return None
        bits, are_strings, has_nulls, items = found
        return cls(bits or None, are_strings, has_nulls, _block(*items) if items is not None else None)

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """Returns one answer for all rows, or a test for the kernels; None if the values must be decoded.

        leaf: the type of the values
        """
        if self.items is not None and self.items.num_values == 0:
            return bool(test.wants_null)
        if test.wants_null is not None:
            return _kernels.PageTest.validity(not test.wants_null) if self.has_nulls else not test.wants_null
        if self.bits is None:
            strings = test.strings if self.are_strings and self.items is None else None
            return None if strings is None else _kernels.PageTest.strings(strings.low, strings.end, strings.inside)
        if self.items is not None:
            return _items_test(self.bits, to_array(self.items, _item_type(leaf)), test, has_nulls=self.has_nulls)
        keys = test.keys
        if keys is None or keys.num_bits != self.bits or pa.types.is_dictionary(leaf):
            return None
        return range_test(keys)


def items_of(items: _kernels.Items, type: pa.DataType) -> pa.Array:
    """Returns the items of a page as an array of a type.

    raises: CorruptFile if they cannot have it
    """
    return to_array(_block(*items), type) if items[0] else pa.array([], type)


def _block(num_items: int, bits: int, offsets: bytes | None, data: bytes) -> Items:
    if offsets is None:
        return FixedWidth(num_items, bits, pa.py_buffer(data))
    # a constant has no offsets
    ends = offsets or np.array([0, len(data)], f"<i{bits // 8}").tobytes()
    return VariableWidth(num_items, bits, pa.py_buffer(ends), pa.py_buffer(data))


def range_test(keys: KeyRange) -> _kernels.PageTest:
    """Returns the test for values with keys in a range."""
    low, high = (key.to_bytes(KEY_BYTES, "little") for key in (keys.low, keys.high))
    return _kernels.PageTest.range(keys.order, low, high, keys.inside)


def _items_test(bits: int, items: pa.Array, test: ValueTest, *, has_nulls: bool) -> _kernels.PageTest | bool | None:
    answers = test.answers(items)
    if not answers.any():
        return False
    if answers.all():
        return _kernels.PageTest.validity(True) if has_nulls else True
    return _kernels.PageTest.items(answers.view(np.uint8)) if bits != 128 else None


def _item_type(leaf: pa.DataType) -> pa.DataType:
    return leaf.value_type if pa.types.is_dictionary(leaf) else leaf


def key_order(type: pa.DataType) -> _kernels.ValueOrder | None:
    """Returns the order in which values of a type map to keys of as many bits; None for types without keys.

    Decimals are treated as integers, without their points.
    """
    if pa.types.is_unsigned_integer(type):
        return _kernels.ValueOrder.UNSIGNED
    if pa.types.is_float32(type) or pa.types.is_float64(type):
        return _kernels.ValueOrder.FLOAT
    if pa.types.is_signed_integer(type) or pa.types.is_decimal128(type):
        return _kernels.ValueOrder.SIGNED
    # intervals of months, days and nanoseconds have no order
    return _kernels.ValueOrder.SIGNED if kinds.is_clock(type) else None
