"""MERGE INTO: a join in DuckDB finds the first clause that holds for each row, and its new values; one commit follows.

Matched rows keep their ids. The first clause whose condition holds applies to a row.

    SELECT CASE .. END AS clause, <ids>, CASE WHEN clause = 1 THEN <value> END AS v0, .. FROM source JOIN table ON ..

A condition with a query or a function may return another value when it is evaluated twice. It is computed once, in its
own query; source and table are joined to the result by their row numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.jobs.distributed import CHANGE, Clauses
from lance_sql.one_sql import row_changes
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.merge_clauses import Clause, Side, check_reachable, clause_of
from lance_sql.one_sql.references import reference
from lance_sql.one_sql.row_changes import Assign
from lance_sql.one_sql.writing_statements import Change, column_in, only, target
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.values.local_paths import shown

_IN_SOURCE: Final = "__lance_in_source"
_SOURCE: Final = "__lance_source"
_PAIRS: Final = "__lance_pairs"
_ROW: Final = "__lance_row"
_JOINS: Final = {(False, False): "INNER", (True, False): "LEFT", (False, True): "RIGHT", (True, True): "FULL"}


@dataclass(frozen=True)
class Merge(Change):
    """MERGE INTO.

    alias: the name of the table in the statement
    source: a table or a query
    source_name: its name in the statement
    on: the condition of the join
    """

    alias: str
    source: exp.Expr
    source_name: str
    on: exp.Expr
    clauses: tuple[Clause, ...]

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        row_changes.check_engine(engine, "MERGE")
        dataset = lance_sql.opening.open(path)
        names = list(engine.prepare(exp.select("*").from_(self.source.copy())).names)
        sides = {"by_source": (self.alias, dataset.schema.names), "not_matched": (self.source_name, names)}
        clauses = tuple(
            clause.qualified(*sides[clause.side]) if clause.side in sides else clause for clause in self.clauses
        )
        return replace(self, clauses=clauses)._carried_out(dataset, names, engine)

    def _carried_out(self, dataset: Dataset, names: list[str], engine: Engine) -> Dataset:
        """
        names: of the source's columns
        """
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
        deleting = {n: None for n, clause in enumerate(self.clauses, 1) if clause.action == "delete"}

        def rows(name: str, assign: Assign) -> exp.Expr:
            cast = {
                number: {own[number][column]: assign(column, value) for column, value in given.items()}
                for number, given in values.items()
            }
            return self._rows(name, cast)

        inserts = any(clause.action == "insert" for clause in self.clauses)
        clauses: Clauses = {**own, **deleting}
        return row_changes.change(dataset, "merge", engine, rows, clauses=clauses, inserts=inserts, skips_equal=True)

    def _values(self, clause: Clause, names: list[str], dataset: Dataset) -> dict[str, exp.Expr]:
        """Returns the new values of a clause by column of the table."""
        given = clause.values
        if given is None:
            given = tuple((name, exp.column(name, table=self.source_name, quoted=True)) for name in names)
        if clause.by_position:
            if len(given) != len(dataset.schema.names):
                action = clause.action.upper()
                raise InvalidArgument(
                    f"{action} has {len(given)} values for {len(dataset.schema.names)} columns of {shown(dataset.uri)}:"
                    f" use THEN {action} BY NAME to match columns by name"
                )
            given = tuple(zip(dataset.schema.names, (value for _, value in given), strict=True))
        values = {column_in(name, dataset): value for name, value in given}
        if len(values) < len(given):
            raise InvalidArgument("A clause of MERGE sets a column twice")
        return values

    def _rows(self, name: str, values: Mapping[int, Mapping[str, exp.Expr]]) -> exp.Expr:
        """Returns the query for matched pairs, and for single rows of source and table, as the clauses need them.

        values: of the columns that each clause sets, by their names in the query
        """
        if all(clause.is_simple for clause in self.clauses):
            query = self._selected(self._marked(), name, values)
            return query.where(_is_there(exp.column(CHANGE)))
        numbered = exp.alias_(exp.Window(this=exp.Anonymous(this="row_number")), _ROW, quoted=True)
        source = self._marked().select(numbered)
        row = exp.alias_(exp.column(_ROW, table=self.source_name, quoted=True), _ROW, quoted=True)
        pairs = self._selected(exp.select("*").from_(_SOURCE), name, {}).select(row)
        clause_number = exp.column(CHANGE, table=_PAIRS, quoted=True)
        query = exp.select(exp.alias_(clause_number, CHANGE))
        query = query.select(*(row_changes.system(each, _PAIRS).as_(each) for each in (ROW_ID, ROW_ADDRESS)))
        query = query.select(*_chosen(clause_number, values)).from_(_PAIRS)
        query = query.join(
            _aliased(exp.select("*").from_(_SOURCE), self.source_name),
            on=exp.EQ(
                this=exp.column(_ROW, table=self.source_name, quoted=True),
                expression=exp.column(_ROW, table=_PAIRS, quoted=True),
            ),
            join_type="LEFT",
        )
        query = query.join(
            row_changes.named(name, self.alias),
            on=exp.EQ(
                this=row_changes.system(ROW_ADDRESS, self.alias), expression=row_changes.system(ROW_ADDRESS, _PAIRS)
            ),
            join_type="LEFT",
        )
        query = query.where(_is_there(clause_number))
        query = query.with_(_SOURCE, as_=source, materialized=True)
        return query.with_(_PAIRS, as_=pairs, materialized=True)

    def _marked(self) -> exp.Select:
        """Returns the source with a marker column."""
        return exp.select("*", exp.alias_(exp.true(), _IN_SOURCE, quoted=True)).from_(self.source.copy())

    def _selected(self, source: exp.Query, name: str, values: Mapping[int, Mapping[str, exp.Expr]]) -> exp.Select:
        """Returns the join with the clause number, the ids and the new values of each row."""
        sides = {each.side for each in self.clauses}
        join = _JOINS["not_matched" in sides, "by_source" in sides]
        clause = exp.alias_(self._number(), CHANGE)
        query = exp.select(clause, *(row_changes.system(each, self.alias) for each in (ROW_ID, ROW_ADDRESS)))
        query = query.select(*_chosen(exp.column(CHANGE), values)).from_(_aliased(source, self.source_name))
        return query.join(row_changes.named(name, self.alias), on=self.on.copy(), join_type=join)

    def _number(self) -> exp.Case:
        """Returns the expression for the number of the first clause that holds for a row of the join."""
        in_source = exp.column(_IN_SOURCE, table=self.source_name, quoted=True)
        in_table = row_changes.system(ROW_ADDRESS, self.alias)
        present: dict[Side, Callable[[], exp.Expr]] = {
            "matched": lambda: exp.and_(_is_there(in_source), _is_there(in_table)),
            "not_matched": lambda: exp.not_(_is_there(in_table)),
            "by_source": lambda: exp.not_(_is_there(in_source)),
        }
        number = exp.Case()
        for clause_number, clause in enumerate(self.clauses, 1):
            condition = present[clause.side]()
            if clause.condition is not None:
                condition = exp.And(this=condition, expression=exp.Paren(this=clause.condition.copy()))
            number = number.when(condition, "NULL" if clause.action == "nothing" else str(clause_number))
        return number


def _chosen(clause_number: exp.Expr, values: Mapping[int, Mapping[str, exp.Expr]]) -> Iterator[exp.Expr]:
    """Yields the values of each clause, computed only for its rows: for others they may be undefined."""
    for clause, given in values.items():
        is_chosen = exp.EQ(this=clause_number, expression=exp.Literal.number(clause))
        for column, value in given.items():
            yield exp.alias_(exp.Case().when(is_chosen.copy(), value), column)


def _aliased(query: exp.Query, name: str) -> exp.Expr:
    return exp.alias_(query.subquery(), name, table=True, quoted=True)


def merge(node: exp.Merge) -> Merge:
    """
    raises: UnsupportedFeature for clauses that are not known; InvalidArgument
    """
    path, alias = target(node.this, "MERGE")
    only(node, "MERGE", "this", "using", "using_cond", "on", "whens")
    source, on = node.args.get("using"), node.args.get("on")
    if not isinstance(source, exp.Expr) or not isinstance(on, exp.Expr) or node.args.get("using_cond"):
        raise UnsupportedFeature("MERGE needs USING .. ON ..")
    meant = source.meta.get("tree", source)
    if isinstance(meant, exp.Subquery | exp.Values) and not meant.alias:
        raise InvalidArgument("The source of MERGE needs a name: USING (..) AS source")
    table_reference = reference(meant) if isinstance(meant, exp.Table) else None
    name = table_reference.name if table_reference is not None and not meant.alias else meant.alias_or_name
    clauses = tuple(clause_of(when, alias) for when in node.args["whens"].expressions)
    check_reachable(clauses)
    return Merge(path, alias, source, name, on, clauses)


def _is_there(value: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=value.copy(), expression=exp.null()))
