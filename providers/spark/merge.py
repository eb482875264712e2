"""Merges in Spark: Spark joins and computes the new rows, in one commit.

    table.merge(changes, on="id")
        .when_matched_delete("source.is_gone")
        .when_matched_update()
        .when_not_matched_insert()
        .execute()

The first clause for a row whose condition holds applies, as in Delta. Conditions and values are text in
Spark's SQL, or columns; `source` and `target` are the two sides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from lance_sql.dataset import Dataset
from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.jobs.distributed import CHANGE, DELETE, WRITE, ChangeJob, Written, change_rows
from lance_sql.values.keywords import methods_suggest_keywords

from . import data_source as spark
from . import types as spark_types
from .assignment import assigned
from .columns import as_spelled, spelled
from .jobs import run_changes, table_types

if TYPE_CHECKING:
    from .tables import LanceTable

Expression: TypeAlias = str | Column
Side: TypeAlias = Literal["matched", "not_matched", "by_source"]

_SYSTEM: Final = ("_rowid", "_rowaddr")
_IN_SOURCE: Final = "__lance_in_source"
_CLAUSE: Final = "__lance_clause"


@dataclass(frozen=True)
class Clause:
    """A clause: the change of some rows.

    values: by column; None for those of the source, or for deletes
    """

    side: Side
    change: str
    values: Mapping[str, Expression] | None
    condition: Expression | None


@methods_suggest_keywords
class MergeBuilder:
    """Builder of a merge. Immutable: every clause returns another builder.

    on: key columns of both sides; NULL matches nothing
    """

    def __init__(
        self, table: LanceTable, source: DataFrame, on: Sequence[str], clauses: tuple[Clause, ...] = ()
    ) -> None:
        self._table = table
        self._source = source
        self._on = tuple(on)
        self._clauses = clauses

    def when_matched_update(
        self, set: Mapping[str, Expression] | None = None, condition: Expression | None = None
    ) -> MergeBuilder:
        """Updates matched rows with the source's columns, or with the values of `set`, by column."""
        return self._with("matched", WRITE, set, condition)

    def when_matched_delete(self, condition: Expression | None = None) -> MergeBuilder:
        """Deletes matched rows."""
        return self._with("matched", DELETE, None, condition)

    def when_not_matched_insert(
        self, values: Mapping[str, Expression] | None = None, condition: Expression | None = None
    ) -> MergeBuilder:
        """Inserts source rows without a match, with their columns or the given values; other columns are NULL."""
        return self._with("not_matched", WRITE, values, condition)

    def when_not_matched_by_source_update(
        self, set: Mapping[str, Expression], condition: Expression | None = None
    ) -> MergeBuilder:
        """Updates rows of the table that no row of the source matches."""
        return self._with("by_source", WRITE, set, condition)

    def when_not_matched_by_source_delete(self, condition: Expression | None = None) -> MergeBuilder:
        """Deletes rows of the table that no row of the source matches."""
        return self._with("by_source", DELETE, None, condition)

    def execute(self, *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Joins and writes in Spark's tasks, then commits. Repeats this if other writers changed the same rows.

        returns: the version with the result; the newest one if no row changes
        raises: InvalidArgument for columns that do not fit, and when two rows of the source match one row;
            CommitConflict; errors of a task, as one line
        """
        if not self._clauses:
            raise InvalidArgument("The merge does nothing: add a clause, such as when_matched_update()")
        inserts = any(clause.side == "not_matched" for clause in self._clauses)
        return change_rows(
            self._table.dataset(), "merge", self._run, inserts_by_key=inserts, skips_equal=True, properties=properties
        )

    def when_matched_update_all(self, condition: Expression | None = None) -> MergeBuilder:
        """Updates matched rows with the values of the source's columns."""
        return self.when_matched_update(condition=condition)

    def when_not_matched_insert_all(self, condition: Expression | None = None) -> MergeBuilder:
        """Inserts source rows without a match, with their columns."""
        return self.when_not_matched_insert(condition=condition)

    # Delta's names for Spark, with the arguments in its order
    whenMatchedUpdateAll = when_matched_update_all  # noqa: N815
    whenMatchedDelete = when_matched_delete  # noqa: N815
    whenNotMatchedInsertAll = when_not_matched_insert_all  # noqa: N815
    whenNotMatchedBySourceDelete = when_not_matched_by_source_delete  # noqa: N815

    def whenMatchedUpdate(  # noqa: N802
        self, condition: Expression | None = None, set: Mapping[str, Expression] | None = None
    ) -> MergeBuilder:
        """Same as `when_matched_update`."""
        return self.when_matched_update(set, condition)

    def whenNotMatchedInsert(  # noqa: N802
        self, condition: Expression | None = None, values: Mapping[str, Expression] | None = None
    ) -> MergeBuilder:
        """Same as `when_not_matched_insert`."""
        return self.when_not_matched_insert(values, condition)

    def whenNotMatchedBySourceUpdate(  # noqa: N802
        self, condition: Expression | None = None, set: Mapping[str, Expression] | None = None
    ) -> MergeBuilder:
        """Same as `when_not_matched_by_source_update`."""
        return self.when_not_matched_by_source_update(set or {}, condition)

    def _with(
        self, side: Side, change: str, values: Mapping[str, Expression] | None, condition: Expression | None
    ) -> MergeBuilder:
        if values is not None and not isinstance(values, Mapping):
            raise InvalidArgument(f"Values must be a dict by column, not {values!r}: pass a condition as condition=")
        clause = Clause(side, change, None if values is None else dict(values), condition)
        return MergeBuilder(self._table, self._source, self._on, (*self._clauses, clause))

    def _run(self, job: ChangeJob) -> Iterable[Written]:
        return run_changes(job, self._spelled(job.dataset.schema.names)._changes(job.dataset))

    def _spelled(self, names: Sequence[str]) -> MergeBuilder:
        """Returns the merge with columns in the table's spelling, if Spark ignores case."""
        session = self._table.session
        on = [spelled(session, key, names) for key in self._on]
        clauses = []
        for clause in self._clauses:
            values = clause.values
            if values is not None:
                values = {spelled(session, name, names): value for name, value in values.items()}
            clauses.append(replace(clause, values=values))
        return MergeBuilder(self._table, as_spelled(self._source, names), on, tuple(clauses))

    def _changes(self, dataset: Dataset) -> DataFrame:
        """Returns the changed rows, in the form for `ChangeJob.write`."""
        names = dataset.schema.names
        self._check(names)
        needed = names if self._needs_values(names) else list(self._on)
        target = spark.read(self._table.session, dataset, [*needed, *_SYSTEM]).alias("target")
        source = self._source.withColumn(_IN_SOURCE, F.lit(True)).alias("source")
        keys = [F.col(_name("source", key)) == F.col(_name("target", key)) for key in self._on]
        joined = source.join(target, keys, self._join())
        is_matched = F.col(_name("source", _IN_SOURCE)).isNotNull() & F.col("target._rowaddr").isNotNull()
        sides = {
            "matched": is_matched,
            "not_matched": F.col("target._rowaddr").isNull(),
            "by_source": F.col(_name("source", _IN_SOURCE)).isNull(),
        }
        chosen: Any = F
        for number, clause in enumerate(self._clauses):
            holds = sides[clause.side]
            if clause.condition is not None:
                holds = holds & _column(clause.condition)
            chosen = chosen.when(holds, F.lit(number))
        types = spark_types.spark_schema(table_types(dataset))
        rows = joined.withColumn(_CLAUSE, chosen).where(F.col(_CLAUSE).isNotNull())
        rows, values = self._values(rows, types, needed)
        changes: Any = F
        for number, clause in enumerate(self._clauses):
            changes = changes.when(F.col(_CLAUSE) == number, F.lit(clause.change))
        system = [F.col(f"target.{name}").alias(name) for name in _SYSTEM]
        return rows.select(*values, *system, changes.alias(CHANGE))

    def _values(self, rows: DataFrame, types: StructType, needed: Collection[str]) -> tuple[DataFrame, list[Column]]:
        """Returns the rows with computed values beside them, and the new values of the columns over these rows."""
        branches = [
            (field, number, new_value)
            for field in types
            for number, clause in enumerate(self._clauses)
            if (new_value := self._new_value(clause, field.name)) is not None
        ]
        # a value is computed for the rows of its clause alone: for others it may be undefined
        rows, in_types = assigned(
            rows, [(field, F.when(F.col(_CLAUSE) == number, value)) for field, number, value in branches]
        )
        values: dict[str, Any] = dict.fromkeys(types.names, F)
        for (field, number, _), new_value in zip(branches, in_types, strict=True):
            values[field.name] = values[field.name].when(F.col(_CLAUSE) == number, new_value)
        keeping = [number for number, clause in enumerate(self._clauses) if self._keeps(clause)]
        for name in needed if keeping else ():
            current = F.col(_name("target", name))
            # only if some clause sets the column
            values[name] = values[name].when(F.col(_CLAUSE).isin(keeping), current)
        return rows, [
            (F.lit(None).cast(field.dataType) if values[field.name] is F else values[field.name]).alias(field.name)
            for field in types
        ]

    def _keeps(self, clause: Clause) -> bool:
        """Whether columns that a clause does not set stay unchanged."""
        return clause.change == WRITE and clause.side != "not_matched"

    def _new_value(self, clause: Clause, name: str) -> Column | None:
        """Returns the value to which a clause sets a column, or None if it does not set it."""
        if clause.change == DELETE:
            return None
        if clause.values is not None:
            return _column(clause.values[name]) if name in clause.values else None
        return F.col(_name("source", name)) if name in self._source.columns else None

    def _join(self) -> str:
        sides = {clause.side for clause in self._clauses}
        if "by_source" in sides:
            return "full_outer" if "not_matched" in sides else "right_outer"
        return "left_outer" if "not_matched" in sides else "inner"

    def _needs_values(self, names: Sequence[str]) -> bool:
        """Whether the merge reads more of the table than keys."""
        for clause in self._clauses:
            if clause.condition is not None or clause.values is not None:
                return True
            if clause.change == WRITE and clause.side == "matched" and set(names) - set(self._source.columns):
                return True
        return False

    def _check(self, names: Sequence[str]) -> None:
        """Makes sure that the columns exist.

        raises: ColumnNotFound, InvalidArgument
        """
        for key in self._on:
            for columns, whose in ((names, self._table.path), (self._source.columns, "The source")):
                if key not in columns:
                    raise ColumnNotFound(f"{whose} has no key column {key!r}")
        for clause in self._clauses:
            written = clause.values if clause.values is not None else self._source.columns
            for name in written if clause.change == WRITE else ():
                if name not in names:
                    raise ColumnNotFound(f"{self._table.path} has no column {name!r}, which the merge sets")


def _column(value: Expression) -> Column:
    return F.expr(value) if isinstance(value, str) else value


def _name(side: str, column: str) -> str:
    return f"{side}.`{column.replace('`', '``')}`"
