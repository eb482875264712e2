"""SQL constants as Python values, for arguments of table functions and versions of tables."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql.named_tables import moment
from lance_sql.values.sql_tree import given
from lance_sql.values.typed_sql import shown

_MOST_DIGITS: Final = 40
_READ: Final = frozenset({"this", "to", "expressions", "bracket_notation"})
"""Arguments of casts, lists and constructors of times that are read here."""
_TIMES: Final = frozenset({*exp.DataType.TEMPORAL_TYPES, exp.DataType.Type.TIME})
_WITH_ZONE: Final = frozenset({exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ})


def constant(node: exp.Expr, what: str, *, fractions: bool = False) -> Any:
    """Returns the value of a constant expression: numbers, text, booleans, NULL, times as text, lists of them.

    fractions: numbers may have fractions, and lists may be cast to a type

    raises: UnsupportedFeature for anything else; InvalidArgument for a cast that has no value
    """
    if isinstance(node, exp.Cast | exp.Func) and not given(node) <= _READ:
        raise _not_constant(node, what)
    match node:
        case exp.Paren():
            return constant(node.this, what, fractions=fractions)
        case exp.Literal() if node.is_string:
            return node.this
        case exp.RawString() | exp.National() | exp.Heredoc():
            return node.this if isinstance(node.this, str) else node.name
        case exp.Literal() if node.this.isdecimal() and len(node.this) <= _MOST_DIGITS:
            return int(node.this)
        case exp.Neg():
            value = constant(node.this, what, fractions=fractions)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value
        case exp.Literal() if fractions:
            return float(node.this)
        case exp.Cast() if fractions and isinstance(node.this, exp.Array):
            return constant(node.this, what, fractions=True)
        case exp.Boolean():
            return bool(node.this)
        case exp.Null():
            return None
        case exp.Array() | exp.Tuple():
            return tuple(constant(each, what, fractions=fractions) for each in node.expressions)
        case exp.Cast():
            value = constant(node.this, what, fractions=fractions)
            if node.to.this in _TIMES and isinstance(value, str):
                return moment(value) if node.to.this in _WITH_ZONE else value
            if value is None or node.to.is_type(*exp.DataType.TEXT_TYPES, *exp.DataType.INTEGER_TYPES, "boolean"):
                return _cast(value, node, what)
        case exp.Func() if node.is_type("date", "timestamp") or type(node).__name__ in ("Date", "Timestamp"):
            value = constant(node.this, what, fractions=fractions) if isinstance(node.this, exp.Expr) else None
            if isinstance(value, str):
                return value
    raise _not_constant(node, what)


def _not_constant(node: exp.Expr, what: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{what} takes constants, not {shown(node)}, because tables are opened before the statement runs"
    )


def _cast(value: Any, node: exp.Cast, what: str) -> Any:
    """Casts a constant to a text, a whole number or a boolean.

    raises: InvalidArgument
    """
    if value is None:
        return None
    if not isinstance(value, tuple):
        if node.to.is_type(*exp.DataType.TEXT_TYPES):
            return str(value).lower() if isinstance(value, bool) else str(value)
        if node.to.is_type("boolean"):
            # the function decides what is true
            return value
        try:
            return int(value)
        except ValueError:
            pass
    raise InvalidArgument(f"{what} takes constants, and {node.sql('duckdb')} cannot be computed")
