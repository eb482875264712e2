"""Comparisons with constants, folded so that every literal of the tree is a value of its column's type.

`small = 300` on an int8 column is true for no value: it becomes "never" (false, but NULL for NULL), and
`qty > 1.5` on integers becomes `qty > 1`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.values import kinds

from . import constants, positions
from .build import always, conjunction, disjunction, negate, never
from .constants import Constant, plain_type
from .positions import Position
from .tree import Call, ColumnRef, Compare, Const, In, IsNull, Literal, Predicate, TextMatch, Value


def compare(op: str, operand: ColumnRef | Call, type: pa.DataType, constant: Constant) -> Predicate:
    """Builds `operand op constant`.

    raises: InvalidArgument, naming the operand, its type and the constant, when they cannot be compared
    """
    position = _locate(operand, type, constant)
    if position is None:
        return Const(None)
    if position.floor is None:
        return always(operand) if op in ("<>", ">", ">=") else never(operand)
    literal = Literal(position.floor, plain_type(type))
    if position.first is not None:
        return _compare_range(op, operand, Literal(position.first, plain_type(type)), literal)
    if position.exact:
        return Compare(op, operand, literal)
    match op:
        case "=":
            return never(operand)
        case "<>":
            return always(operand)
        case "<" | "<=":
            return Compare("<=", operand, literal)
        case _:
            return Compare(">", operand, literal)


def _compare_range(op: str, operand: ColumnRef | Call, first: Literal, last: Literal) -> Predicate:
    """Builds `operand op constant` for a constant that equals all values from `first` to `last`."""
    if op in ("=", "<>"):
        inside = conjunction([Compare(">=", operand, first), Compare("<=", operand, last)])
        return inside if op == "=" else negate(inside)
    return Compare(op, operand, first if op in ("<", ">=") else last)


def member(operand: ColumnRef | Call, type: pa.DataType, values: Iterable[Constant]) -> Predicate:
    """Builds `operand IN (values)`; values that the type cannot represent match nothing."""
    literals: dict[Value, None] = {}
    ranges: list[Predicate] = []
    has_null = False
    plain = plain_type(type)
    low, high = positions.integer_bounds(plain) if pa.types.is_integer(plain) else (1, 0)
    for value in values:
        # fast path for thousands of keys: the class test excludes booleans, which are not integers here
        if value.__class__ is int and low <= value <= high:
            literals[value] = None
            continue
        position = _locate(operand, type, value)
        if position is None:
            has_null = True
        elif position.first is not None:
            ranges.append(compare("=", operand, type, value))
        elif position.exact and position.floor is not None:
            literals[_canonical(position.floor)] = None
    if len(literals) == 1 and not has_null:
        return disjunction([Compare("=", operand, Literal(next(iter(literals)), plain_type(type))), *ranges])
    if literals:
        return disjunction([In(operand, tuple(literals), plain_type(type), has_null), *ranges])
    if has_null:
        return disjunction([*ranges, Const(None)])
    return disjunction(ranges) if ranges else never(operand)


def compare_terms(
    op: str, left: ColumnRef | Call, left_type: pa.DataType, right: ColumnRef | Call, right_type: pa.DataType
) -> Predicate:
    """Builds `left op right` for two columns or functions of columns.

    raises: InvalidArgument when their types have no common order
    """
    if _family(left_type) is None or _family(left_type) != _family(right_type):
        raise InvalidArgument(f"Cannot compare {_name(left)} ({left_type}) with {_name(right)} ({right_type})")
    return Compare(op, left, right)


def same(left: Predicate, left_null: Predicate, right_null: Predicate) -> Predicate:
    """Builds `IS NOT DISTINCT FROM`: equal, or both NULL; never unknown. `left` is the plain equality."""
    return disjunction(
        [conjunction([left_null, right_null]), conjunction([negate(left_null), negate(right_null), left])]
    )


def same_as_constant(operand: ColumnRef | Call, type: pa.DataType, constant: Constant) -> Predicate:
    """Builds `operand IS NOT DISTINCT FROM constant`; never unknown."""
    if constant is None:
        return IsNull(operand)
    return conjunction([negate(IsNull(operand)), compare("=", operand, type, constant)])


def match_text(kind: str, operand: ColumnRef | Call, type: pa.DataType, pattern: Constant) -> Predicate:
    """Builds a match of text that starts with, ends with, contains or is like `pattern`, in the kinds of TextMatch.

    raises: InvalidArgument when the operand is not text
    """
    if not kinds.is_text(plain_type(type)) or not (pattern is None or isinstance(pattern, str)):
        raise InvalidArgument(f"Cannot match {_name(operand)} ({type}) with {constants.text(pattern)}")
    if pattern is None:
        return Const(None)
    return TextMatch(kind, operand, pattern)


def _locate(operand: ColumnRef | Call, type: pa.DataType, constant: Constant) -> Position | None:
    """Locates a constant among the values of a type; None for NULL."""
    if constant is None or pa.types.is_null(type):
        return None
    position = positions.locate(constant, type)
    if position is None:
        raise InvalidArgument(f"Cannot compare {_name(operand)} ({type}) with {constants.text(constant)}")
    return position


def _canonical(value: Value) -> Value:
    """Returns one key for equal values: all zeros, all NaNs."""
    if isinstance(value, float):
        return _NAN if value != value else value + 0.0
    return value


# The same object each time: a dict finds NaN by identity only.
_NAN = float("nan")


def _family(type: pa.DataType) -> str | None:
    """Returns the family of a type; types of one family are comparable."""
    plain = plain_type(type)
    if kinds.is_number(plain):
        return "number"
    if kinds.is_text(plain):
        return "text"
    if pa.types.is_large_binary(plain):
        return "bytes"
    if kinds.has_date(plain):
        return "timestamp"
    for name, test in (
        ("boolean", pa.types.is_boolean),
        ("time", pa.types.is_time),
        ("duration", pa.types.is_duration),
        ("null", pa.types.is_null),
    ):
        if test(plain):
            return name
    return None


def _name(operand: ColumnRef | Call) -> str:
    if isinstance(operand, ColumnRef):
        return f"column {'.'.join(operand.path)!r}"
    return str(operand)
