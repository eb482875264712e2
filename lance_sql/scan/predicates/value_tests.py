"""Predicates that look at one column as tests of its encoded values; see `layouts.matching`."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.layouts.matching import KeyRange, StringRange, ValueTest

from .evaluation import evaluate
from .tree import And, ColumnRef, Compare, In, IsNan, IsNull, Literal, Not, Predicate, TextMatch, Value

_UNSIGNED: Final = 0
_SIGNED: Final = 1
_FLOAT: Final = 2

_STRINGS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)

_FLOATS: Final = {32: ("<f", "<I"), 64: ("<d", "<Q")}


@dataclass(frozen=True, slots=True)
class ColumnTest:
    """A test of a top-level column, and the predicates that it stands for."""

    column: str
    test: ValueTest
    predicates: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class _Answers:
    """Whether each of some values of a column passes all predicates."""

    column: str
    predicates: tuple[Predicate, ...]

    def __call__(self, values: pa.Array) -> npt.NDArray[np.bool_]:
        predicate = self.predicates[0] if len(self.predicates) == 1 else And(self.predicates)
        found = evaluate(predicate, pa.RecordBatch.from_arrays([values], [self.column]))
        answers: npt.NDArray[np.bool_] = np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False))
        return answers


def column_tests(parts: Sequence[Predicate]) -> tuple[list[ColumnTest], list[Predicate]]:
    """The parts of a filter, all of which must be true, as tests of columns; those that have no such form come second.

    Two ranges of one column become one.
    """
    tests: list[ColumnTest] = []
    others = []
    for part in parts:
        found = _column_test(part)
        if found is None:
            others.append(part)
            continue
        for number, other in enumerate(tests):
            both = _both(other, found)
            if both is not None:
                tests[number] = both
                break
        else:
            tests.append(found)
    return tests, others


def _column_test(predicate: Predicate) -> ColumnTest | None:
    wants_null: bool | None = None
    keys: KeyRange | None = None
    strings: StringRange | None = None
    match predicate:
        case IsNull(ColumnRef((column,))):
            wants_null = True
        case Not(IsNull(ColumnRef((column,)))):
            wants_null = False
        case Compare(op, ColumnRef((column,)), Literal(value, type)):
            keys, strings = _keys(op, value, type), _strings(op, value, type)
        case In(ColumnRef((column,)), (value,), type):
            keys, strings = _keys("=", value, type), _strings("=", value, type)
        case TextMatch("prefix", ColumnRef((column,)), pattern):
            strings = _beginning_with(pattern.encode())
        case In(ColumnRef((column,))) | TextMatch(operand=ColumnRef((column,))) | IsNan(ColumnRef((column,))):
            pass
        case _:
            return None

    return ColumnTest(column, ValueTest(_Answers(column, (predicate,)), keys, wants_null, strings), (predicate,))


def _both(one: ColumnTest, other: ColumnTest) -> ColumnTest | None:
    if one.column != other.column:
        return None
    keys: KeyRange | None = None
    strings: StringRange | None = None
    if one.test.keys is not None and other.test.keys is not None:
        keys = one.test.keys.intersect(other.test.keys)
    if one.test.strings is not None and other.test.strings is not None:
        strings = one.test.strings.intersect(other.test.strings)
    if keys is None and strings is None:
        return None
    predicates = one.predicates + other.predicates
    return ColumnTest(one.column, ValueTest(_Answers(one.column, predicates), keys, strings=strings), predicates)


def _strings(op: str, value: Value, type: pa.DataType) -> StringRange | None:
    """The strings of which `value op` is true; None for other types, and for no strings."""
    if not any(is_type(type) for is_type in _STRINGS):
        return None
    text = value.encode() if isinstance(value, str) else value
    if not isinstance(text, bytes):
        return None
    # the next string in the order of bytes
    after = text + b"\0"
    low, end = {
        "=": (text, after),
        "<>": (text, after),
        "<": (b"", text),
        "<=": (b"", after),
        ">": (after, None),
        ">=": (text, None),
    }[op]
    return StringRange(low, end, inside=op != "<>") if end is None or low < end else None


def _beginning_with(prefix: bytes) -> StringRange:
    """The strings with a prefix."""
    cut = prefix.rstrip(b"\xff")
    return StringRange(prefix, cut[:-1] + bytes([cut[-1] + 1]) if cut else None)


def _keys(op: str, value: Value, type: pa.DataType) -> KeyRange | None:
    """The keys of the values of which `value op` is true; None for types without keys, and for no values."""
    located = _key(value, type)
    if located is None:
        return None
    order, num_bits, key = located
    last = (1 << num_bits) - 1
    low, high = {
        "=": (key, key),
        "<>": (key, key),
        "<": (0, key - 1),
        "<=": (0, key),
        ">": (key + 1, last),
        ">=": (key, last),
    }[op]
    return KeyRange(order, num_bits, low, high, inside=op != "<>") if low <= high else None


def _key(value: Value, type: pa.DataType) -> tuple[int, int, int] | None:
    """The order of a type's keys, the bits of its values, and the key of a value."""
    if isinstance(value, Decimal):
        if not pa.types.is_decimal128(type):
            return None
        return _SIGNED, 128, _unscaled(value, type.scale) + (1 << 127)
    if pa.types.is_float32(type) or pa.types.is_float64(type):
        return _FLOAT, type.bit_width, _float_key(float(value), type.bit_width)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    if pa.types.is_unsigned_integer(type):
        return _UNSIGNED, type.bit_width, value
    if pa.types.is_signed_integer(type) or pa.types.is_temporal(type):
        return _SIGNED, type.bit_width, value + (1 << (type.bit_width - 1))
    return None


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number: int = int("".join(map(str, digits)))
    shift = exponent + scale
    # a literal is a value of its column's type, so nothing but zeros is cut
    number = number * 10**shift if shift >= 0 else number // 10**-shift
    return -number if sign else number


def _float_key(value: float, num_bits: int) -> int:
    """See `_kernels.match_range`: -0.0 as 0.0, NaN above everything."""
    ones = (1 << num_bits) - 1
    highest = 1 << (num_bits - 1)
    if math.isnan(value):
        return ones
    kind, bits_kind = _FLOATS[num_bits]
    (bits,) = struct.unpack(bits_kind, struct.pack(kind, value + 0.0))
    return int(bits ^ ones if bits & highest else bits | highest)
