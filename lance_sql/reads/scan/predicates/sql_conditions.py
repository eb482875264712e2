"""SQL conditions: comparisons, lists, patterns, and logical operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from sqlglot import exp

from lance_sql.errors import InvalidArgument

from . import constants, folding, like, literals, positions
from .build import MIRRORED, conjunction, disjunction, negate
from .common_type import common_type, type_of
from .constants import Constant, Day, Instant, plain_type
from .sql_operand import Known, Operand, Typed, check_arguments, refuse
from .sql_operands import Operands
from .terms import result_type
from .tree import COMPARISONS, Call, Const, IsNan, IsNull, IsUnknown, Predicate


class Conditions:
    """Translates the conditions of one filter.

    schema: the columns that the filter may use; table: name of the table in messages
    """

    def __init__(self, schema: pa.Schema, table: str) -> None:
        self._operands = Operands(schema, table)

    def predicate(self, node: exp.Expr) -> Predicate:
        """raises: ColumnNotFound; InvalidArgument for wrong types; UnsupportedFeature by name"""
        if not self.is_condition(node):
            return self._truth(node)
        translate, allowed = _CONDITIONS[type(node)]
        check_arguments(node, allowed)
        return translate(self, node)

    def operand(self, node: exp.Expr) -> Operand:
        return self._operands.operand(node)

    def is_condition(self, node: exp.Expr) -> bool:
        """Whether the node is a comparison or similar, rather than a value."""
        if isinstance(node, exp.Paren):
            return self.is_condition(node.this)
        if isinstance(node, exp.Anonymous):
            return node.name.lower() in (_IS_FINITE, *_MATCH_FUNCTIONS, *_LIST_FUNCTIONS)
        return type(node) in _CONDITIONS

    def column(self, node: exp.Expr) -> Typed:
        """Returns the operand, which must not be a constant."""
        operand = self.operand(node)
        if isinstance(operand, Known):
            raise refuse(node.parent or node)
        return operand

    def compare(self, op: str, left: Operand, right: Operand, node: exp.Expr) -> Predicate:
        match left, right:
            case Typed(), Known():
                return folding.compare(op, left.term, left.type, right.value)
            case Known(), Typed():
                return folding.compare(MIRRORED[op], right.term, right.type, left.value)
            case Typed(), Typed():
                return folding.compare_terms(op, left.term, left.type, right.term, right.type)
            case Known(), Known():
                return _compare_constants(op, left.value, right.value, node)
        raise AssertionError(op)

    def _truth(self, node: exp.Expr) -> Predicate:
        """Converts a value to a condition: a boolean column."""
        operand = self.operand(node)
        if isinstance(operand, Typed):
            if not pa.types.is_boolean(plain_type(operand.type)):
                raise InvalidArgument(f"The filter is {operand.term} ({operand.type}), which is not a condition")
            return folding.compare("=", operand.term, operand.type, True)
        if operand.value is None or isinstance(operand.value, bool):
            return Const(operand.value)
        raise InvalidArgument(f"The filter is {constants.text(operand.value)}, which is not a condition")


def _compare_constants(op: str, left: Constant, right: Constant, node: exp.Expr) -> Predicate:
    if left is None or right is None:
        return Const(None)
    numbers = (int, Decimal)
    floats = (float, np.float32)
    if isinstance(left, floats) and isinstance(right, floats):
        # NaN is equal to itself, and above all other numbers
        one, other = ((value != value, 0.0 if value != value else float(value)) for value in (left, right))
        order = (one > other) - (one < other)
    elif isinstance(left, numbers) and isinstance(right, numbers):
        order = (Fraction(left) > Fraction(right)) - (Fraction(left) < Fraction(right))
    elif isinstance(left, str) and isinstance(right, str):
        order = (left.encode() > right.encode()) - (left.encode() < right.encode())
    elif isinstance(left, Day) and isinstance(right, Day):
        order = (left.days > right.days) - (left.days < right.days)
    elif isinstance(left, Instant) and isinstance(right, Instant):
        order = (left.nanoseconds > right.nanoseconds) - (left.nanoseconds < right.nanoseconds)
    else:
        raise refuse(node)
    return Const(COMPARISONS[op](order, 0))


def _connect(build: Callable[[list[Predicate]], Predicate]) -> _Translate:
    return lambda conditions, node: build([conditions.predicate(part) for part in node.flatten()])


def _comparison(op: str) -> _Translate:
    def translate(conditions: Conditions, node: exp.Expr) -> Predicate:
        sides = node.this, node.expression
        for side, other in (sides, sides[::-1]):
            if conditions.is_condition(side):
                return _compare_condition(conditions, op, side, other, node)
        left, right = _unified([conditions.operand(node.this), conditions.operand(node.expression)])
        return conditions.compare(op, left, right, node)

    return translate


def _compare_condition(conditions: Conditions, op: str, side: exp.Expr, other: exp.Expr, node: exp.Expr) -> Predicate:
    """Converts `(a > 1) = true`: a condition compared with TRUE, FALSE or NULL."""
    other = other.unnest()
    if op not in ("=", "<>") or not isinstance(other, (exp.Boolean, exp.Null)):
        raise refuse(node)
    if isinstance(other, exp.Null):
        return Const(None)
    condition = conditions.predicate(side)
    return condition if bool(other.this) == (op == "=") else negate(condition)


def _same(op: str) -> _Translate:
    """Converts IS [NOT] DISTINCT FROM."""

    def translate(conditions: Conditions, node: exp.Expr) -> Predicate:
        left, right = _unified([conditions.operand(node.this), conditions.operand(node.expression)])
        if isinstance(left, Known):
            left, right = right, left
        if isinstance(left, Known):
            raise refuse(node)
        if isinstance(right, Known):
            same = folding.same_as_constant(left.term, left.type, right.value)
        else:
            equal = conditions.compare("=", left, right, node)
            same = folding.same(equal, IsNull(left.term), IsNull(right.term))
        return same if op == "=" else negate(same)

    return translate


def _not(conditions: Conditions, node: exp.Expr) -> Predicate:
    return negate(conditions.predicate(node.this))


def _between(conditions: Conditions, node: exp.Expr) -> Predicate:
    parts = (node.this, node.args["low"], node.args["high"])
    value, low, high = _unified([conditions.operand(part) for part in parts])
    return conjunction([conditions.compare(">=", value, low, node), conditions.compare("<=", value, high, node)])


def _in(conditions: Conditions, node: exp.Expr) -> Predicate:
    if not node.expressions:
        raise refuse(node)
    value, *listed = _unified([conditions.operand(part) for part in (node.this, *node.expressions)])
    if isinstance(value, Typed) and all(isinstance(item, Known) for item in listed):
        values = [item.value for item in listed if isinstance(item, Known)]
        return folding.member(value.term, value.type, values)
    return disjunction([conditions.compare("=", value, item, node) for item in listed])


def _unified(operands: list[Operand]) -> list[Operand]:
    """Returns the operands of one comparison, with constants in the type in which SQL compares all of them."""
    types = [type for type in map(_own_type, operands) if type is not None]
    common = common_type(types)
    if common is None:
        return operands
    # two columns find their own common type, three may be compared in the type of the third
    has_columns = len(operands) > 2 and sum(isinstance(operand, Typed) for operand in operands) > 1
    return [_in_type(operand, common, has_columns) for operand in operands]


def _own_type(operand: Operand) -> pa.DataType | None:
    return operand.type if isinstance(operand, Typed) else type_of(operand.value)


def _in_type(operand: Operand, common: pa.DataType, has_columns: bool) -> Operand:
    floating = pa.types.is_floating(common)
    if isinstance(operand, Typed):
        if has_columns and floating and plain_type(operand.type) != common:
            return Typed(Call("cast", (operand.term,), common), common)
        return operand
    value = operand.value
    if isinstance(value, str):
        parsed = literals.parse(value, common)
        return operand if parsed is None else Known(parsed)
    if floating and isinstance(value, (int, float, np.float32, Decimal)) and not isinstance(value, bool):
        return Known(positions.to_float(value, common))
    return operand


def _is(conditions: Conditions, node: exp.Expr) -> Predicate:
    """Converts IS NULL, IS TRUE, IS FALSE."""
    tested = node.expression
    if isinstance(tested, exp.Null):
        if conditions.is_condition(node.this):
            return IsUnknown(conditions.predicate(node.this))
        operand = conditions.operand(node.this)
        return Const(operand.value is None) if isinstance(operand, Known) else IsNull(operand.term)
    if not isinstance(tested, exp.Boolean):
        raise refuse(node)
    condition = conditions.predicate(node.this)
    wanted = condition if tested.this else negate(condition)
    return conjunction([negate(IsUnknown(condition)), wanted])


def _like(*, fold_case: bool) -> _Translate:
    def translate(conditions: Conditions, node: exp.Expr) -> Predicate:
        matched = _match_like(conditions, node, None, fold_case=fold_case)
        return negate(matched) if node.args.get("negate") else matched

    return translate


def _escape(conditions: Conditions, node: exp.Expr) -> Predicate:
    """Converts LIKE ... ESCAPE 'c'."""
    pattern = node.this
    escape = conditions.operand(node.expression)
    if type(pattern) not in (exp.Like, exp.ILike) or not isinstance(escape, Known):
        raise refuse(node)
    check_arguments(pattern, _PATTERN)
    if not isinstance(escape.value, str) or len(escape.value) > 1:
        raise refuse(node)
    matched = _match_like(conditions, pattern, escape.value or None, fold_case=isinstance(pattern, exp.ILike))
    return negate(matched) if pattern.args.get("negate") else matched


def _match_like(conditions: Conditions, node: exp.Expr, escape: str | None, *, fold_case: bool) -> Predicate:
    operand, pattern = conditions.column(node.this), conditions.operand(node.expression)
    if not isinstance(pattern, Known) or not isinstance(pattern.value, (str, type(None))):
        raise refuse(node)
    text = pattern.value
    if fold_case:
        operand = _lowered(operand, node)
        text = None if text is None else like.lower(text)
    if text is None:
        return folding.match_text("like", operand.term, operand.type, None)
    kind, plain = like.simplify(text, escape)
    if kind == "equal":
        # Also refuses an operand that is not text.
        folding.match_text("like", operand.term, operand.type, plain)
        return folding.compare("=", operand.term, operand.type, plain)
    return folding.match_text(kind, operand.term, operand.type, plain)


def _lowered(operand: Typed, node: exp.Expr) -> Typed:
    type = result_type("lower", [operand.type])
    if type is None:
        raise refuse(node)
    return Typed(Call("lower", (operand.term,), type), type)


def _text_match(kind: str) -> _Translate:
    def translate(conditions: Conditions, node: exp.Expr) -> Predicate:
        return _match(conditions, node, kind, node.this, node.expression)

    return translate


def _match(conditions: Conditions, node: exp.Expr, kind: str, value: exp.Expr, pattern: exp.Expr) -> Predicate:
    operand, text = conditions.column(value), conditions.operand(pattern)
    if not isinstance(text, Known):
        raise refuse(node)
    return folding.match_text(kind, operand.term, operand.type, text.value)


def _is_nan(conditions: Conditions, node: exp.Expr) -> Predicate:
    operand = conditions.column(node.this)
    if not pa.types.is_floating(plain_type(operand.type)):
        raise refuse(node)
    return IsNan(operand.term)


def _is_infinite(conditions: Conditions, node: exp.Expr) -> Predicate:
    operand = conditions.column(node.this)
    if not pa.types.is_floating(plain_type(operand.type)):
        raise refuse(node)
    return folding.member(operand.term, operand.type, [float("inf"), float("-inf")])


def _is_finite(conditions: Conditions, node: exp.Expr) -> Predicate:
    return conjunction([negate(_is_nan(conditions, node)), negate(_is_infinite(conditions, node))])


def _anonymous(conditions: Conditions, node: exp.Expr) -> Predicate:
    """Converts functions that the parser does not recognize by name."""
    if node.name.lower() == _IS_FINITE:
        if len(node.expressions) != 1:
            raise refuse(node)
        return _is_finite(conditions, exp.IsNan(this=node.expressions[0]))
    if len(node.expressions) != 2:
        raise refuse(node)
    if node.name.lower() in _LIST_FUNCTIONS:
        return _has(conditions, node, _LIST_FUNCTIONS[node.name.lower()], *node.expressions)
    return _match(conditions, node, _MATCH_FUNCTIONS[node.name.lower()], *node.expressions)


def _list_has(build: Callable[[list[Predicate]], Predicate]) -> _Translate:
    return lambda conditions, node: _has(conditions, node, build, node.this, node.expression)


def _has(
    conditions: Conditions,
    node: exp.Expr,
    build: Callable[[list[Predicate]], Predicate],
    lists: exp.Expr,
    wanted: exp.Expr,
) -> Predicate:
    """Converts a search for any or all of some constants in a list to one for each of them."""
    if not isinstance(wanted, exp.Array) or not wanted.expressions:
        raise refuse(node)
    parts = [exp.ArrayContains(this=lists.copy(), expression=item.copy()) for item in wanted.expressions]
    return build([conditions.predicate(part) for part in parts])


_Translate: TypeAlias = Callable[[Conditions, exp.Expr], Predicate]

_IS_FINITE: Final = "isfinite"
_MATCH_FUNCTIONS: Final = {"prefix": "prefix", "suffix": "suffix", "ends_with": "suffix"}
_LIST_FUNCTIONS: Final = {"array_has_any": disjunction, "list_has_all": conjunction}
_UNARY: Final = frozenset({"this"})
_BINARY: Final = frozenset({"this", "expression"})
_PATTERN: Final = frozenset({"this", "expression", "negate"})
_CONDITIONS: Final[Mapping[type[exp.Expr], tuple[_Translate, frozenset[str]]]] = {
    exp.And: (_connect(conjunction), _BINARY),
    exp.Or: (_connect(disjunction), _BINARY),
    exp.Not: (_not, _UNARY),
    exp.Paren: (lambda conditions, node: conditions.predicate(node.this), _UNARY),
    exp.EQ: (_comparison("="), _BINARY),
    exp.NEQ: (_comparison("<>"), _BINARY),
    exp.LT: (_comparison("<"), _BINARY),
    exp.LTE: (_comparison("<="), _BINARY),
    exp.GT: (_comparison(">"), _BINARY),
    exp.GTE: (_comparison(">="), _BINARY),
    exp.NullSafeEQ: (_same("="), _BINARY),
    exp.NullSafeNEQ: (_same("<>"), _BINARY),
    exp.Between: (_between, frozenset({"this", "low", "high"})),
    exp.In: (_in, frozenset({"this", "expressions"})),
    exp.Is: (_is, _BINARY),
    exp.Like: (_like(fold_case=False), _PATTERN),
    exp.ILike: (_like(fold_case=True), _PATTERN),
    exp.Escape: (_escape, _BINARY),
    exp.StartsWith: (_text_match("prefix"), _BINARY),
    exp.EndsWith: (_text_match("suffix"), _BINARY),
    exp.Contains: (_text_match("contains"), _BINARY),
    exp.ArrayOverlaps: (_list_has(disjunction), _BINARY),
    exp.ArrayContainsAll: (_list_has(conjunction), _BINARY),
    exp.IsNan: (_is_nan, _UNARY),
    exp.IsInf: (_is_infinite, _UNARY),
    exp.Anonymous: (_anonymous, frozenset({"this", "expressions"})),
}
