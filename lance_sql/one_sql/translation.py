"""Translation of statements to the dialect of an engine, with plain names in place of Lance tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from lance_sql.errors import UnsupportedFeature
from lance_sql.one_sql.dialects import generate
from lance_sql.one_sql.json_conditions import has_members
from lance_sql.one_sql.narrowing import has_known_parts, narrowed, with_members
from lance_sql.one_sql.references import Reference, references
from lance_sql.providers.adapter import Adapter
from lance_sql.providers.folders import check_alike, check_system_columns, paths_of
from lance_sql.providers.sources import Source
from lance_sql.values.typed_sql import OwnWords

_PREFIX: Final = "__lance_sql_"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Translated:
    """Query for an engine.

    sql: in its dialect; as typed in a dialect that the engine reads itself
    sources: the sources of the names in it
    otherwise: translates what was typed, for an engine that rejects it; raises UnsupportedFeature
    """

    sql: str
    sources: Mapping[str, Source]
    otherwise: Callable[[], str] | None = None


def translate(query: exp.Expr, engine: Adapter, opened: Callable[[Reference], Source]) -> Translated:
    """Translates a query to the dialect of an engine.

    opened: opens a table; called once for each distinct one, so that the query reads one version of it
    raises: UnsupportedFeature, naming the engine, for features that it lacks; errors of `opened`
    """
    if not engine.pushes_filters:
        return _with_narrow_sources(query, engine, opened)
    check(query, engine)
    if engine.syntax.json is not None and (meant := _meant(query)) is not None and has_members(meant):
        return _with_members(query, meant, engine, opened)
    query = query.copy()
    named = _Named(opened, shares_names=True)
    named.put(query)
    return Translated(generate(engine.syntax.rewritten(query, named.sources), engine), named.sources)


def _with_narrow_sources(query: exp.Expr, engine: Adapter, opened: Callable[[Reference], Source]) -> Translated:
    """Translates a query for an engine that gets only the columns and rows that the query needs, and its own text as
    typed."""
    typed, meant = query.copy(), _meant(query)
    named = _Named(opened, shares_names=False)
    if meant is None:
        named.put(typed)
        return Translated(generate(typed, engine), named.sources)
    wanted = _names_in(meant)
    named.put(meant)
    sources = narrowed(meant, named.sources, wanted, engine)

    def translated() -> str:
        check(meant, engine)
        return generate(engine.syntax.rewritten(meant, sources), engine)

    if typed.find(OwnWords) is None:
        return Translated(translated(), sources)
    named.put(typed)
    return Translated(generate(typed, engine), sources, translated)


def _with_members(
    query: exp.Expr, meant: exp.Expr, engine: Adapter, opened: Callable[[Reference], Source]
) -> Translated:
    """Translates a query for an engine that passes no conditions on members of JSON to its sources.

    meant: the query with the trees of the parts that stay as typed
    """
    typed = query.copy()
    named = _Named(opened, shares_names=False)
    named.put(meant)
    sources = with_members(meant, named.sources, engine)
    named.put(typed)
    return Translated(generate(typed, engine), {**named.sources, **sources})


def _meant(query: exp.Expr) -> exp.Expr | None:
    """Returns a query with the parsed trees of the parts that stay as typed; None if a part has none."""
    tree = query.copy()
    for words in list(tree.find_all(OwnWords)):
        parsed: exp.Expr | None = words.meta.get("tree")
        if parsed is None:
            return None
        if words is tree:
            return parsed.copy()
        words.replace(parsed.copy())
    return tree


class _Named:
    """Names in place of the Lance tables of a query.

    sources: by name
    """

    def __init__(self, opened: Callable[[Reference], Source], *, shares_names: bool) -> None:
        self.sources: dict[str, Source] = {}
        self._opened = opened
        self._shares_names = shares_names
        self._opened_sources: dict[Reference, Source] = {}
        self._names: dict[Reference, str] = {}
        self._by_place: dict[int, list[str]] = {}

    def put(self, query: exp.Expr) -> None:
        """Replaces the tables; those of one place in the typed text get the same names in every query."""
        for node, table_reference in references(query):
            place = _place(node)
            names = self._by_place.get(place) or self._named(table_reference)
            if place >= 0:
                self._by_place[place] = names
            if len(names) == 1:
                _put_name(node, names[0], table_reference.name)
            else:
                _put_union(node, names, table_reference.name)

    def _named(self, table_reference: Reference) -> list[str]:
        """Opens the tables of a reference; returns their names."""
        parts = _parts(table_reference)
        for part in parts:
            if part not in self._opened_sources:
                self._opened_sources[part] = self._opened(part)
            if part not in self._names or not self._shares_names:
                self._names[part] = f"{_PREFIX}{next(_numbers)}"
                self.sources[self._names[part]] = self._opened_sources[part]
        names = [self._names[part] for part in parts]
        if len(parts) > 1:
            relations = {str(part.path): self.sources[name] for part, name in zip(parts, names, strict=True)}
            check_alike({path: source.relation.schema for path, source in relations.items()})
            with_system_columns = {path: each for path, each in relations.items() if each.with_system_columns}
            check_system_columns({path: source.relation for path, source in with_system_columns.items()})
        return names


def _place(node: exp.Table) -> int:
    """Returns the position of a table in the typed text; -1 for one that is not from it."""
    starts = (part.meta["start"] for part in node.walk() if "start" in part.meta)
    return min(starts, default=-1)


def check(query: exp.Expr, engine: Adapter) -> None:
    """
    raises: UnsupportedFeature for a construct that the engine does not have
    """
    syntax = engine.syntax
    missing = [name for kind, name in syntax.missing if query.find(kind) is not None]
    if isinstance(query, exp.Pivot) and not syntax.has_pivot_statement:
        missing.append("PIVOT as a statement")
    joins = (str(join.args.get("method") or "").upper() for join in query.find_all(exp.Join))
    missing += [f"{method} JOIN" for method in joins if method in syntax.missing_joins]
    if missing:
        raise UnsupportedFeature(f"{engine.title} does not support {missing[0]}: pass another engine")


def _parts(table_reference: Reference) -> list[Reference]:
    """Returns the tables of a reference: those of a list, or those that match a pattern."""
    if table_reference.function not in ("lance_scan", "lance_table"):
        return [replace(table_reference, name="")]
    path = table_reference.path if isinstance(table_reference.path, str) else list(table_reference.path)
    return [replace(table_reference, name="", path=each) for each in paths_of(path)]


def _put_union(node: exp.Table, names: list[str], alias: str) -> None:
    """Replaces a table by the union of several tables."""
    selects = [exp.select("*").from_(exp.Table(this=exp.to_identifier(name, quoted=True))) for name in names]
    union: exp.Query = selects[0]
    for other in selects[1:]:
        union = exp.union(union, other, distinct=False, copy=False)
    given = node.args.get("alias")
    table_alias = given.copy() if given else exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    subquery = union.subquery()
    if not node.meta.get("is_named"):
        subquery.set("alias", table_alias)
    node.replace(subquery)


def _put_name(node: exp.Table, name: str, alias: str) -> None:
    for key in ("db", "catalog", "version", "when"):
        node.set(key, None)
    node.set("this", exp.to_identifier(name, quoted=True))
    is_named = node.alias or node.meta.get("is_named")
    if not is_named and alias.lower() not in node.meta.get("beside", _aliases_beside(node)):
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def _aliases_beside(node: exp.Table) -> set[str]:
    """Returns the names of the other tables of the same FROM."""
    scope = node.find_ancestor(exp.Select)
    if scope is None:
        return set()
    tables = (table for table in scope.find_all(exp.Table) if table.find_ancestor(exp.Select) is scope)
    return {(table.alias or table.name).lower() for table in tables if table is not node}


def _names_in(query: exp.Expr) -> frozenset[str] | None:
    """Returns every name in a query, in lower case; None if it may use columns that it does not name."""
    if not has_known_parts(query):
        return None
    for star in query.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count):
            return None
    if any(str(join.args.get("method") or "").upper() == "NATURAL" for join in query.find_all(exp.Join)):
        return None
    if any(not select.expressions for select in query.find_all(exp.Select)):
        return None
    names = frozenset(identifier.name.lower() for identifier in query.find_all(exp.Identifier))
    aliases = {table.alias.lower() for table in query.find_all(exp.Table) if table.alias}
    aliases |= {table_reference.name.lower() for _, table_reference in references(query)}
    # the name of a table as a column means a row of it
    if any(column.name.lower() in aliases for column in query.find_all(exp.Column)):
        return None
    return names
