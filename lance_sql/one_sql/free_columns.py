"""Unqualified columns of a statement."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp


def unqualified(tree: exp.Expr) -> list[exp.Column]:
    """Returns the unqualified columns of an expression, except those of inner queries, which have their own tables."""
    return [
        column
        for column in tree.find_all(exp.Column)
        if not column.table
        and isinstance(column.this, exp.Identifier)
        and column.find_ancestor(exp.Query) is None
        and not isinstance(column.parent, exp.Columns)
        and not _is_bound(column)
    ]


def qualified(tree: exp.Expr, table: str, names: Collection[str]) -> exp.Expr:
    """Returns a copy of an expression that qualifies columns of these names with the table."""
    copy = tree.copy()
    known = {name.lower() for name in names}
    for column in unqualified(copy):
        if column.name.lower() in known:
            column.set("table", exp.to_identifier(table, quoted=True))
    return copy


def is_default(node: exp.Expr) -> bool:
    """Whether an expression is the word DEFAULT."""
    return isinstance(node, exp.Column) and node.name.upper() == "DEFAULT" and not node.this.quoted


def _is_bound(column: exp.Column) -> bool:
    """Whether a name is bound by a list comprehension: [x + 1 FOR x IN values]."""
    parent = column.find_ancestor(exp.Comprehension)
    while parent is not None:
        if column.name.lower() in {parent.expression.name.lower(), parent.text("position").lower()}:
            return True
        parent = parent.find_ancestor(exp.Comprehension)
    return False
