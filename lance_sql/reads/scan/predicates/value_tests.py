"""Predicates on one column as tests of its encoded values; see `format.layouts.matching`."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypeAlias

import pyarrow as pa

from lance_sql._kernels import ValueOrder
from lance_sql.format.layouts.matching import KeyRange, StringRange, ValueTest, key_order
from lance_sql.values import kinds
from lance_sql.values.arrays import BoolMask

from .build import OPPOSITE, conjunction
from .evaluation import passing
from .tree import (
    And,
    Call,
    ColumnRef,
    Compare,
    Const,
    In,
    IsNan,
    IsNull,
    Literal,
    Not,
    Or,
    Path,
    Predicate,
    TextMatch,
    Value,
    conjuncts,
)

MAX_SINGLE: Final = 16
"""Limit of IN values that are tested one by one, for pages without a dictionary."""

MAX_ALTERNATIVES: Final = 32
"""Limit of tests below OR: each of them decodes values again, while Arrow's evaluation decodes them once."""

# Limit of the kernels for numbers.
_MAX_DIVISOR: Final = 2**48

_FLOATS: Final = {32: ("<f", "<I"), 64: ("<d", "<Q")}


@dataclass(frozen=True, slots=True)
class ColumnCondition:
    """A test of a column, or of a member of structs, and the predicates that it represents.

    single: tests equivalent to this one if a value passes one of them, or all with `is_all`; empty if there are many
    """

    path: Path
    test: ValueTest
    predicates: tuple[Predicate, ...]
    single: tuple[ValueTest, ...] = ()
    is_all: bool = False


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two columns, or members of structs, whose values are compared by an operator of `Compare`; false for NULL."""

    left: Path
    op: str
    right: Path


@dataclass(frozen=True, slots=True)
class RestTest:
    """An integer column, or member of structs, whose remainder by a divisor above 0 is compared with a value. The
    remainder has the sign of the integer. The test is false for NULL."""

    path: Path
    divisor: int
    op: str
    value: int


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Lists of steps: a row must pass all steps of one list; without lists, no row passes."""

    lists: tuple[tuple[Step, ...], ...]


Step: TypeAlias = "ColumnCondition | PairTest | RestTest | AnyOf"


@dataclass(frozen=True, slots=True)
class _Answers:
    """Whether each of some values of a column passes all predicates."""

    path: Path
    predicates: tuple[Predicate, ...]

    def __call__(self, values: pa.Array) -> BoolMask:
        predicate = self.predicates[0] if len(self.predicates) == 1 else And(self.predicates)
        return passing(predicate, self.path, values)


def _merged(tests: Sequence[ColumnCondition]) -> list[ColumnCondition]:
    merged: list[ColumnCondition] = []
    for test in tests:
        for number, other in enumerate(merged):
            both = _both(other, test)
            if both is not None:
                merged[number] = both
                break
        else:
            merged.append(test)
    return merged


def steps(predicate: Predicate) -> Sequence[Step] | None:
    """Returns the steps that a row passes if the predicate is true; None if there are none, or too many."""
    result = _steps(predicate, is_true=True)
    return result if result is not None and _num_alternatives(result) <= MAX_ALTERNATIVES else None


def divided(predicate: Predicate) -> tuple[Sequence[Step], Predicate | None]:
    """Splits a filter into the steps of some of its parts, and the other parts; None without any."""
    whole = steps(predicate)
    if whole is not None:
        return whole, None
    tested: Predicate = Const(True)
    rest: Predicate = Const(True)
    for part in conjuncts(predicate):
        more = conjunction((tested, part))
        if steps(more) is not None:
            tested = more
        else:
            rest = conjunction((rest, part))
    found = steps(tested)
    assert found is not None
    return found, rest


def _num_alternatives(steps: Sequence[Step]) -> int:
    """Returns the number of tests that may read rows that others have not excluded."""
    lists = [each for step in steps if isinstance(step, AnyOf) for each in step.lists]
    return sum(len(each) + _num_alternatives(each) for each in lists) + sum(
        len(step.single) for step in steps if isinstance(step, ColumnCondition)
    )


def _steps(predicate: Predicate, *, is_true: bool) -> Sequence[Step] | None:
    """Returns the steps that a row passes if the predicate is true, or false.

    A row with an unknown predicate passes neither, and NULL passes no test but the one for it. Since NOT is pushed
    down to tests of one column, two answers are enough.
    """
    match predicate:
        case Const(value):
            return [] if value is is_true else [AnyOf(())]
        case In(has_null=True) if not is_true:
            # NOT IN with a NULL is true for no value
            return [AnyOf(())]
        case Not(argument) if not isinstance(argument, IsNull):
            return _steps(argument, is_true=not is_true)
        case And(arguments) | Or(arguments):
            parts = [_steps(argument, is_true=is_true) for argument in arguments]
            if None in parts:
                return None
            lists = [part for part in parts if part is not None]
            if isinstance(predicate, And) == is_true:
                together = [step for part in lists for step in part]
                tests = [step for step in together if isinstance(step, ColumnCondition)]
                others = [step for step in together if not isinstance(step, ColumnCondition)]
                # a pair of columns is decoded for the remaining rows
                return [*_merged(tests), *sorted(others, key=lambda step: isinstance(step, AnyOf))]
            return [AnyOf(tuple(tuple(part) for part in lists))]
        case Compare(op, ColumnRef(left), ColumnRef(right)):
            return [PairTest(left, op if is_true else OPPOSITE[op], right)]
        case Compare(op, Call("modulo", (ColumnRef(path), Literal(int() as divisor))), Literal(int() as value)):
            if 0 < divisor <= _MAX_DIVISOR:
                return [RestTest(path, divisor, op if is_true else OPPOSITE[op], value)]
    test = _column_condition(predicate) if is_true else _column_condition_of_false(predicate)
    return None if test is None else [test]


