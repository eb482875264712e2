"""DELETE and UPDATE: the engine finds the rows, and computes their new values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.jobs.distributed import CHANGE
from lance_sql.one_sql import row_changes
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.free_columns import is_default
from lance_sql.one_sql.row_changes import Assign
from lance_sql.one_sql.writing_statements import Change, column_in, only, target
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.values.typed_sql import OwnWords, shown

_CLAUSE: Final = 1


@dataclass(frozen=True)
class _OfRows(Change):
    """
    alias: the name of the table in the statement
    where: the condition on rows; None for all
    others: other tables that the statement reads
    """

    alias: str
    where: exp.Expr | None
    others: tuple[exp.Expr, ...]

    def _rows(self, name: str, columns: Iterable[exp.Expr]) -> exp.Select:
        """Returns the query that finds the rows.

        columns: of the query, before the address of each row
        """
        address = row_changes.system(ROW_ADDRESS, self.alias)
        query = exp.select(*columns, address).from_(row_changes.named(name, self.alias))
        for other in self.others:
            if isinstance(other, OwnWords):
                # after a comma
                query.append("joins", exp.Join(this=other.copy()))
            else:
                query = query.join(_joined_alone(other), join_type="cross")
        return query if self.where is None else query.where(self.where.copy())


@dataclass(frozen=True)
class Deletion(_OfRows):
    """DELETE FROM, and TRUNCATE."""

    @property
    def is_for_all_rows(self) -> bool:
        return self.where is None

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.opening.open(path)
        if self.where is None and not self.others:
            return dataset.delete("true")

        def rows(name: str) -> exp.Expr:
            selected = self._rows(name, ())
            # several rows of other tables may select the same row
            return selected.distinct() if self.others else selected

        return row_changes.delete(dataset, engine, rows)


@dataclass(frozen=True)
class Modification(_OfRows):
    """UPDATE .. SET.

    values: by column
    """

    values: tuple[tuple[str, exp.Expr], ...]

    verb = "changes"

    @property
    def is_for_all_rows(self) -> bool:
        return self.where is None and not self.others

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.opening.open(path)
        values = {column_in(name, dataset): value for name, value in self.values}
        if len(values) < len(self.values):
            raise InvalidArgument("UPDATE sets a column twice")
        own = {name: row_changes.value_column(number) for number, name in enumerate(values)}

        def rows(name: str, assign: Assign) -> exp.Expr:
            columns = [exp.alias_(exp.Literal.number(_CLAUSE), CHANGE)]
            columns += [row_changes.system(ROW_ID, self.alias)]
            columns += [exp.alias_(assign(column, value), own[column]) for column, value in values.items()]
            return self._rows(name, columns)

        return row_changes.change(dataset, "update", engine, rows, clauses={_CLAUSE: own})


def deletion(node: exp.Delete) -> Deletion:
    """
    raises: UnsupportedFeature for clauses that are not known
    """
    path, alias = target(node.this, "DELETE")
    only(node, "DELETE", "this", "using", "where")
    using = node.args.get("using") or ()
    where = node.args.get("where")
    return Deletion(path, alias, where and where.this, tuple(using))


def truncation(node: exp.TruncateTable) -> Deletion:
    """
    raises: as `deletion`
    """
    if len(node.expressions) != 1:
        raise UnsupportedFeature("TRUNCATE of several tables is not supported: truncate one at a time")
    only(node, "TRUNCATE", "expressions")
    path, alias = target(node.expressions[0], "TRUNCATE")
    return Deletion(path, alias, None, ())


def modification(node: exp.Update) -> Modification:
    """
    raises: as `deletion`; InvalidArgument
    """
    path, alias = target(node.this, "UPDATE")
    only(node, "UPDATE", "this", "expressions", "from_", "where")
    source = node.args.get("from_")
    where = node.args.get("where")
    others = () if source is None else (source.this,)
    return Modification(path, alias, where and where.this, others, assignments(node.expressions, alias, "UPDATE"))


def _joined_alone(other: exp.Expr) -> exp.Expr:
    """Returns a table with its joins, as one side of another join."""
    table = other.copy()
    joins = table.args.get("joins") or []
    if not joins:
        return table
    for join in joins:
        # parentheses cannot contain a comma join
        if not any(join.args.get(part) for part in ("kind", "side", "method", "on", "using")):
            join.set("kind", "CROSS")
    return exp.Paren(this=table)


def assignments(expressions: list[exp.Expr], alias: str, statement: str) -> tuple[tuple[str, exp.Expr], ...]:
    """Returns the expressions of SET, by column.

    raises: UnsupportedFeature for anything but a column that is set to an expression
    """
    assigned = []
    for each in expressions:
        column = each.this if isinstance(each, exp.EQ) else None
        if not isinstance(column, exp.Column) or (column.table and column.table.lower() != alias.lower()):
            part = each.this
            # the printed index of an item depends on the dialect
            named = f"an item of {shown(part.this)}" if isinstance(part, exp.Bracket) else shown(each)
            raise UnsupportedFeature(f"{statement} cannot set {named}: set columns of the table one by one")
        value = each.expression
        if is_default(value):
            raise UnsupportedFeature(f"{statement} cannot set DEFAULT: columns of Lance tables have no defaults")
        assigned.append((column.name, each.expression))
    return tuple(assigned)
