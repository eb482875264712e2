"""Functions of texts and lists in SQL conditions, with their constant arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from lance_sql.errors import InvalidArgument
from lance_sql.format.schema.extensions import extension_type
from lance_sql.values import kinds

from . import constants, positions, terms
from .constants import Constant, plain_type
from .list_functions import has_comparable_items
from .sql_operand import Known, Operand, Typed, refuse
from .tree import Call, Literal

if TYPE_CHECKING:
    from .sql_operands import Operands

# more characters than a text can have
_MANY: Final = 2**31
_OF_CONSTANTS: Final = frozenset(
    (
        "lower",
        "upper",
        "length",
        "octet_length",
        "trim",
        "ltrim",
        "rtrim",
        "substring",
        "||",
        "concat",
        "regexp_matches",
    )
)


def of_constants(function: str, node: exp.Expr, values: Sequence[Constant]) -> Known:
    """Computes a function of texts and counts that are constants, by the same rules as of a column's values.

    raises: UnsupportedFeature for other functions and types
    """
    if function not in _OF_CONSTANTS or not all(_is_text_or_count(value) for value in values):
        raise refuse(node)
    if function != "concat" and None in values:
        return Known(None)
    types = [pa.int64() if isinstance(value, int) else pa.large_string() for value in values]
    result = terms.result_type(function, types)
    if result is None:
        raise refuse(node)
    arrays = [pa.array([value], type) for value, type in zip(values, types, strict=True)]
    (computed,) = terms.FUNCTIONS[function].evaluate(result, *arrays)
    return Known(constants.from_scalar(computed))


def _is_text_or_count(value: Constant) -> bool:
    return value is None or (isinstance(value, (str, int)) and not isinstance(value, bool))


def length(operands: Operands, node: exp.Expr) -> Operand:
    operand = operands.operand(node.this)
    is_of_items = isinstance(operand, Typed) and kinds.has_items(plain_type(operand.type))
    return operands.call("len" if is_of_items else "length", node, operand)


def _of_text(function: str, operands: Operands, node: exp.Expr, *constants: Literal) -> Operand:
    """Calls a function of a text and of constants that are not NULL."""
    operand = operands.operand(node.this)
    if isinstance(operand, Known):
        if operand.value is not None and not isinstance(operand.value, str):
            raise refuse(node)
        return of_constants(function, node, [operand.value, *(constant.value for constant in constants)])
    if not kinds.is_text(plain_type(operand.type)):
        raise refuse(node)
    type = terms.result_type(function, [operand.type, *(constant.type for constant in constants)])
    assert type is not None
    return Typed(Call(function, (operand.term, *constants), type), type)


def substring(operands: Operands, node: exp.Expr) -> Operand:
    """Converts substring(text, start, length), with characters counted from 1."""
    start, length = _count(operands, node, "start"), _count(operands, node, "length")
    if start is None or start.value == 0 or length is None:
        raise refuse(node)
    return _of_text("substring", operands, node, start, length)


def left(operands: Operands, node: exp.Expr) -> Operand:
    length = _count(operands, node, "expression")
    if length is None:
        raise refuse(node)
    return _of_text("substring", operands, node, Literal(1, pa.int64()), length)


def _count(operands: Operands, node: exp.Expr, argument: str) -> Literal | None:
    """Returns a constant that counts characters; None for anything else."""
    operand = operands.operand(node.args[argument]) if node.args.get(argument) is not None else None
    value = operand.value if isinstance(operand, Known) else None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MANY:
        return None
    return Literal(value, pa.int64())


def trim(operands: Operands, node: exp.Expr) -> Operand:
    function = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
    return _of_text(function, operands, node)


def regexp_matches(operands: Operands, node: exp.Expr) -> Operand:
    """Tests whether a part of a text matches: RE2's syntax, as in DuckDB."""
    return _regexp(operands, node, "{}")


def regexp_full_match(operands: Operands, node: exp.Expr) -> Operand:
    return _regexp(operands, node, r"\A(?:{})\z")


def _regexp(operands: Operands, node: exp.Expr, form: str) -> Operand:
    operand = operands.operand(node.expression)
    if not isinstance(operand, Known) or not isinstance(operand.value, str):
        raise refuse(node)
    for pattern in (operand.value, form.replace("{}", operand.value)):
        try:
            pc.match_substring_regex(pa.scalar(""), pattern)
        except pa.ArrowInvalid as error:
            raise InvalidArgument(f"{operand.value!r} is not a regular expression: {error}") from error
    return _of_text("regexp_matches", operands, node, Literal(pattern, pa.large_string()))


def list_contains(operands: Operands, node: exp.Expr) -> Operand:
    lists, wanted = operands.operand(node.this), operands.operand(node.expression)
    if (
        not isinstance(lists, Typed)
        or not has_comparable_items(plain_type(lists.type))
        or not isinstance(wanted, Known)
    ):
        raise refuse(node)
    item_type = extension_type(plain_type(lists.type).value_field)
    item = plain_type(item_type)
    if wanted.value is None:
        raise refuse(node)
    position = positions.locate(wanted.value, item_type)
    if position is None:
        raise InvalidArgument(f"Cannot look for {constants.text(wanted.value)} in {lists.term} ({lists.type})")
    if not position.exact or position.floor is None or position.first is not None:
        raise refuse(node)
    return Typed(Call("list_contains", (lists.term, Literal(position.floor, item)), pa.bool_()), pa.bool_())


def hex_bytes(_: Operands, node: exp.Expr) -> Operand:
    """Converts X'00FF'."""
    if len(node.name) % 2:
        raise InvalidArgument(f"X'{node.name}' has an odd number of digits: a byte has two")
    return Known(bytes.fromhex(node.name))


def pipe(operands: Operands, node: exp.Expr) -> Operand:
    return operands.call("||", node, *(operands.operand(part) for part in node.flatten()))


def concat(operands: Operands, node: exp.Expr) -> Operand:
    return operands.call("concat", node, *(operands.operand(part) for part in node.expressions))
