"""Conditions of a query as filters of this library, if both have the same result for every value.

Conditions that an engine may evaluate differently stay with the engine: values that it converts first, times that
depend on a session's zone, and NaN, which some engines order above all numbers and others do not compare. A condition
with a part that is not in the tables below stays with the engine, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Final

import pyarrow as pa
from sqlglot import exp

from lance_sql.format.schema.from_arrow import logical_type
from lance_sql.one_sql import json_conditions
from lance_sql.providers.adapter import Adapter
from lance_sql.reads.scan.predicates.build import MIRRORED
from lance_sql.values.sql_text import identifier, literal
from lance_sql.values.sql_tree import has_only

_COMPARED: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_BELOW: Final = ("=", "<", "<=")
"""Comparisons that are false for NaN in every engine."""
_MOST_DIGITS: Final = 15
_BINARY: Final = frozenset({"this", "expression"})
_CONDITIONS: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys((exp.And, exp.Or, *_COMPARED), _BINARY),
    **dict.fromkeys((exp.Not, exp.Paren), frozenset({"this"})),
    exp.Is: frozenset({"this", "expression", "negate"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
}
"""Arguments that this module reads, by the kind of a node; those of constants are in another table."""
_CONSTANTS: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _BINARY),
    **dict.fromkeys((exp.Neg, exp.Paren, exp.Boolean, exp.Date, exp.TsOrDsToDate, exp.Var), frozenset({"this"})),
    exp.Null: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "nested"}),
}
"""Arguments of nodes without columns. Arithmetic of columns may round and overflow, so sqlglot must not solve it."""
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def is_understood(node: exp.Expr) -> bool:
    """Whether every part of a condition is one that this module, and sqlglot's simplification, reads."""
    if all(has_only(part, _CONSTANTS) for part in node.walk()) or json_conditions.is_understood(node):
        return True
    return has_only(node, _CONDITIONS) and all(map(is_understood, node.iter_expressions()))


def exact_filter(condition: exp.Expr, schema: pa.Schema, engine: Adapter) -> str | None:
    """Returns the condition as the text of a filter; None if it cannot be one, or may have another meaning. For
    conditions on members of JSON the filter may be a weaker one, see `json_conditions`.

    schema: of the table of its columns, as `declared_field` has them; names in any case
    engine: that evaluates the condition
    """
    if not is_understood(condition):
        return None
    names: dict[str, list[str]] = {}
    for name in schema.names:
        names.setdefault(name.lower(), []).append(name)
    spelled = {lower: spellings[0] for lower, spellings in names.items() if len(spellings) == 1}
    return _Filter(schema, spelled, engine).text(condition, is_negated=False)


