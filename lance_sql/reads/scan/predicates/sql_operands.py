"""Operands of SQL conditions: constants, columns, and functions of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from sqlglot import exp

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.values import kinds

from . import column_names, constants, literals, positions, sql_functions, sql_json, terms
from .common_type import common_type, type_of
from .constants import Constant, Day, Instant, Span, plain_type
from .sql_operand import Known, Operand, Typed, check_arguments, refuse, shown
from .sql_types import arrow_type
from .tree import Call, Literal, Term


class Operands:
    """Translates the operands of one filter.

    schema: the columns that the filter may use; table: name of the table in messages
    """

    def __init__(self, schema: pa.Schema, table: str) -> None:
        self._schema = schema
        self._table = table

    def operand(self, node: exp.Expr) -> Operand:
        """raises: ColumnNotFound; InvalidArgument for wrong types; UnsupportedFeature by name"""
        entry = _OPERANDS.get(type(node))
        if entry is None:
            raise refuse(node)
        translate, allowed = entry
        check_arguments(node, allowed)
        return translate(self, node)

    def column(self, names: list[str]) -> Typed:
        column, type = column_names.resolve_dotted(self._schema, names, self._table)
        return Typed(column, type)

    def call(self, function: str, node: exp.Expr, *operands: Operand) -> Operand:
        """Calls the function on columns and constants, or computes it of constants.

        A constant takes the first column's type if it fits exactly; another integer is an int64.
        """
        known = [operand.value for operand in operands if isinstance(operand, Known)]
        if len(known) == len(operands):
            return sql_functions.of_constants(function, node, known)
        typed = [operand for operand in operands if isinstance(operand, Typed)]
        # the result would be plain bytes, which compare with text differently
        if any(isinstance(operand.type, (pa.UuidType, pa.OpaqueType)) for operand in typed):
            raise refuse(node)
        arguments: list[Term] = []
        types: list[pa.DataType] = []
        for operand in operands:
            if isinstance(operand, Typed):
                arguments.append(operand.term)
                types.append(operand.type)
            else:
                literal = _literal(operand.value, typed[0].type)
                if literal is None:
                    raise refuse(node)
                arguments.append(literal)
                types.append(literal.type)
        result = terms.result_type(function, types)
        if result is None:
            given = ", ".join(map(str, types))
            raise UnsupportedFeature(f"Not supported in a filter for {given}: {shown(node)}")
        return Typed(Call(function, tuple(arguments), result), result)


def _literal(value: Constant, column: pa.DataType) -> Literal | None:
    type = plain_type(column)
    kinds = [column, pa.int64()] if isinstance(value, int) and not isinstance(value, bool) else [column]
    if pa.types.is_decimal(type) and isinstance(value, Decimal):
        kinds.append(_own_decimal(value))
    if isinstance(value, (float, np.float32)) and common_type([type, type_of(value)]) != type:
        # the column's values would become floating-point numbers
        return None
    for kind in kinds:
        position = None if value is None else positions.locate(value, kind)
        if position is not None and position.exact and position.floor is not None and position.first is None:
            return Literal(position.floor, plain_type(kind))
    return None


def _own_decimal(value: Decimal) -> pa.DataType:
    """Returns the type of a number with its own digits: rounding it to a column's digits would change it."""
    _, digits, exponent = value.as_tuple()
    scale = max(-int(exponent), 0)
    return pa.decimal128(min(max(len(digits), scale + 1), _MAX_DIGITS), scale)


def _names(node: exp.Expr) -> list[str]:
    """Returns the identifiers of a column, outermost first."""
    assert isinstance(node, exp.Column)
    return [part.name for part in node.parts]


def _column(operands: Operands, node: exp.Expr) -> Operand:
    return operands.column(_names(node))


def _dot(operands: Operands, node: exp.Expr) -> Operand:
    names: list[str] = []
    while isinstance(node, exp.Dot):
        if not isinstance(node.expression, exp.Identifier):
            raise refuse(node)
        names.append(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Column):
        raise refuse(node)
    return operands.column([*_names(node), *reversed(names)])


def _bracket(operands: Operands, node: exp.Expr) -> Operand:
    """Converts `s['field']` of a struct column."""
    parent = node.this
    key = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(key, exp.Literal) or not key.is_string or not isinstance(parent, exp.Column):
        raise refuse(node)
    return operands.column([*_names(parent), key.this])


def _literal_node(_: Operands, node: exp.Expr) -> Operand:
    text = node.this
    if node.is_string:
        return Known(text)
    if "e" in text.lower():
        return Known(float(text))
    if "." not in text:
        return Known(int(text))
    # decimals have 38 digits; a number with more is a double
    return Known(Decimal(text) if sum(map(str.isdigit, text)) <= _MAX_DIGITS else float(text))


