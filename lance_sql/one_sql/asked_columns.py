"""Which columns of its tables a query can want, for an engine that does not tell its sources.

A column that is named somewhere is wanted, for the query that runs names it. One that only a star stands for is wanted
where those who read from that SELECT want it; EXISTS wants none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

_NAMED: Final = "is_named"


def mark_named(query: exp.Expr) -> None:
    """Marks the columns that a query names, before columns stand in the place of its stars."""
    for column in query.find_all(exp.Column):
        column.meta[_NAMED] = True


def used_columns(scopes: Sequence[Scope], tables: Mapping[str, Collection[str]]) -> dict[str, set[str]] | None:
    """The columns of each table that a query can want; None where that is not clear.

    scopes: of `traverse_scope`, of a query whose columns name their tables, after `mark_named`
    tables: the columns that there are, by the names of tables, each of which is in the query once
    """
    used: dict[str, set[str]] = {name: set() for name in tables}
    by_name = {id(scope): set[str]() for scope in scopes}
    whole = {id(scope) for scope in scopes if scope.is_root or (scope.is_subquery and not _is_only_counted(scope))}
    # whoever reads from a subquery comes before it
    for scope in reversed(scopes):
        select = scope.expression
        if not isinstance(select, exp.Select):
            # told by positions
            whole.update(map(id, scope.set_operation_scopes))
            if not isinstance(select, exp.SetOperation):
                whole.update(id(source) for source in scope.sources.values() if isinstance(source, Scope))
            continue
        unnamed = {id(column): each.alias_or_name for each in select.expressions if (column := _of_star(each))}
        selected = {each.alias_or_name for each in select.expressions}
        wanted = by_name[id(scope)]
        columns = list(scope.columns)
        for column in columns:
            if not column.table:
                # the name of something that is selected, or of who knows what
                if column.name not in selected:
                    return None
                wanted.add(column.name)
        is_whole = id(scope) in whole or select.args.get("distinct") is not None or _has_other_names(scope)
        for column in columns:
            name = unnamed.get(id(column))
            if not column.table or not (name is None or is_whole or name in wanted):
                continue
            source = scope.sources.get(column.table)
            if isinstance(source, exp.Table) and source.name in used:
                used[source.name].add(column.name)
            elif isinstance(source, Scope):
                by_name.setdefault(id(source), set()).add(column.name)
    return used


def _is_only_counted(scope: Scope) -> bool:
    """Whether somebody asks whether there are rows, and not what is in them."""
    select = scope.expression
    node = select.parent
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.parent
    # numbers may stand for columns there
    by_position = any(select.args.get(part) is not None for part in ("order", "group"))
    return isinstance(node, exp.Exists) and isinstance(select, exp.Select) and not by_position


def _of_star(selected: exp.Expr) -> exp.Column | None:
    column = selected.unalias()
    return column if isinstance(column, exp.Column) and not column.meta.get(_NAMED) else None


def _has_other_names(scope: Scope) -> bool:
    """Whether columns have other names for those who read from a query, or it reads from itself."""
    node: exp.Expr | None = scope.expression.parent
    while isinstance(node, exp.Subquery | exp.Paren | exp.CTE):
        alias = node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            return True
        node = node.parent
    return isinstance(node, exp.With) and bool(node.args.get("recursive"))
