"""The SQL of an engine, as far as it differs from others. Each folder of an engine has its own in `syntax.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from lance_sql.values import kinds
from lance_sql.values.sql_tree import given
from lance_sql.values.typed_sql import joined

from .sources import Source


@dataclass(frozen=True, slots=True)
class JsonPaths:
    """The members of JSON that an engine reads as filters of this library do.

    steps: matches paths of one member
    is_exact: a text that is no path is a key, a number is an item, members have members, `json_exists` is a function,
        and a member is NULL where there is none
    """

    steps: re.Pattern[str]
    is_exact: bool = False


def cast_in_words(value: exp.Expr, type: str) -> exp.Expr:
    """Casts a value to a type that the engine spells itself."""
    return joined(["CAST(", value, f" AS {type})"])


@dataclass(frozen=True, slots=True)
class Syntax:
    """The SQL of an engine.

    dialect: makes the dialect of sqlglot that reads and prints it
    missing: nodes that sqlglot prints and the engine does not support, with the words for users
    missing_joins: methods of joins that the engine does not support
    has_pivot_statement: PIVOT is also a statement
    rewritten: changes a query of another dialect, given its sources by name, where printing it is not enough
    cast: casts a value to a type of `column_types`
    literal: returns the literal of a value that is not as in most dialects; None for others
    no_literals: types of Python without a literal
    has_colons: `:name` is a parameter
    json: the members of JSON that filters of the library may test before the engine does; None for none of them
    similar: names of other dialects with the same literals
    """

    dialect: Callable[[], Dialect]
    missing: tuple[tuple[type[exp.Expr], str], ...] = ()
    missing_joins: tuple[str, ...] = ("ASOF", "POSITIONAL")
    has_pivot_statement: bool = False
    rewritten: Callable[[exp.Expr, Mapping[str, Source]], exp.Expr] = lambda query, sources: query
    cast: Callable[[exp.Expr, str], exp.Expr] = cast_in_words
    literal: Callable[[Any], str | None] = lambda value: None
    no_literals: tuple[type, ...] = ()
    has_colons: bool = False
    json: JsonPaths | None = None
    similar: tuple[str, ...] = ()


def measure_lists(query: exp.Expr, sources: Mapping[str, Source]) -> None:
    """Replaces the length of lists by a separate function: DuckDB uses one function for texts and lists."""
    lists = {
        field.name.lower()
        for source in sources.values()
        for field in source.relation.schema
        if kinds.has_items(field.type)
    }
    for length in list(query.find_all(exp.Length)):
        value = length.this
        if given(length) != {"this"}:
            continue
        if isinstance(value, exp.Array) or (isinstance(value, exp.Column) and value.name.lower() in lists):
            length.replace(exp.ArraySize(this=value.copy()))