def _neg(operands: Operands, node: exp.Expr) -> Operand:
    operand = operands.operand(node.this)
    if isinstance(operand, Typed):
        return operands.call("negate", node, operand)
    if isinstance(operand.value, np.float32):
        return Known(-operand.value)
    match operand.value:
        case bool():
            raise refuse(node)
        case int() | float() | Decimal() as number:
            return Known(-number)
        case Span(nanoseconds):
            return Known(Span(-nanoseconds))
        case None:
            return operand
    raise refuse(node)


def _abs(operands: Operands, node: exp.Expr) -> Operand:
    operand = operands.operand(node.this)
    if isinstance(operand, Typed):
        return operands.call("abs", node, operand)
    if isinstance(operand.value, np.float32):
        return Known(np.float32(abs(float(operand.value))))
    match operand.value:
        case bool():
            raise refuse(node)
        case int() | float() | Decimal() as number:
            return Known(-number if number < 0 else number)
        case None:
            return operand
    raise refuse(node)


def _interval(_: Operands, node: exp.Expr) -> Operand:
    unit = _SPANS.get(node.text("unit").lower().rstrip("s"))
    count = literals.parse_decimal(node.name, 9)
    if unit is None or count is None:
        raise refuse(node)
    return Known(Span(int(count * unit)))


def _arithmetic(function: str) -> _Translate:
    def translate(operands: Operands, node: exp.Expr) -> Operand:
        left, right = operands.operand(node.this), operands.operand(node.expression)
        if isinstance(left, Known) and isinstance(right, Known):
            folded = _fold(function, left.value, right.value)
            if folded is None:
                raise refuse(node)
            return Known(folded)
        if function in _DIVISIONS and not (isinstance(right, Known) and _is_divisor(right.value)):
            raise refuse(node)
        return operands.call(function, node, left, right)

    return translate


def _is_divisor(value: Constant) -> bool:
    """Whether a constant makes a division defined for every row."""
    return isinstance(value, int) and value is not True and value > 0


def _fold(function: str, left: Constant, right: Constant) -> Constant:
    """Computes arithmetic of two constants; None without an exact result."""
    match function, left, right:
        case "add" | "subtract", Day(days), Span(nanoseconds):
            return _fold(function, Instant(days * 86_400 * 10**9), Span(nanoseconds))
        case "add", Instant(moment), Span(nanoseconds):
            return Instant(moment + nanoseconds)
        case "subtract", Instant(moment), Span(nanoseconds):
            return Instant(moment - nanoseconds)
        case "add" | "subtract", Day(days), int() if not isinstance(right, bool):
            return Day(days + right if function == "add" else days - right)
    numbers = (int, Decimal)
    if not isinstance(left, numbers) or not isinstance(right, numbers) or bool in (type(left), type(right)):
        return None
    match function:
        case "add":
            return left + right
        case "subtract":
            return left - right
        case "multiply":
            return left * right
    return None


def _function(name: str) -> _Translate:
    """Converts a function of one argument, the node's `this`."""
    return lambda operands, node: operands.call(name, node, operands.operand(node.this))


def _part(operands: Operands, node: exp.Expr) -> Operand:
    """Converts extract(unit FROM x)."""
    return _calendar_part(operands, node, node.name, node.expression)


def _calendar_part(operands: Operands, node: exp.Expr, unit: str, argument: exp.Expr) -> Operand:
    if unit.lower() not in _PARTS:
        raise refuse(node)
    return operands.call(unit.lower(), node, operands.operand(argument))


def _truncate(operands: Operands, node: exp.Expr) -> Operand:
    unit = node.text("unit").lower()
    if unit not in _PARTS:
        raise refuse(node)
    return operands.call(f"trunc_{unit}", node, operands.operand(node.this))


def _coalesce(operands: Operands, node: exp.Expr) -> Operand:
    return operands.call("coalesce", node, *(operands.operand(part) for part in (node.this, *node.expressions)))


def _anonymous(operands: Operands, node: exp.Expr) -> Operand:
    """Converts functions that the parser does not recognize by name."""
    name, arguments = node.name.lower(), node.expressions
    if name in ("strlen", "octet_length") and len(arguments) == 1:
        return operands.call("octet_length", node, operands.operand(arguments[0]))
    if name in _PARTS and len(arguments) == 1:
        return _calendar_part(operands, node, name, arguments[0])
    if name in ("date_part", "datepart") and len(arguments) == 2 and arguments[0].is_string:
        return _calendar_part(operands, node, arguments[0].name, arguments[1])
    if name in sql_json.FUNCTIONS:
        return sql_json.call(operands, node)
    raise refuse(node)


def _cast(operands: Operands, node: exp.Expr) -> Operand:
    operand = operands.operand(node.this)
    target = arrow_type(node.args["to"])
    if target is None:
        raise refuse(node)
    if isinstance(operand, Known):
        return Known(_cast_constant(operand.value, target, node))
    member = sql_json.cast(operand, target)
    if member is not None:
        return member
    if isinstance(target, pa.BaseExtensionType) or not terms.castable(operand.type, target):
        raise refuse(node)
    target = pa.large_string() if kinds.is_text(target) else target
    return Typed(Call("cast", (operand.term,), target), target)