def _column_condition(predicate: Predicate) -> ColumnCondition | None:
    wants_null: bool | None = None
    keys: KeyRange | None = None
    strings: StringRange | None = None
    single: Sequence[Predicate] = ()
    match predicate:
        case IsNull(ColumnRef(path)):
            wants_null = True
        case Not(IsNull(ColumnRef(path))):
            wants_null = False
        case Compare(op, ColumnRef(path), Literal(value, type)):
            keys, strings = _keys(op, value, type), _strings(op, value, type)
        case In(ColumnRef(path), (value,), type):
            keys, strings = _keys("=", value, type), _strings("=", value, type)
        case TextMatch("prefix", ColumnRef(path), pattern):
            strings = _beginning_with(pattern.encode())
        case In(ColumnRef(path) as operand, values, type):
            if len(values) <= MAX_SINGLE:
                single = [Compare("=", operand, Literal(value, type)) for value in values]
        case TextMatch(operand=ColumnRef(path)) | IsNan(ColumnRef(path)):
            pass
        case _:
            return None

    test = ValueTest(_Answers(path, (predicate,)), keys, wants_null, strings)
    return ColumnCondition(path, test, (predicate,), _tests_of(single))


def _tests_of(predicates: Sequence[Predicate]) -> tuple[ValueTest, ...]:
    tests = [_column_condition(each) for each in predicates]
    return tuple(each.test for each in tests if each is not None)


def _column_condition_of_false(predicate: Predicate) -> ColumnCondition | None:
    """Returns the test that a row passes if the predicate is false, and not unknown."""
    if isinstance(predicate, IsNull):
        return _column_condition(Not(predicate))
    if isinstance(predicate, Not):
        # of IS NULL, which is never unknown
        return _column_condition(predicate.argument)
    if isinstance(predicate, Compare):
        return _column_condition(replace(predicate, op=OPPOSITE[predicate.op]))
    condition = _column_condition(predicate)
    if condition is None:
        return None
    test, opposite = condition.test, Not(predicate)
    keys = replace(test.keys, inside=not test.keys.inside) if test.keys is not None else None
    strings = replace(test.strings, inside=not test.strings.inside) if test.strings is not None else None
    single: tuple[ValueTest, ...] = ()
    if isinstance(predicate, In) and condition.single:
        literals = [Literal(value, predicate.type) for value in predicate.values]
        single = _tests_of([Compare("<>", predicate.operand, literal) for literal in literals])
    answers = _Answers(condition.path, (opposite,))
    return ColumnCondition(condition.path, ValueTest(answers, keys, strings=strings), (opposite,), single, is_all=True)


def _both(one: ColumnCondition, other: ColumnCondition) -> ColumnCondition | None:
    if one.path != other.path:
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
    return ColumnCondition(one.path, ValueTest(_Answers(one.path, predicates), keys, strings=strings), predicates)


def _strings(op: str, value: Value, type: pa.DataType) -> StringRange | None:
    """Returns the strings for which `value op` is true; None for other types, and for an empty range."""
    if not kinds.has_offsets(type):
        return None
    text = value.encode() if isinstance(value, str) else value
    if not isinstance(text, bytes):
        return None
    # the next string in byte order
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
    """Returns the range of strings with a prefix."""
    cut = prefix.rstrip(b"\xff")
    return StringRange(prefix, cut[:-1] + bytes([cut[-1] + 1]) if cut else None)


def _keys(op: str, value: Value, type: pa.DataType) -> KeyRange | None:
    """Returns the keys of the values for which `value op` is true; None for types without keys, and for an empty
    range."""
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


def _key(value: Value, type: pa.DataType) -> tuple[ValueOrder, int, int] | None:
    """Returns the order of a type's keys, the bits of its values, and the key of a value."""
    order = key_order(type)
    if order is None or pa.types.is_decimal128(type) != isinstance(value, Decimal):
        return None
    if isinstance(value, Decimal):
        return order, 128, _unscaled(value, type.scale) + (1 << 127)
    if order is ValueOrder.FLOAT:
        return order, type.bit_width, _float_key(float(value), type.bit_width)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return order, type.bit_width, value + (1 << (type.bit_width - 1) if order is ValueOrder.SIGNED else 0)


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number: int = int("".join(map(str, digits)))
    shift = exponent + scale
    # a literal is a value of its column's type, so only zeros are cut
    number = number * 10**shift if shift >= 0 else number // 10**-shift
    return -number if sign else number


def _float_key(value: float, num_bits: int) -> int:
    """Returns the key of a float, see `ValueOrder.FLOAT`: -0.0 like 0.0, NaN above everything."""
    ones = (1 << num_bits) - 1
    highest = 1 << (num_bits - 1)
    if math.isnan(value):
        return ones
    kind, bits_kind = _FLOATS[num_bits]
    (bits,) = struct.unpack(bits_kind, struct.pack(kind, value + 0.0))
    return int(bits ^ ones if bits & highest else bits | highest)
