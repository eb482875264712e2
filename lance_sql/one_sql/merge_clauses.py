"""WHEN .. THEN clauses of MERGE: rows, condition and action."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sqlglot import exp

from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql.changing import assignments
from lance_sql.one_sql.free_columns import qualified
from lance_sql.one_sql.writing_statements import only
from lance_sql.values.typed_sql import shown

Side: TypeAlias = Literal["matched", "not_matched", "by_source"]
Action: TypeAlias = Literal["update", "insert", "delete", "nothing"]


@dataclass(frozen=True, slots=True)
class Clause:
    """WHEN .. THEN.

    is_simple: the condition has only operators
    values: by column; None for all columns of the source
    by_position: values are matched to the columns of the table by position instead of by name
    """

    side: Side
    action: Action
    condition: exp.Expr | None
    is_simple: bool
    values: tuple[tuple[str, exp.Expr], ...] | None
    by_position: bool = False

    def qualified(self, table: str, names: Collection[str]) -> Clause:
        """Returns the clause for rows of only one table, with its unqualified columns qualified.

        names: of its columns
        """
        condition, values = self.condition, self.values
        if condition is not None:
            condition = qualified(condition, table, names)
        if values is not None:
            values = tuple((column, qualified(value, table, names)) for column, value in values)
        return replace(self, condition=condition, values=values)


def check_reachable(clauses: tuple[Clause, ...]) -> None:
    """
    raises: InvalidArgument for a clause after one that holds for every row of its side, as DuckDB 2.0 and Spark do
    """
    done: set[Side] = set()
    for clause in clauses:
        if clause.side in done:
            raise InvalidArgument(
                "A clause of MERGE without a condition precedes another one for the same rows: put it last"
            )
        if clause.condition is None:
            done.add(clause.side)


def _is_simple(condition: exp.Expr | None) -> bool:
    """Whether a condition has only operators, so that it can be evaluated anywhere."""
    if condition is None:
        return True
    meant = condition.meta.get("tree", condition)
    operators = (exp.Connector, exp.Cast, exp.Case, exp.If)
    return not any(not isinstance(each, operators) for each in meant.find_all(exp.Func, exp.Query, exp.Subquery))


def clause_of(when: exp.When, alias: str) -> Clause:
    """
    alias: the name of the table in the statement
    raises: UnsupportedFeature for unknown syntax; InvalidArgument
    """
    side: Side = "matched"
    if not when.args.get("matched"):
        side = "by_source" if when.args.get("source") else "not_matched"
    only(when, "WHEN", "matched", "source", "condition", "then")
    condition, then = when.args.get("condition"), when.args["then"]
    is_simple = _is_simple(condition)
    match then:
        case exp.Update():
            only(then, "THEN UPDATE", "expressions")
            if side == "not_matched":
                raise InvalidArgument("WHEN NOT MATCHED cannot update, because it has no row of the target: use INSERT")
            if not then.expressions or isinstance(then.expressions[0], exp.Star):
                return Clause(side, "update", condition, is_simple, None, not then.expressions)
            return Clause(side, "update", condition, is_simple, assignments(then.expressions, alias, "MERGE"))
        case exp.Insert():
            only(then, "THEN INSERT", "this", "expression")
            if side != "not_matched":
                raise InvalidArgument("Only WHEN NOT MATCHED can insert: use UPDATE")
            return Clause(side, "insert", condition, is_simple, _inserted(then, alias), then.this is None)
        case exp.Var() if then.name.upper() == "DELETE":
            if side == "not_matched":
                raise InvalidArgument(
                    "WHEN NOT MATCHED cannot delete, because it has no row of the target: use WHEN NOT MATCHED BY"
                    " SOURCE"
                )
            return Clause(side, "delete", condition, is_simple, None)
        case exp.Var() if then.name.upper() == "DO NOTHING":
            return Clause(side, "nothing", condition, is_simple, None)
    raise UnsupportedFeature(f"MERGE .. THEN {shown(then)} is not supported: use UPDATE, DELETE, INSERT or DO NOTHING")


def _inserted(then: exp.Insert, alias: str) -> tuple[tuple[str, exp.Expr], ...] | None:
    """Returns the values of INSERT by column; names are empty if it has none. None if it takes the source's columns.

    alias: the name of the table in the statement
    """
    names, values = then.this, then.expression
    if isinstance(names, exp.Star) or (names is None and not values):
        return None
    if not isinstance(values, exp.Tuple):
        raise UnsupportedFeature(
            "MERGE needs THEN INSERT for columns in order, THEN INSERT * for columns by name, or THEN INSERT (..)"
            " VALUES (..)"
        )
    if names is None:
        return tuple(("", value) for value in values.expressions)
    if not isinstance(names, exp.Tuple) or len(names.expressions) != len(values.expressions):
        raise InvalidArgument(
            f"INSERT of MERGE has {len(names.expressions) if isinstance(names, exp.Tuple) else 1} columns and"
            f" {len(values.expressions)} values"
        )
    for name in names.expressions:
        is_other = isinstance(name, exp.Column) and name.table.lower() not in ("", alias.lower())
        if is_other or not name.name:
            raise UnsupportedFeature(f"MERGE cannot insert into {shown(name)}: name columns of the table")
    return tuple((name.name, value) for name, value in zip(names.expressions, values.expressions, strict=True))
