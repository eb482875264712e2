"""What stands on a side of a comparison in SQL, and how the parts that filters do not have are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from sqlglot import ErrorLevel, exp

from lance_sql.errors import UnsupportedFeature

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
    """The error for SQL that filters do not have, by the user's own words."""
    text = shown(node)
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_names()[0]
        return UnsupportedFeature(f"Function {name.lower()!r} is not supported in a filter: {text}")
    return UnsupportedFeature(f"Not supported in a filter: {text}")


def shown(node: exp.Expr) -> str:
    # what DuckDB does not have is refused here: the generator need not warn of it as well
    return node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE)


def check_arguments(node: exp.Expr, allowed: frozenset[str]) -> None:
    """Refuses a node with parts that its translation would ignore."""
    for name, value in node.args.items():
        if value not in (None, False, []) and name not in allowed:
            raise refuse(node)
