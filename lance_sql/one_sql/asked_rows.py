"""Which rows of its tables a query can want at most, for an engine that does not tell its sources.

    SELECT .. FROM (SELECT * FROM t) s JOIN u ON s.k = u.k WHERE s.a > 7 AND u.b = 'x'    t: a > 7; u: b = 'x'

The query itself stays as it is and filters once more, so what is left out here is only slower. A condition goes to a
table where a row that it is not true for cannot be in the answer: not to the side of an outer join that is filled with
NULLs, not below LIMIT, windows and aggregates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope
from sqlglot.optimizer.simplify import simplify

Conditions = Mapping[str, list[exp.Expr]]

_STOPS = ("limit", "offset", "windows", "qualify", "sample", "pivots", "match", "connect", "laterals")
"""Parts of a SELECT that fewer rows below would make another one of."""


def conditions(scopes: list[Scope], is_source: Callable[[exp.Table], bool]) -> Conditions:
    """By the names of tables, conditions on their columns alone, all of which hold for every row that is wanted.

    scopes: of `traverse_scope`, of a query whose columns name their tables, and whose tables have different names
    is_source: whether a table is one that is asked about
    """
    uses = Counter(id(source) for scope in scopes for _, source in scope.selected_sources.values())
    inherited: dict[int, list[exp.Expr]] = {}
    by_table: dict[str, list[exp.Expr]] = {}
    # whoever reads from a subquery comes before it
    for scope in reversed(scopes):
        above = inherited.get(id(scope), [])
        if isinstance(scope.expression, exp.Union):
            for part in scope.set_operation_scopes:
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
                if is_source(source) and not _has(node, ("sample", "pivots")):
                    by_table.setdefault(source.name, []).append(_bare(condition))
            elif isinstance(source, Scope) and uses[id(source)] == 1 and not _is_changed(node, source):
                inherited.setdefault(id(source), []).append(_bare(condition))
    return by_table


def _names_in_part(union: exp.Union, part: Scope) -> Mapping[str, str]:
    """What the columns of a union are called in a part of it; nothing where that is not clear."""
    if _has(union, (*_STOPS, "by_name", "side", "kind", "on")) or not isinstance(part.expression, exp.Query):
        return {}
    if any(_has(each, _STOPS) for each in _around(part)):
        return {}
    names, others = union.named_selects, part.expression.named_selects
    if len(names) != len(others) or len(set(names)) < len(names) or len(set(others)) < len(others):
        return {}
    return dict(zip(names, others, strict=True))


def _is_changed(node: exp.Expr, source: Scope) -> bool:
    """Whether a subquery has other rows or names than its SELECT."""
    around = _around(source)
    if _has(node, ("sample", "pivots")) or any(_has(each, _STOPS) for each in around):
        return True
    aliases = [alias for each in (node, *around) if isinstance(alias := each.args.get("alias"), exp.TableAlias)]
    if any(alias.args.get("columns") for alias in aliases):
        return True
    with_ = around[-1].parent if around else None
    return isinstance(with_, exp.With) and bool(with_.args.get("recursive"))


def _around(scope: Scope) -> list[exp.Expr]:
    """The brackets around a query, and its name as a CTE."""
    nodes: list[exp.Expr] = []
    node: exp.Expr | None = scope.expression.parent
    while isinstance(node, exp.Subquery | exp.Paren | exp.CTE):
        nodes.append(node)
        node = node.parent
    return nodes


def _of_select(scope: Scope, above: list[exp.Expr]) -> Iterator[tuple[exp.Expr, set[str]]]:
    """Conditions of a SELECT on one of its tables, and the tables that they may go to.

    above: conditions on what is selected
    """
    select = scope.expression
    assert isinstance(select, exp.Select)
    first = select.args.get("from_")
    if first is None:
        return
    so_far = {first.this.alias_or_name}
    # rows of these are there for a row of the answer, and are not NULLs in the place of one
    filled: set[str] = set()
    for join in select.args.get("joins") or ():
        name, side, kind = join.this.alias_or_name, str(join.side).upper(), str(join.kind).upper()
        parts = list(_parts(join.args.get("on")))
        if join.method or kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            return
        if kind in ("SEMI", "ANTI"):
            # rows of the right side that do not pass match nothing
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
    if _has(select, _STOPS) or select.find(exp.Window) is not None or _distinct_on(select):
        return
    for condition in above:
        below = _below(condition, select)
        if below is not None and _one(below):
            yield below, left


def _below(condition: exp.Expr, select: exp.Select) -> exp.Expr | None:
    """A condition on what is selected as one on the columns it is selected from; None where it is not one on them."""
    names = [each.alias_or_name for each in select.expressions]
    selected = {each.alias_or_name: each.unalias() for each in select.expressions}
    if len(selected) < len(names):
        return None
    group = select.args.get("group")
    if group is not None and any(value for key, value in group.args.items() if key != "expressions"):
        return None
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
    """What is joined by AND, constants computed."""
    if condition is None:
        return
    simple = simplify(condition.copy())
    for part in simple.flatten() if isinstance(simple, exp.And) else (simple,):
        yield part.unnest()


def _one(condition: exp.Expr) -> bool:
    """Whether a condition is on columns of one table, and on nothing else that has rows."""
    if condition.find(exp.Query, exp.AggFunc, exp.Window) is not None:
        return False
    return len({column.table for column in condition.find_all(exp.Column)}) == 1


def _distinct_on(select: exp.Select) -> bool:
    distinct = select.args.get("distinct")
    return distinct is not None and bool(distinct.args.get("on"))


def _has(node: exp.Expr, parts: tuple[str, ...]) -> bool:
    return any(node.args.get(part) for part in parts)


def _bare(condition: exp.Expr) -> exp.Expr:
    """The condition on columns without tables."""
    bare = condition.copy()
    for column in bare.find_all(exp.Column):
        column.set("table", None)
    return bare


def _renamed(condition: exp.Expr, names: Mapping[str, str]) -> exp.Expr:
    renamed = condition.copy()
    for column in renamed.find_all(exp.Column):
        column.set("this", exp.to_identifier(names.get(column.name, column.name)))
    return renamed
