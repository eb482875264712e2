"""Projection pushdown for an engine that does not pass columns to its sources: the columns that a query may use.

A column that is named anywhere is used, because the running query names it. A column that only a star covers is used if
the readers of that SELECT use it; EXISTS uses none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

_NAMED: Final = "is_named"


_PARTS: Final = next(each for each in ("set_operation_scopes", "union_scopes") if hasattr(Scope(exp.Select()), each))
"""The attribute that sqlglot has renamed."""


def parts_of(scope: Scope) -> list[Scope]:
    """Returns the scopes of the queries of a set operation; none of other queries."""
    parts: list[Scope] = getattr(scope, _PARTS)
    return parts


def mark_named(query: exp.Expr) -> None:
    """Marks the columns that a query names, before its stars are expanded."""
    for column in query.find_all(exp.Column):
        column.meta[_NAMED] = True


def used_columns(scopes: Sequence[Scope], tables: Mapping[str, Collection[str]]) -> dict[str, set[str]] | None:
    """Returns the columns of each table that a query may use; None if that is unclear.

    scopes: of `traverse_scope`, of a query whose columns name their tables, after `mark_named`
    tables: all columns, by the names of tables, each of which is in the query once
    """
    used: dict[str, set[str]] = {name: set() for name in tables}
    by_name = {id(scope): set[str]() for scope in scopes}
    whole = {id(scope) for scope in scopes if scope.is_root or (scope.is_subquery and not _is_only_counted(scope))}
    # the readers of a subquery come before it
    for scope in reversed(scopes):
        select = scope.expression
        if not isinstance(select, exp.Select):
            # identified by positions
            whole.update(map(id, parts_of(scope)))
            if not isinstance(select, exp.SetOperation):
                whole.update(id(source) for source in scope.sources.values() if isinstance(source, Scope))
            continue
        unnamed = {id(column): each.alias_or_name for each in select.expressions if (column := _of_star(each))}
        selected = {each.alias_or_name for each in select.expressions}
        wanted = by_name[id(scope)]
        columns = list(scope.columns)
        for column in columns:
            if not column.table:
                # the name of a selected expression, or an unknown name
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
    """Whether a query is the argument of EXISTS, so that its columns are not read."""
    select = scope.expression
    node = select.parent
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.parent
    # there numbers may refer to columns
    by_position = any(select.args.get(part) is not None for part in ("order", "group"))
    return isinstance(node, exp.Exists) and isinstance(select, exp.Select) and not by_position


def _of_star(selected: exp.Expr) -> exp.Column | None:
    column = selected.unalias()
    return column if isinstance(column, exp.Column) and not column.meta.get(_NAMED) else None


def _has_other_names(scope: Scope) -> bool:
    """Whether the columns of a query have other names for its readers, or the query is recursive."""
    node: exp.Expr | None = scope.expression.parent
    while isinstance(node, exp.Subquery | exp.Paren | exp.CTE):
        alias = node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            return True
        node = node.parent
    return isinstance(node, exp.With) and bool(node.args.get("recursive"))