class _Filter:
    def __init__(self, schema: pa.Schema, spelled: Mapping[str, str], engine: Adapter) -> None:
        self._schema = schema
        self._spelled = spelled
        self._engine = engine

    def text(self, node: exp.Expr, *, is_negated: bool) -> str | None:
        if json_conditions.is_understood(node):
            # a negated weaker condition would be a stronger one
            return None if is_negated else json_conditions.filter_of(node, self._engine, self._documents)
        match node:
            case exp.Paren():
                return self.text(node.this, is_negated=is_negated)
            case exp.And() | exp.Or():
                parts = [self.text(each, is_negated=is_negated) for each in (node.left, node.right)]
                word = "AND" if isinstance(node, exp.And) else "OR"
                return None if None in parts else f"({parts[0]} {word} {parts[1]})"
            case exp.Not():
                inner = self.text(node.this, is_negated=True)
                return None if inner is None else f"(NOT {inner})"
            case exp.Is() if isinstance(node.expression, exp.Null):
                column = self._column(node.this)
                return None if column is None else f"({column[0]} IS {_word(node)}NULL)"
            case exp.Between():
                return self._between(node, is_negated=is_negated)
            case exp.In():
                return self._in(node, is_negated=is_negated)
            case exp.Like():
                return self._like(node)
            case _ if type(node) in _COMPARED:
                return self._compared(node, is_negated=is_negated)
        return None

    def _compared(self, node: exp.Expr, *, is_negated: bool) -> str | None:
        left, right, sign = node.this, node.expression, _COMPARED[type(node)]
        if isinstance(right, exp.Column):
            left, right, sign = right, left, MIRRORED[sign]
        column = self._column(left)
        if column is None:
            return None
        if pa.types.is_float64(column[1]) and (is_negated or sign not in _BELOW):
            return None
        value = _value(right, column[1])
        return None if value is None else f"({column[0]} {sign} {value})"

    def _between(self, node: exp.Between, *, is_negated: bool) -> str | None:
        column = self._column(node.this)
        if column is None or (pa.types.is_float64(column[1]) and is_negated):
            return None
        low, high = (_value(node.args[key], column[1]) for key in ("low", "high"))
        return None if low is None or high is None else f"({column[0]} BETWEEN {low} AND {high})"

    def _in(self, node: exp.In, *, is_negated: bool) -> str | None:
        column = self._column(node.this)
        if column is None or (pa.types.is_float64(column[1]) and is_negated):
            return None
        values = [_value(each, column[1]) for each in node.expressions]
        return None if None in values else f"({column[0]} IN ({', '.join(map(str, values))}))"

    def _like(self, node: exp.Like) -> str | None:
        column, pattern = self._column(node.this), node.expression
        if column is None or not pa.types.is_string(column[1]):
            return None
        text = _text(pattern)
        return None if text is None else f"({column[0]} {_word(node)}LIKE {text})"

    def _documents(self, node: exp.Expr) -> str | None:
        """Returns the spelling of a column of JSON; None for others."""
        column = self._column(node)
        is_json = column is not None and logical_type(self._schema.field(self._spelled[node.name.lower()])) == "json"
        return column[0] if column is not None and is_json else None

    def _column(self, node: exp.Expr | None) -> tuple[str, pa.DataType] | None:
        if not isinstance(node, exp.Column) or len(node.parts) != 1:
            return None
        name = self._spelled.get(node.name.lower())
        if name is None:
            return None
        return identifier(name), self._schema.field(name).type


def _word(node: exp.Expr) -> str:
    return "NOT " if node.args.get("negate") else ""


def _value(node: exp.Expr, type: pa.DataType) -> str | None:
    """Returns a constant that compares with a column of the type without conversion; None for other constants."""
    if pa.types.is_integer(type):
        return _number(node, is_whole=True)
    if pa.types.is_decimal(type) or pa.types.is_float64(type):
        return _number(node, is_whole=False)
    if pa.types.is_string(type):
        return _text(node)
    return _day(node) if pa.types.is_date32(type) else None


def _text(node: exp.Expr) -> str | None:
    """Returns a text constant; None with quotes or backslashes, which Spark and Sail read in different ways."""
    is_plain = isinstance(node, exp.Literal) and node.is_string and not set("'\"\\") & set(node.this)
    return literal(node.this) if is_plain else None


def _number(node: exp.Expr, *, is_whole: bool) -> str | None:
    sign = "-" if isinstance(node, exp.Neg) else ""
    node = node.this if sign else node
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    if len(text) > _MOST_DIGITS or not re.fullmatch(r"\d+" if is_whole else r"\d+(\.\d+)?", text):
        return None
    return sign + text


def _day(node: exp.Expr) -> str | None:
    """Returns a date literal for a date, or for a text that is one."""
    if isinstance(node, exp.Date | exp.TsOrDsToDate) or (isinstance(node, exp.Cast) and node.is_type("date")):
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_string or not _DATE.fullmatch(node.this):
        return None
    try:
        return f"DATE '{date.fromisoformat(node.this)}'"
    except ValueError:
        return None
