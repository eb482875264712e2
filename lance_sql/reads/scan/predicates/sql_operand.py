"""Operands of comparisons in SQL, and errors for unsupported parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from sqlglot import ErrorLevel, exp

from lance_sql.errors import UnsupportedFeature
from lance_sql.values.sql_tree import given

from .constants import Constant
from .tree import Call, ColumnRef


@dataclass(frozen=True, slots=True)
class Known:
    """A constant operand."""

    value: Constant


@dataclass(frozen=True, slots=True)
class Typed:
    """A column or a function of columns, with its type."""

    term: ColumnRef | Call
    type: pa.DataType


Operand: TypeAlias = Known | Typed


def refuse(node: exp.Expr) -> UnsupportedFeature:
    """Returns the error for unsupported SQL, in the user's spelling."""
    text = shown(node)
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_names()[0]
        return UnsupportedFeature(f"Function {name.lower()!r} is not supported in a filter: {text}")
    return UnsupportedFeature(f"Not supported in a filter: {text}")


def shown(node: exp.Expr) -> str:
    # SQL that DuckDB does not support is refused here, so the generator need not warn about it
    return node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE)


def check_arguments(node: exp.Expr, allowed: frozenset[str]) -> None:
    """Refuses a node with parts that its translation would ignore."""
    if not given(node) <= allowed:
        raise refuse(node)
