"""Functions of members of JSON in SQL conditions: those of pylance, and DuckDB's operators -> and ->>."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from lance_sql.errors import InvalidArgument
from lance_sql.values import kinds

from . import json_paths
from .constants import plain_type
from .json_functions import BY_NAME, BY_PATH, DOCUMENT
from .sql_operand import Known, Operand, Typed, refuse
from .tree import Call, ColumnRef, Literal

if TYPE_CHECKING:
    from .sql_operands import Operands

FUNCTIONS: Final = frozenset((*BY_NAME, "json_exists", "json_array_length", "json_extract_string"))
"""Functions that the parser does not recognize."""

_CASTS: Final = (
    (pa.types.is_integer, "json_integer"),
    (pa.types.is_floating, "json_float"),
    (pa.types.is_boolean, "json_boolean"),
)


def extract(function: str, operands: Operands, node: exp.Expr) -> Operand:
    """Converts json_extract and ->, json_extract_string and ->>."""
    is_operator = "only_json_types" in node.args
    return _at_path(function, operands, node, node.this, _path(node.expression, node, is_operator=is_operator))


def arrow(operands: Operands, node: exp.Expr) -> Operand:
    """Converts -> among the arguments of a function, where the parser takes it for a lambda."""
    columns = node.expressions
    if len(columns) != 1 or not isinstance(columns[0], exp.Identifier) or not isinstance(node.this, exp.Literal):
        raise refuse(node)
    column = exp.Column(this=columns[0].copy())
    path = _path(node.this, node, is_operator=True)
    return _at_path("json_extract", operands, node, column, path)


def call(operands: Operands, node: exp.Expr) -> Operand:
    """Converts the functions of `FUNCTIONS`."""
    name, arguments = node.name.lower(), node.expressions
    if name in BY_NAME:
        if len(arguments) != 2:
            raise refuse(node)
        key = arguments[1]
        if not isinstance(key, exp.Literal):
            raise refuse(node)
        _, type = BY_NAME[name]
        document = _document(operands, node, arguments[0])
        return Typed(Call(name, (document.term, _text(key.name)), type), type)
    if len(arguments) == 1 and name == "json_array_length":
        return _at_path(name, operands, node, arguments[0], "$")
    if len(arguments) != 2:
        raise refuse(node)
    return _at_path(name, operands, node, arguments[0], _path(arguments[1], node, is_operator=False))


def array_contains(operands: Operands, node: exp.Expr) -> Operand:
    """Converts json_array_contains(document, path, value), whose last argument the parser takes for a type."""
    wanted = node.args.get("json_type")
    if not isinstance(wanted, (exp.Literal, exp.Boolean)):
        raise refuse(node)
    text = str(wanted.this).lower() if isinstance(wanted, exp.Boolean) else wanted.name
    path = _path(node.expression, node, is_operator=False)
    return _at_path("json_array_contains", operands, node, node.this, path, _text(text))


def cast(operand: Typed, target: pa.DataType) -> Typed | None:
    """Converts the cast of a member to a number, boolean or text; None for other operands and types."""
    term = operand.term
    if not isinstance(term, Call) or term.function not in ("json_extract", "json_extract_string"):
        return None
    if kinds.is_text(target):
        return operand
    for is_kind, function in _CASTS:
        if is_kind(target):
            _, type = BY_PATH[function]
            member = Typed(Call(function, term.arguments, type), type)
            return member if type == target else Typed(Call("cast", (member.term,), target), target)
    return None


def _at_path(
    function: str, operands: Operands, node: exp.Expr, argument: exp.Expr, path: str, *others: Literal
) -> Operand:
    document = _document(operands, node, argument)
    term: ColumnRef | Call = document.term
    if isinstance(term, Call) and term.function == "json_extract":
        # a member of a member
        inner, outer = term.arguments
        assert isinstance(inner, (ColumnRef, Call))
        assert isinstance(outer, Literal)
        term, path = inner, json_paths.joined(str(outer.value), path)
    _, type = BY_PATH[function]
    return Typed(Call(function, (term, _text(path), *others), type), type)


def _document(operands: Operands, node: exp.Expr, argument: exp.Expr) -> Typed:
    operand = operands.operand(argument)
    if isinstance(operand, Known):
        raise refuse(node)
    is_member = isinstance(operand.term, Call) and operand.type == DOCUMENT
    if not is_member and not kinds.is_text(plain_type(operand.type)):
        raise InvalidArgument(f"{operand.term} ({operand.type}) is not JSON: {node.sql(dialect='duckdb')}")
    return operand


def _path(node: exp.Expr | None, whole: exp.Expr, *, is_operator: bool) -> str:
    """Returns a path in its usual form."""
    if not isinstance(node, exp.Literal):
        raise refuse(whole)
    text = node.name
    if not node.is_string:
        if not text.isdigit():
            raise refuse(whole)
        path = f"$[{text}]"
    elif text.startswith("$"):
        path = text
    elif is_operator or json_paths.is_word(text):
        path = json_paths.of_key(text)
    else:
        path = text
    json_paths.parse(path)
    return path


def _text(value: str) -> Literal:
    return Literal(value, pa.large_string())
