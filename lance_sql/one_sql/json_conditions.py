"""Conditions of a query on members of JSON as filters of this library: all rows that the engine keeps pass.

    DuckDB   (v->>'a') = 'x'                    json_extract_string(v, '$.a') = 'x'
             json_exists(v, '$.a')              the same
             (v->>'a')::INTEGER > 3             json_extract_string(v, '$.a') IS NOT NULL
    Spark    get_json_object(v, '$.a') = 'x'    json_extract_string(v, '$.a') = 'x'

The engine evaluates its conditions again. Its texts of doubles, lists and objects differ from ours, and its casts fail
for other values: such conditions only need the member to be there. Paths are read as they are typed, because the parser
takes the key 'a.b' for the path '$.a.b'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from lance_sql.providers.adapter import Adapter
from lance_sql.reads.scan.predicates import json_paths
from lance_sql.values.sql_text import literal
from lance_sql.values.sql_tree import has_only
from lance_sql.values.typed_sql import keep_path, typed_path

_ONE: Final = frozenset({"this"})
_MEMBER: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys((exp.JSONExtract, exp.JSONExtractScalar), frozenset({"this", "expression"})),
    **dict.fromkeys((exp.Cast, exp.TryCast), frozenset({"this", "to"})),
    exp.Paren: _ONE,
    exp.Column: frozenset({"this", "table"}),
}
"""Arguments of the nodes around and inside a member; all of them are NULL for NULL."""
_COMPARED: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), frozenset({"this", "expression"})),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: frozenset({"this", "expressions"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.Is: frozenset({"this", "expression", "negate"}),
    exp.Not: _ONE,
    exp.Anonymous: frozenset({"this", "expressions"}),
}
_CONSTANT: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    **dict.fromkeys((exp.Neg, exp.Paren, exp.Boolean), _ONE),
    exp.Null: frozenset(),
    exp.Literal: frozenset({"this", "is_string"}),
}
_KEY: Final = re.compile(r"[^\W\d][\w .\-]*")
_WHOLE: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER: Final = re.compile(r"\s*[-+]?\.?\d[\d.]*(?:[eE][-+]?\d+)?\s*")
_PLAIN: Final = re.compile(r'"[A-Za-z0-9 _.:\-]*"|true|false')


def has_members(query: exp.Expr) -> bool:
    """Whether a query may have conditions on members of JSON."""
    if query.find(exp.JSONExtract, exp.JSONExtractScalar) is not None:
        return True
    return any(node.name.lower() == "json_exists" for node in query.find_all(exp.Anonymous))


def is_understood(node: exp.Expr) -> bool:
    """Whether a condition compares one member of JSON with constants, in parts that this module knows."""
    if not has_only(node, _COMPARED):
        return False
    if isinstance(node, exp.Not):
        return _is_null_test(node.this.unnest())
    if isinstance(node, exp.Anonymous):
        return _exists(node) is not None
    if isinstance(node, exp.Is):
        return _is_null_test(node)
    operands = [node.this]
    for key in ("expression", "low", "high"):
        operands += [node.args[key]] if node.args.get(key) is not None else []
    operands += node.args.get("expressions") or []
    members = [each for each in operands if _member(each) is not None]
    return len(members) == 1 and all(each is members[0] or _is_constant(each) for each in operands)


def filter_of(node: exp.Expr, engine: Adapter, column: Callable[[exp.Expr], str | None]) -> str | None:
    """Returns a filter that every row passes for which the engine finds a condition true; None if there is none.

    node: for which `is_understood` is true
    column: spells a column if it has JSON
    """
    if isinstance(node, exp.Anonymous):
        typed = _exists(node, engine.name) if _is_exact_in(engine) else None
        return None if typed is None else _spelled(typed, engine, column, "json_exists")
    if isinstance(node, exp.Not):
        return _present(node.this.unnest().this, engine, column)
    if isinstance(node, exp.Is):
        if node.args.get("negate"):
            return _present(node.this, engine, column)
        return _missing(node.this, engine, column)
    operand = node.this if _member(node.this) is not None else node.expression
    return _compared(node, operand, engine, column) or _present(operand, engine, column)


def _compared(
    node: exp.Expr, operand: exp.Expr, engine: Adapter, column: Callable[[exp.Expr], str | None]
) -> str | None:
    """Returns an equality whose constants have one text as members, here and in the engine."""
    member = operand.unnest()
    if not isinstance(member, exp.JSONExtract | exp.JSONExtractScalar):
        return None
    if isinstance(node, exp.EQ):
        constants = [node.expression if operand is node.this else node.this]
    elif isinstance(node, exp.In) and operand is node.this:
        constants = node.expressions
    else:
        return None
    is_text = isinstance(member, exp.JSONExtractScalar)
    texts = [each.name for each in constants if isinstance(each, exp.Literal) and each.is_string]
    if (
        not texts
        or len(texts) < len(constants)
        or not all((_is_exact if is_text else _is_exact_json)(t) for t in texts)
    ):
        return None
    spelled = _spelled(member, engine, column, "json_extract_string" if is_text else "json_extract")
    return None if spelled is None else f"({spelled} IN ({', '.join(map(literal, texts))}))"


def _is_exact(text: str) -> bool:
    """Whether a text is that of the same strings, integers and booleans here and in an engine, and of no others."""
    if set("'\"\\") & set(text) or text[:1] in ("{", "["):
        return False
    return _NUMBER.fullmatch(text) is None or _WHOLE.fullmatch(text) is not None


def _is_exact_json(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None or _WHOLE.fullmatch(text) is not None


def _present(operand: exp.Expr, engine: Adapter, column: Callable[[exp.Expr], str | None]) -> str | None:
    """Returns the filter for documents whose member is not NULL in the engine."""
    member = _member(operand)
    if isinstance(member, exp.JSONExtractScalar):
        spelled = _spelled(member, engine, column, "json_extract_string")
        return None if spelled is None else f"({spelled} IS NOT NULL)"
    # a null is JSON
    return None if member is None else _spelled(member, engine, column, "json_exists")


def _missing(operand: exp.Expr, engine: Adapter, column: Callable[[exp.Expr], str | None]) -> str | None:
    """Returns the filter for documents whose member is NULL in the engine, if it is NULL in no others."""
    member = operand.unnest()
    if not _is_exact_in(engine) or not isinstance(member, exp.JSONExtract | exp.JSONExtractScalar):
        # casts may be NULL for values, and Spark's functions for large documents
        return None
    function = "json_extract_string" if isinstance(member, exp.JSONExtractScalar) else "json_extract"
    spelled = _spelled(member, engine, column, function)
    return None if spelled is None else f"({spelled} IS NULL)"


def _spelled(member: exp.Expr, engine: Adapter, column: Callable[[exp.Expr], str | None], function: str) -> str | None:
    """Returns the call of a function of filters for a member; None for another column, or another form of path."""
    path = _path(member, engine)
    inner = member.this.unnest()
    while path is not None and isinstance(inner, exp.JSONExtract) and _is_exact_in(engine):
        outer = _path(inner, engine)
        path = None if outer is None else json_paths.joined(outer, path)
        inner = inner.this.unnest()
    name = column(inner)
    return None if path is None or name is None else f"{function}({name}, {literal(path)})"


def _path(member: exp.Expr, engine: Adapter) -> str | None:
    """Returns the path to a member in the form of filters, if the engine reads it in the same way."""
    dialect, is_string, text = typed_path(member.expression) or ("", False, "")
    paths = engine.syntax.json
    if paths is None or dialect != engine.name:
        return None
    if not is_string:
        return f"$[{text}]" if paths.is_exact and re.fullmatch(r"\d{1,6}", text) else None
    if paths.steps.fullmatch(text):
        return text
    return json_paths.of_key(text) if paths.is_exact and _KEY.fullmatch(text) else None


def _is_exact_in(engine: Adapter) -> bool:
    return engine.syntax.json is not None and engine.syntax.json.is_exact


def _member(node: exp.Expr) -> exp.JSONExtract | exp.JSONExtractScalar | None:
    """Returns the member of a column in parentheses and casts; None for others."""
    while isinstance(node, exp.Paren | exp.Cast) and has_only(node, _MEMBER):
        node = node.this
    if not isinstance(node, exp.JSONExtract | exp.JSONExtractScalar):
        return None
    inner: exp.Expr = node
    while isinstance(inner, exp.JSONExtract | exp.JSONExtractScalar | exp.Paren) and has_only(inner, _MEMBER):
        if not isinstance(inner, exp.Paren) and typed_path(inner.expression) is None:
            return None
        inner = inner.this
    return node if isinstance(inner, exp.Column) and has_only(inner, _MEMBER) else None


def _exists(node: exp.Anonymous, engine: str = "") -> exp.JSONExtract | None:
    """Returns the member that json_exists looks for, with a path of the engine; None for other calls."""
    arguments = node.expressions
    if node.name.lower() != "json_exists" or len(arguments) != 2 or not isinstance(arguments[1], exp.Literal):
        return None
    if not isinstance(arguments[0], exp.Column) or not has_only(arguments[0], _MEMBER):
        return None
    path = keep_path(exp.JSONPath(expressions=[]), arguments[1], engine)
    return exp.JSONExtract(this=arguments[0].copy(), expression=path)


def _is_null_test(node: exp.Expr) -> bool:
    is_test = isinstance(node, exp.Is) and has_only(node, _COMPARED) and isinstance(node.expression, exp.Null)
    return is_test and _member(node.this) is not None


def _is_constant(node: exp.Expr) -> bool:
    return all(has_only(part, _CONSTANT) for part in node.walk())
