"""Arguments of parsed SQL. Code that rewrites or narrows a statement reads each of them, or leaves the statement alone.

A release of sqlglot may add arguments to a node: `x NOT LIKE y` was a LIKE inside a NOT, and became a LIKE with an
argument `negate`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp


def given(node: exp.Expr) -> frozenset[str]:
    """Returns the names of the arguments that a node has."""
    return frozenset(name for name, value in node.args.items() if value not in (None, False, []))


def has_only(node: exp.Expr, understood: Mapping[type[exp.Expr], Collection[str]]) -> bool:
    """Whether a node is of a kind in the table, and has no other arguments than those of its kind.

    understood: names of arguments, by the kind of a node
    """
    arguments = understood.get(type(node))
    return arguments is not None and given(node) <= frozenset(arguments)
