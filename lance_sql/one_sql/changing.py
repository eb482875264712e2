"""DELETE and UPDATE: the verbs of `Dataset` where they take the statement, else a query that finds the rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

import lance_sql.dataset
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import row_changes
from lance_sql.one_sql.changes import Change, column_in, duckdb_text, only, target
from lance_sql.one_sql.engines import Engine
from lance_sql.scan.system_columns import ROW_ADDRESS, ROW_ID

_UPDATED, _DELETED = 1, 2


@dataclass(frozen=True)
class _OfRows(Change):
    """
    alias: what the statement calls the table
    where: which rows; None for all
    others: other tables that the statement reads
    """

    alias: str
    where: exp.Expr | None
    others: tuple[exp.Expr, ...]

    def _is_plain(self, dataset: Dataset, *expressions: exp.Expr) -> bool:
        """Whether the statement looks at single rows only, and the filter of a scan takes its condition."""
        parts = [part for part in (self.where, *expressions) if part is not None]
        if self.others or any(part.find(exp.Query, exp.Subquery) for part in parts):
            return False
        try:
            _ = dataset.scan([], self._filter())
        except UnsupportedFeature:
            return False
        return True

    def _filter(self) -> str | None:
        return None if self.where is None else duckdb_text(unqualified(self.where, self.alias))

    def _rows(self, name: str, clause: int, values: dict[str, exp.Expr]) -> exp.Select:
        """The query that finds the rows."""
        columns = [exp.alias_(exp.Literal.number(clause), row_changes.CLAUSE)]
        columns += [row_changes.system(each, self.alias) for each in (ROW_ID, ROW_ADDRESS)]
        columns += [exp.alias_(value, row_changes.value_column(number)) for number, value in enumerate(values.values())]
        made = exp.select(*columns).from_(row_changes.named(name, self.alias))
        for other in self.others:
            made = made.join(_joined_alone(other), join_type="cross")
        return made if self.where is None else made.where(self.where.copy())


@dataclass(frozen=True)
class Deletion(_OfRows):
    """DELETE FROM, and TRUNCATE."""

    @property
    def is_for_all_rows(self) -> bool:
        return self.where is None

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.dataset.open(path)
        if self._is_plain(dataset):
            return dataset.delete(self._filter() or "true")
        row_changes.check_engine(engine, "DELETE with a query or a condition like this")

        def rows(name: str) -> exp.Expr:
            # several rows of other tables may want the same row to go
            return self._rows(name, _DELETED, {}).distinct()

        return row_changes.change(dataset, "delete", engine, rows, values={}, deleting=frozenset({_DELETED}))


@dataclass(frozen=True)
class Modification(_OfRows):
    """UPDATE .. SET.

    values: by column
    """

    values: tuple[tuple[str, exp.Expr], ...]

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.dataset.open(path)
        values = {column_in(name, dataset): value for name, value in self.values}
        if len(values) < len(self.values):
            raise InvalidArgument("UPDATE sets a column twice")
        if self._is_plain(dataset, *values.values()):
            texts = {name: duckdb_text(unqualified(value, self.alias)) for name, value in values.items()}
            return dataset.update(texts, self._filter())
        row_changes.check_engine(engine, "UPDATE with a query or a condition like this")

        def rows(name: str) -> exp.Expr:
            return self._rows(name, _UPDATED, values)

        own = {name: row_changes.value_column(number) for number, name in enumerate(values)}
        return row_changes.change(dataset, "update", engine, rows, values={_UPDATED: own}, deleting=frozenset())


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
        raise UnsupportedFeature("TRUNCATE takes one table")
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
    """A table with what is joined to it, as one side of another join."""
    made = other.copy()
    joins = made.args.get("joins") or []
    if not joins:
        return made
    for join in joins:
        # a comma cannot be inside of parentheses
        if not any(join.args.get(part) for part in ("kind", "side", "method", "on", "using")):
            join.set("kind", "CROSS")
    return exp.Paren(this=made)


def assignments(expressions: list[exp.Expr], alias: str, statement: str) -> tuple[tuple[str, exp.Expr], ...]:
    """What SET says, by column.

    raises: UnsupportedFeature for anything but a column that is set to an expression
    """
    found = []
    for each in expressions:
        column = each.this if isinstance(each, exp.EQ) else None
        if not isinstance(column, exp.Column) or (column.table and column.table.lower() != alias.lower()):
            raise UnsupportedFeature(f"{statement} sets columns of the table, one by one: not {each.sql()}")
        value = each.expression
        if isinstance(value, exp.Column) and value.name.upper() == "DEFAULT" and not value.this.quoted:
            raise UnsupportedFeature(f"{statement} has no DEFAULT: columns of Lance tables have none")
        found.append((column.name, each.expression))
    return tuple(found)


def unqualified(node: exp.Expr, alias: str) -> exp.Expr:
    """An expression without the name of the table before its columns."""
    made = node.copy()
    for column in list(made.find_all(exp.Column)):
        if column.table.lower() == alias.lower():
            column.set("table", None)
    return made
