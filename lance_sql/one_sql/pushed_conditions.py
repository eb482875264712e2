"""Predicate pushdown for an engine that does not pass filters to its sources: conditions on the tables of a query.

    SELECT .. FROM (SELECT * FROM t) s JOIN u ON s.k = u.k WHERE s.a > 7 AND u.b = 'x'    t: a > 7; u: b = 'x'

The query itself is unchanged and filters again, so a missed condition only costs time. A condition is pushed to a table
if rows that fail it cannot be in the result. It is not pushed to the NULL-filled side of an outer join, nor below
LIMIT, windows and aggregates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope
from sqlglot.optimizer.simplify import simplify

from lance_sql.one_sql.exact_filters import is_understood
from lance_sql.one_sql.used_columns import parts_of
from lance_sql.values.sql_tree import has_only

Conditions = Mapping[str, list[exp.Expr]]

_PASSED: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Select: frozenset(
        {"with_", "hint", "expressions", "from_", "joins", "where", "group", "having", "distinct", "order"}
    ),
    exp.Union: frozenset({"with_", "this", "expression", "distinct"}),
    exp.Subquery: frozenset({"this", "alias", "with_"}),
    exp.Paren: frozenset({"this"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias"}),
    exp.Join: frozenset({"this", "on", "side", "kind"}),
    exp.Group: frozenset({"expressions"}),
    exp.Distinct: frozenset(),
}
"""Nodes whose rows are filtered by filtering the rows below them, if they have no other arguments than these."""


def conditions(scopes: list[Scope], is_source: Callable[[exp.Table], bool]) -> Conditions:
    """Returns, by the names of tables, conditions on their columns alone; all of them hold for every row that is used.

    scopes: of `traverse_scope`, of a query whose columns name their tables, and whose tables have different names
    is_source: whether a table is one to return conditions for
    """
    uses = Counter(id(source) for scope in scopes for _, source in scope.selected_sources.values())
    inherited: dict[int, list[exp.Expr]] = {}
    by_table: dict[str, list[exp.Expr]] = {}
    # the readers of a subquery come before it
    for scope in reversed(scopes):
        above = inherited.get(id(scope), [])
        if isinstance(scope.expression, exp.Union):
            for part in parts_of(scope):
                renamed = _names_in_part(scope.expression, part)
                inherited.setdefault(id(part), []).extend(_renamed(each, renamed) for each in above if renamed)
            continue
        if not isinstance(scope.expression, exp.Select):
            continue
        for condition, tables in _of_select(scope, above):
            (table,) = {column.table for column in condition.find_all(exp.Column)} or {""}
            if table not in tables or table not in scope.selected_sources:
                continue
            node, source = scope.selected_sources[table]
            if isinstance(source, exp.Table):
                if is_source(source) and has_only(node, _PASSED):
                    by_table.setdefault(source.name, []).append(_bare(condition))
            elif isinstance(source, Scope) and uses[id(source)] == 1 and not _is_changed(node, source):
                inherited.setdefault(id(source), []).append(_bare(condition))
    return by_table


def _names_in_part(union: exp.Union, part: Scope) -> Mapping[str, str]:
    """Maps the columns of a union to their names in a part of it; empty if that is unclear."""
    if not isinstance(part.expression, exp.Query) or not all(_is_passed(each) for each in (union, *_around(part))):
        return {}
    names, others = union.named_selects, part.expression.named_selects
    if len(names) != len(others) or len(set(names)) < len(names) or len(set(others)) < len(others):
        return {}
    return dict(zip(names, others, strict=True))


def _is_changed(node: exp.Expr, source: Scope) -> bool:
    """Whether a subquery has other rows or column names than its SELECT."""
    around = _around(source)
    if not all(_is_passed(each) for each in (node, *around)):
        return True
    aliases = [alias for each in (node, *around) if isinstance(alias := each.args.get("alias"), exp.TableAlias)]
    if any(alias.args.get("columns") for alias in aliases):
        return True
    with_ = around[-1].parent if around else None
    return isinstance(with_, exp.With) and bool(with_.args.get("recursive"))


def _around(scope: Scope) -> list[exp.Expr]:
    """Returns the parentheses around a query, and its CTE."""
    nodes: list[exp.Expr] = []
    node: exp.Expr | None = scope.expression.parent
    while isinstance(node, exp.Subquery | exp.Paren | exp.CTE):
        nodes.append(node)
        node = node.parent
    return nodes


def _of_select(scope: Scope, above: list[exp.Expr]) -> Iterator[tuple[exp.Expr, set[str]]]:
    """Yields conditions of a SELECT on one of its tables, and the tables that they may be pushed to.

    above: conditions on the result of the SELECT
    """
    select = scope.expression
    assert isinstance(select, exp.Select)
    first = select.args.get("from_")
    if first is None:
        return
    so_far = {first.this.alias_or_name}
    # tables that an outer join may fill with NULLs
    filled: set[str] = set()
    for join in select.args.get("joins") or ():
        name, side, kind = join.this.alias_or_name, str(join.side).upper(), str(join.kind).upper()
        parts = list(_parts(join.args.get("on")))
        if not _is_passed(join) or kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            return
        if kind in ("SEMI", "ANTI"):
            # rows of the right side that fail the condition match nothing
            yield from ((part, {name}) for part in parts if _one(part))
            continue
        if side in ("", "INNER"):
            yield from ((part, (so_far - filled) | {name}) for part in parts if _one(part))
        elif side == "LEFT":
            yield from ((part, {name}) for part in parts if _one(part))
            filled.add(name)
        elif side == "RIGHT":
            filled |= so_far
        else:
            filled |= so_far | {name}
        so_far.add(name)
    left = so_far - filled
    where = select.args.get("where")
    yield from ((part, left) for part in _parts(where and where.this) if _one(part))
    if not _is_passed(select) or select.find(exp.Window) is not None:
        return
    for condition in above:
        below = _below(condition, select)
        if below is not None and _one(below):
            yield below, left


def _below(condition: exp.Expr, select: exp.Select) -> exp.Expr | None:
    """Rewrites a condition on the result of a SELECT to its input columns; None if that is impossible."""
    names = [each.alias_or_name for each in select.expressions]
    selected = {each.alias_or_name: each.unalias() for each in select.expressions}
    if len(selected) < len(names):
        return None
    group = select.args.get("group")
    is_grouped = group is not None or any(each.find(exp.AggFunc) for each in select.expressions)
    keys = [each for each in group.expressions if isinstance(each, exp.Column)] if group is not None else []
    below = condition.copy()
    for column in list(below.find_all(exp.Column)):
        source = selected.get(column.name)
        if not isinstance(source, exp.Column) or (is_grouped and source not in keys):
            return None
        if column is below:
            return None
        column.replace(source.copy())
    return below


def _parts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yields the conjuncts of a condition that can be filters, with constants folded."""
    for whole in _conjuncts(condition):
        if is_understood(whole):
            yield from (part.unnest() for part in _conjuncts(simplify(whole.copy())))


def _conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    if condition is not None:
        condition = condition.unnest()
        yield from condition.flatten() if isinstance(condition, exp.And) else (condition,)


def _one(condition: exp.Expr) -> bool:
    """Whether a condition uses columns of exactly one table, and no query, aggregate or window."""
    if condition.find(exp.Query, exp.AggFunc, exp.Window) is not None:
        return False
    return len({column.table for column in condition.find_all(exp.Column)}) == 1


def _is_passed(node: exp.Expr) -> bool:
    """Whether a node has only arguments in the table, and so do its groups and its DISTINCT."""
    parts = [part for name in ("group", "distinct") if isinstance(part := node.args.get(name), exp.Expr)]
    return all(has_only(each, _PASSED) for each in (node, *parts))


def _bare(condition: exp.Expr) -> exp.Expr:
    """Returns the condition with unqualified columns."""
    bare = condition.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    return bare


def _renamed(condition: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    renamed = condition.copy()
    for column in renamed.find_all(exp.Column):
        column.set("this", exp.to_identifier(names.get(column.name, column.name)))
    return renamed
