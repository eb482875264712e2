"""Projection and predicate pushdown for an engine that does not pass columns and filters to its sources.

Columns are resolved by qualifying them, scope by scope; the query that runs is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from lance_sql.dataset import Dataset
from lance_sql.errors import TABLE_ERRORS
from lance_sql.format.schema.types import declared_field, is_json
from lance_sql.one_sql.exact_filters import exact_filter
from lance_sql.one_sql.json_conditions import has_members
from lance_sql.one_sql.pushed_conditions import conditions
from lance_sql.one_sql.used_columns import mark_named, used_columns
from lance_sql.providers.adapter import Adapter
from lance_sql.providers.sources import Source
from lance_sql.values.sql_tree import has_only
from lance_sql.values.typed_sql import OwnWords

_SET: Final = frozenset({"with_", "this", "expression", "distinct", "order", "limit", "offset"})
_KNOWN: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Select: frozenset(
        {
            *("with_", "hint", "expressions", "distinct", "from_", "joins", "laterals", "where", "group", "having"),
            *("qualify", "windows", "order", "sort", "cluster", "distribute", "limit", "offset"),
        }
    ),
    exp.Union: _SET,
    exp.Intersect: _SET,
    exp.Except: _SET,
    exp.Subquery: frozenset({"with_", "this", "alias", "joins", "laterals", "sample", "order", "limit", "offset"}),
    exp.With: frozenset({"expressions", "recursive"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Table: frozenset({"this", "db", "catalog", "alias", "version", "when", "joins", "laterals", "sample"}),
    exp.Values: frozenset({"expressions", "alias"}),
    exp.Lateral: frozenset({"this", "view", "outer", "alias"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset"}),
    exp.Join: frozenset({"this", "on", "side", "kind", "using", "method"}),
    exp.From: frozenset({"this"}),
    exp.Where: frozenset({"this"}),
    exp.Group: frozenset({"expressions", "all", "grouping_sets", "cube", "rollup"}),
    exp.Having: frozenset({"this"}),
    exp.Qualify: frozenset({"this"}),
    exp.Order: frozenset({"expressions"}),
    exp.Star: frozenset({"except_"}),
    exp.Count: frozenset({"this", "expressions", "big_int"}),
}
"""Arguments of the nodes that refer to tables, or to columns that they do not name."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Columns and rows of a table that a query may use.

    columns: in lower case
    where: a filter that all these rows pass; None for all rows
    """

    columns: frozenset[str]
    where: str | None


def narrowed(
    query: exp.Expr, sources: Mapping[str, Source], names: frozenset[str] | None, engine: Adapter
) -> dict[str, Source]:
    """Returns the sources reduced to the columns and rows that a query may use.

    query: the query, in which each source has its own name
    names: a superset of the columns that it uses, in lower case; None if unknown
    """
    needed_by_table = needed(query, {name: _schema(source) for name, source in sources.items()}, engine) or {}
    narrowed_sources = {}
    for name, source in sources.items():
        wanted = needed_by_table.get(name)
        columns = names if wanted is None else wanted.columns if names is None else names & wanted.columns
        if columns is not None:
            source = replace(source, columns=tuple(each for each in _schema(source).names if each.lower() in columns))
        narrowed_sources[name] = source if wanted is None else _filtered(source, wanted.where)
    return narrowed_sources


def with_members(query: exp.Expr, sources: Mapping[str, Source], engine: Adapter) -> dict[str, Source]:
    """Returns the sources reduced to the rows that conditions on members of JSON leave. The engine passes other
    conditions and columns itself.

    query: as for `narrowed`
    """
    needed_by_table = needed(query, {name: _schema(source) for name, source in sources.items()}, engine) or {}
    return {
        name: _filtered(source, needed_by_table[name].where) if name in needed_by_table else source
        for name, source in sources.items()
    }


def _schema(source: Source) -> pa.Schema:
    """Returns the columns of a source, and its system columns with unknown types."""
    beside = getattr(source.relation, "system_columns", ())
    fields = list(source.relation.schema)
    if isinstance(source.relation, Dataset):
        stored = source.relation.snapshot.manifest.schema.by_name
        fields = [declared_field(stored[each.name]) if is_json(stored[each.name]) else each for each in fields]
    return pa.schema([*fields, *(pa.field(name, pa.null()) for name in beside)])


def _filtered(source: Source, where: str | None) -> Source:
    if where is None or not isinstance(source.relation, Dataset):
        return source
    whole = where if source.where is None else f"({source.where}) AND {where}"
    try:
        _ = source.relation.scan([], whole)
    except TABLE_ERRORS:
        # the engine raises the error, or accepts the condition
        return source
    return replace(source, where=whole)


def needed(query: exp.Expr, schemas: Mapping[str, pa.Schema], engine: Adapter) -> Mapping[str, Needed] | None:
    """Returns the columns and rows that a query may use of each of its tables; None if that is unclear.

    schemas: by the names of tables, each of which is in the query once
    engine: that evaluates the query; one that pushes filters only needs those of members of JSON
    """
    if not has_known_parts(query) or _is_unclear(query):
        return None
    lower = {name: [each.lower() for each in schema.names] for name, schema in schemas.items()}
    if any(len(set(names)) < len(names) for names in lower.values()):
        return None
    columns = {name: dict.fromkeys(names, "unknown") for name, names in lower.items()}
    try:
        scopes = traverse_scope(_qualified(query, columns))
    except SqlglotError:
        return None
    used = used_columns(scopes, lower)
    if used is None:
        return None
    conditions_by_table = conditions(scopes, lambda table: table.name in schemas)
    # the engine looks for the columns that a star leaves out
    left_out = {each.name.lower() for star in query.find_all(exp.Star) for each in star.args.get("except_") or ()}
    return {
        name: Needed(
            frozenset(used[name] | (left_out & set(lower[name]))),
            _where(conditions_by_table.get(name, ()), schema, engine),
        )
        for name, schema in schemas.items()
    }


def _where(expressions: Sequence[exp.Expr], schema: pa.Schema, engine: Adapter) -> str | None:
    wanted = [each for each in expressions if not engine.pushes_filters or has_members(each)]
    texts = [text for each in wanted if (text := exact_filter(each, schema, engine)) is not None]
    return " AND ".join(dict.fromkeys(texts)) or None


def has_known_parts(query: exp.Expr) -> bool:
    """Whether each part of a query that may use tables, or columns without their names, is one that is known here."""
    if not isinstance(query, exp.Query) or query.find(exp.Columns, exp.Pivot) is not None:
        return False
    aliases = (table.args.get("alias") for table in query.find_all(exp.Table))
    if any(isinstance(alias, exp.TableAlias) and alias.columns for alias in aliases):
        # other names for columns, by position
        return False
    parts = (*_KNOWN, exp.Query, exp.UDTF, OwnWords)
    return all(has_only(node, _KNOWN) for node in query.walk() if isinstance(node, parts))


def _is_unclear(query: exp.Expr) -> bool:
    """Whether a query has known parts that refer to columns in other ways than by name."""
    if query.find(exp.Lateral, exp.Unnest) is not None:
        return True
    if any(not _is_of_select(star) for star in query.find_all(exp.Star)):
        return True
    joins = list(query.find_all(exp.Join))
    if any(join.method or join.args.get("using") for join in joins):
        return True
    if any(_is_of_all(node) for node in query.find_all(exp.Order, exp.Group)):
        return True
    return any(not select.expressions for select in query.find_all(exp.Select))


def _is_of_select(star: exp.Star) -> bool:
    """Whether a star is `*` or `t.*` in a SELECT list, or that of count(*), which is for rows."""
    qualified = star.parent
    if isinstance(qualified, exp.Count):
        return qualified.this is star and not qualified.expressions
    return isinstance(qualified.parent if isinstance(qualified, exp.Column) else qualified, exp.Select)


def _is_of_all(node: exp.Expr) -> bool:
    """Whether rows are ordered or grouped by all selected columns, which are fewer if a star covers fewer."""
    parts = (each.this if isinstance(each, exp.Ordered) else each for each in node.expressions)
    return bool(node.args.get("all")) or any(part.name.upper() == "ALL" for part in parts)


def _qualified(query: exp.Expr, columns: Mapping[str, Mapping[str, str]]) -> exp.Expr:
    """Returns the query with qualified columns and expanded stars."""
    tree = query.copy()
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", identifier.name.lower())
        identifier.set("quoted", False)
    mark_named(tree)
    return qualify(
        tree,
        schema={name: dict(types) for name, types in columns.items()},
        expand_alias_refs=False,
        validate_qualify_columns=False,
        quote_identifiers=False,
        identify=False,
    )
