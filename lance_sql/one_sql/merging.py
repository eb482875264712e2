"""MERGE INTO: a join in DuckDB finds the first clause that holds for each row, and its new values; one commit follows.

Matched rows keep their ids. Of the clauses for a row, the first one whose condition holds counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sqlglot import exp

import lance_sql.dataset
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import row_changes
from lance_sql.one_sql.changes import Change, column_in, only, target
from lance_sql.one_sql.changing import assignments
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.references import reference
from lance_sql.scan.system_columns import ROW_ADDRESS, ROW_ID

Side: TypeAlias = Literal["matched", "not_matched", "by_source"]
Action: TypeAlias = Literal["update", "insert", "delete", "nothing"]

_IN_SOURCE: Final = "__lance_in_source"
_JOINS: Final = {(False, False): "INNER", (True, False): "LEFT", (False, True): "RIGHT", (True, True): "FULL"}


@dataclass(frozen=True, slots=True)
class Clause:
    """WHEN .. THEN.

    values: by column; None for columns of the source by their names
    """

    side: Side
    action: Action
    condition: exp.Expr | None
    values: tuple[tuple[str, exp.Expr], ...] | None


@dataclass(frozen=True)
class Merge(Change):
    """MERGE INTO.

    alias: what the statement calls the table
    source: a table or a query, with the name that the statement gives it
    on: the condition of the join
    """

    alias: str
    source: exp.Expr
    on: exp.Expr
    clauses: tuple[Clause, ...]

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        row_changes.check_engine(engine, "MERGE")
        dataset = lance_sql.dataset.open(path)
        names = self._source_columns(engine)
        values = {
            number: self._values(clause, names, dataset)
            for number, clause in enumerate(self.clauses, 1)
            if clause.action in ("update", "insert")
        }
        numbers = itertools.count()
        own = {
            clause: {name: row_changes.value_column(next(numbers)) for name in given}
            for clause, given in values.items()
        }
        deleting = frozenset(n for n, clause in enumerate(self.clauses, 1) if clause.action == "delete")

        def rows(name: str) -> exp.Expr:
            return self._rows(name, values, own)

        inserts = any(clause.action == "insert" for clause in self.clauses)
        return row_changes.change(dataset, "merge", engine, rows, values=own, deleting=deleting, inserts=inserts)

    @property
    def _source_name(self) -> str:
        return self.source.alias_or_name

    def _source_columns(self, engine: Engine) -> list[str]:
        """The names of the source's columns."""
        query = exp.select("*").from_(self.source.copy()).limit(0)
        names: list[str] = engine.prepare(query).read().schema.names
        return names

    def _values(self, clause: Clause, names: list[str], dataset: Dataset) -> dict[str, exp.Expr]:
        """New values by column of the table."""
        given = clause.values
        if given is None:
            given = tuple((name, exp.column(name, table=self._source_name, quoted=True)) for name in names)
        elif clause.action == "insert" and any(not name for name, _ in given):
            # VALUES without names is in the order of the table
            if len(given) != len(dataset.schema.names):
                raise InvalidArgument(f"INSERT has {len(given)} values for {len(dataset.schema.names)} columns")
            given = tuple(zip(dataset.schema.names, (value for _, value in given), strict=True))
        values = {column_in(name, dataset): value for name, value in given}
        if len(values) < len(given):
            raise InvalidArgument("A clause of MERGE sets a column twice")
        return values

    def _rows(self, name: str, values: dict[int, dict[str, exp.Expr]], own: dict[int, dict[str, str]]) -> exp.Expr:
        """The join: a row for each pair, each row of the source and each of the table, as far as clauses want them.

        values: of the columns that each clause sets; own: what the query calls them
        """
        table = row_changes.named(name, self.alias)
        in_source = exp.column(_IN_SOURCE, table=self._source_name, quoted=True)
        in_table = row_changes.system(ROW_ADDRESS, self.alias)
        present: dict[Side, Callable[[], exp.Expr]] = {
            "matched": lambda: exp.and_(_is_there(in_source), _is_there(in_table)),
            "not_matched": lambda: exp.not_(_is_there(in_table)),
            "by_source": lambda: exp.not_(_is_there(in_source)),
        }
        number = exp.Case()
        for place, clause in enumerate(self.clauses, 1):
            condition = present[clause.side]()
            if clause.condition is not None:
                condition = exp.and_(condition, clause.condition.copy())
            number = number.when(condition, "NULL" if clause.action == "nothing" else str(place))
        marked = exp.select("*", exp.alias_(exp.true(), _IN_SOURCE, quoted=True)).from_(self.source.copy())
        sides = {clause.side for clause in self.clauses}
        join = _JOINS["not_matched" in sides, "by_source" in sides]
        selected = [exp.alias_(number, row_changes.CLAUSE)]
        selected += [row_changes.system(each, self.alias) for each in (ROW_ID, ROW_ADDRESS)]
        for clause_number, given in values.items():
            is_chosen = exp.EQ(this=exp.column(row_changes.CLAUSE), expression=exp.Literal.number(clause_number))
            for column, value in given.items():
                # where another clause counts, it may have no value
                chosen = exp.Case().when(is_chosen.copy(), value.copy())
                selected.append(exp.alias_(chosen, own[clause_number][column]))
        return (
            exp.select(*selected)
            .from_(exp.alias_(marked.subquery(), self._source_name, table=True, quoted=True))
            .join(table, on=self.on.copy(), join_type=join)
            .where(_is_there(exp.column(row_changes.CLAUSE)))
        )