def _cast_constant(value: Constant, target: pa.DataType, node: exp.Expr) -> Constant:
    if value is None:
        return None
    if kinds.is_text(target):
        if isinstance(value, str):
            return value
        raise refuse(node)
    parsed = literals.parse(value, target) if isinstance(value, str) else value
    if pa.types.is_floating(target) and isinstance(parsed, (int, float, np.float32, Decimal)):
        return positions.to_float(parsed, target)
    position = None if parsed is None else positions.locate(parsed, target)
    if position is None or position.floor is None:
        raise InvalidArgument(f"Cannot convert {constants.text(value)} to {target}")
    if not position.exact or position.first is not None:
        raise refuse(node)
    return constants.from_stored(position.floor, target)


_Translate: TypeAlias = Callable[[Operands, exp.Expr], Operand]

_MAX_DIGITS: Final = 38
_DIVISIONS: Final = ("divide", "modulo", "shift_right")
_PARTS: Final = ("year", "quarter", "month", "day", "hour", "minute", "second")
_SPANS: Final = {
    "week": 7 * 86_400 * 10**9,
    "day": 86_400 * 10**9,
    "hour": 3_600 * 10**9,
    "minute": 60 * 10**9,
    "second": 10**9,
    "millisecond": 10**6,
    "microsecond": 10**3,
}
_JSON: Final = frozenset({"this", "expression"})
_UNARY: Final = frozenset({"this"})
_BINARY: Final = frozenset({"this", "expression"})
_OPERANDS: Final[Mapping[type[exp.Expr], tuple[_Translate, frozenset[str]]]] = {
    exp.Column: (_column, frozenset({"this", "table", "db", "catalog"})),
    exp.Dot: (_dot, _BINARY),
    exp.Bracket: (_bracket, frozenset({"this", "expressions"})),
    exp.Paren: (lambda operands, node: operands.operand(node.this), _UNARY),
    exp.Literal: (_literal_node, frozenset({"this", "is_string"})),
    exp.HexString: (sql_functions.hex_bytes, frozenset({"this"})),
    exp.Boolean: (lambda _, node: Known(bool(node.this)), _UNARY),
    exp.Null: (lambda _, node: Known(None), frozenset()),
    exp.Neg: (_neg, _UNARY),
    exp.Interval: (_interval, frozenset({"this", "unit"})),
    exp.Add: (_arithmetic("add"), _BINARY),
    exp.Sub: (_arithmetic("subtract"), _BINARY),
    exp.Mul: (_arithmetic("multiply"), _BINARY),
    exp.IntDiv: (_arithmetic("divide"), _BINARY),
    exp.Mod: (_arithmetic("modulo"), _BINARY),
    exp.BitwiseRightShift: (_arithmetic("shift_right"), _BINARY),
    exp.Abs: (_abs, _UNARY),
    exp.Length: (sql_functions.length, _UNARY),
    exp.ArraySize: (_function("len"), _UNARY),
    exp.ArrayContains: (sql_functions.list_contains, _BINARY),
    exp.Substring: (sql_functions.substring, frozenset({"this", "start", "length"})),
    exp.Left: (sql_functions.left, _BINARY),
    exp.Trim: (sql_functions.trim, frozenset({"this", "position"})),
    exp.RegexpLike: (sql_functions.regexp_matches, _BINARY),
    exp.RegexpFullMatch: (sql_functions.regexp_full_match, _BINARY),
    exp.DPipe: (sql_functions.pipe, frozenset({"this", "expression", "safe"})),
    exp.Concat: (sql_functions.concat, frozenset({"expressions", "safe", "coalesce"})),
    exp.Lower: (_function("lower"), _UNARY),
    exp.Upper: (_function("upper"), _UNARY),
    exp.Year: (_function("year"), _UNARY),
    exp.Quarter: (_function("quarter"), _UNARY),
    exp.Month: (_function("month"), _UNARY),
    exp.Day: (_function("day"), _UNARY),
    exp.Hour: (_function("hour"), _UNARY),
    exp.Minute: (_function("minute"), _UNARY),
    exp.Second: (_function("second"), _UNARY),
    exp.Extract: (_part, _BINARY),
    exp.TimestampTrunc: (_truncate, frozenset({"this", "unit"})),
    exp.DateTrunc: (_truncate, frozenset({"this", "unit", "unabbreviate"})),
    exp.Coalesce: (_coalesce, frozenset({"this", "expressions"})),
    exp.Cast: (_cast, frozenset({"this", "to"})),
    exp.JSONExtract: (partial(sql_json.extract, "json_extract"), _JSON),
    exp.JSONExtractScalar: (partial(sql_json.extract, "json_extract_string"), _JSON),
    exp.Lambda: (sql_json.arrow, frozenset({"this", "expressions"})),
    exp.JSONArrayContains: (sql_json.array_contains, frozenset({"this", "expression", "json_type"})),
    exp.Anonymous: (_anonymous, frozenset({"this", "expressions"})),
}