def merge(node: exp.Merge) -> Merge:
    """
    raises: UnsupportedFeature for clauses that are not known; InvalidArgument
    """
    path, alias = target(node.this, "MERGE")
    only(node, "MERGE", "this", "using", "using_cond", "on", "whens")
    source, on = node.args.get("using"), node.args.get("on")
    if not isinstance(source, exp.Expr) or not isinstance(on, exp.Expr) or node.args.get("using_cond"):
        raise UnsupportedFeature("MERGE takes USING .. ON ..")
    if isinstance(source, exp.Subquery | exp.Values) and not source.alias:
        raise InvalidArgument("The source of MERGE needs a name: USING (..) AS source")
    clauses = tuple(_clause(when, alias) for when in node.args["whens"].expressions)
    return Merge(path, alias, _named(source), on, clauses)


def _is_there(value: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=value.copy(), expression=exp.null()))


def _named(source: exp.Expr) -> exp.Expr:
    """The source, with the name that its columns may be called by."""
    found = reference(source) if isinstance(source, exp.Table) else None
    if found is None or source.alias:
        return source
    made = source.copy()
    made.set("alias", exp.TableAlias(this=exp.to_identifier(found.name, quoted=True)))
    return made


def _clause(when: exp.When, alias: str) -> Clause:
    side: Side = "matched"
    if not when.args.get("matched"):
        side = "by_source" if when.args.get("source") else "not_matched"
    only(when, "WHEN", "matched", "source", "condition", "then")
    condition, then = when.args.get("condition"), when.args["then"]
    match then:
        case exp.Update():
            only(then, "THEN UPDATE", "expressions")
            if side == "not_matched":
                raise InvalidArgument("WHEN NOT MATCHED cannot update: there is no row")
            if not then.expressions or isinstance(then.expressions[0], exp.Star):
                return Clause(side, "update", condition, None)
            return Clause(side, "update", condition, assignments(then.expressions, alias, "MERGE"))
        case exp.Insert():
            only(then, "THEN INSERT", "this", "expression")
            if side != "not_matched":
                raise InvalidArgument("Only WHEN NOT MATCHED inserts")
            return Clause(side, "insert", condition, _inserted(then))
        case exp.Var() if then.name.upper() == "DELETE":
            if side == "not_matched":
                raise InvalidArgument("WHEN NOT MATCHED cannot delete: there is no row")
            return Clause(side, "delete", condition, None)
        case exp.Var() if then.name.upper() == "DO NOTHING":
            return Clause(side, "nothing", condition, None)
    raise UnsupportedFeature(f"MERGE has no THEN {then.sql()} here")


def _inserted(then: exp.Insert) -> tuple[tuple[str, exp.Expr], ...] | None:
    """The values of INSERT by column; names are empty where it has none, and None where it takes the source's."""
    names, values = then.this, then.expression
    if isinstance(names, exp.Star) or (names is None and values is None):
        return None
    if not isinstance(values, exp.Tuple):
        raise UnsupportedFeature(f"MERGE has no THEN {then.sql()} here")
    if names is None:
        return tuple(("", value) for value in values.expressions)
    if not isinstance(names, exp.Tuple) or len(names.expressions) != len(values.expressions):
        raise InvalidArgument("INSERT of MERGE has another number of columns than of values")
    return tuple((name.name, value) for name, value in zip(names.expressions, values.expressions, strict=True))
