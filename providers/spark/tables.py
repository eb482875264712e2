"""Lance tables for users of PySpark, as objects with Delta's verbs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Unpack

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

import lance_sql.opening
from lance_sql.changes.bounds import Bound
from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.jobs.distributed import (
    CHANGE,
    DELETE,
    WRITE,
    ChangeJob,
    IndexChoice,
    Written,
    change_rows,
    compact_groups,
)
from lance_sql.jobs.writing import MAX_ROWS_PER_FILE
from lance_sql.store.access import Access, AccessOptions
from lance_sql.table import address
from lance_sql.values.arguments import check_selection
from lance_sql.values.keywords import methods_suggest_keywords
from lance_sql.writes.statements.merge import check_on

from .. import read_spark as read
from . import data_source as source
from . import types as spark_types
from .apply import apply_changes
from .assignment import assigned
from .columns import spelled
from .data_source import register
from .frames import read_changes
from .jobs import run_changes, run_compaction, table_types
from .merge import Expression, MergeBuilder

_SYSTEM: Final = ("_rowid", "_rowaddr")
_HISTORY: Final = {
    "version": "bigint",
    "timestamp": "timestamp",
    "operation": "string",
    "rows": "bigint",
    "fragments": "bigint",
    "rows_inserted": "bigint",
    "rows_updated": "bigint",
    "rows_deleted": "bigint",
    "writer": "string",
    "tags": "array<string>",
    "properties": "map<string, string>",
    "damage": "string",
}


@methods_suggest_keywords
class LanceTable:
    """A table in its current state. Spark's tasks compute and write changes of rows. The driver receives names of
    files, ids and bitmaps of changed rows, and makes one commit.

    >>> table = LanceTable.for_path(spark, "events.lance")  # doctest: +SKIP
    >>> table.merge(changes, on="id").when_matched_update().when_not_matched_insert().execute()  # doctest: +SKIP
    """

    def __init__(self, session: SparkSession, path: str, *, branch: str | None, access: AccessOptions) -> None:
        self.session = register(session)
        self.path = path
        self._location: dict[str, Any] = {"branch": branch, **access}

    @classmethod
    def for_path(
        cls,
        session: SparkSession,
        path: str | os.PathLike[str],
        *,
        branch: str | None = None,
        **access: Unpack[AccessOptions],
    ) -> LanceTable:
        """Opens the table at a path or URI.

        path: of a branch as well, as in "events.lance@load"
        access: keywords of `lance_sql.open` that say how the files are reached
        raises: TableNotFound; InvalidArgument for a version or a tag; MissingDependency if Spark's workers run a Python
            without this package
        """
        where = address.of_newest(os.fspath(path), Access.of(**access))
        table = cls(session, where, branch=branch, access=access)
        _ = table.dataset()
        return table

    forPath = for_path  # noqa: N815 - as Delta calls it on Spark

    def dataset(self) -> Dataset:
        """Opens the newest version."""
        return lance_sql.opening.open(self.path, **self._location)

    def to_df(self, columns: Sequence[str] | None = None, filter: str | None = None) -> DataFrame:
        """Reads the newest version as a frame; see `lance_sql.read_spark`."""
        frame: DataFrame = read(self.session, self.dataset(), columns, filter)
        return frame

    toDF = to_df  # noqa: N815 - as Delta calls it on Spark

    def merge(self, frame: DataFrame, on: str | Sequence[str]) -> MergeBuilder:
        """Merges the rows of a frame by key columns. Clauses of the returned builder define the changes.

        on: columns of both sides; or their equality in Delta's form, "source.id = target.id AND ..."
        """
        keys = _keys(on) if isinstance(on, str) else tuple(on)
        check_on(keys)
        return MergeBuilder(self, frame, keys)

    def update(
        self,
        set: Mapping[str, Expression],
        where: Expression | None = None,
        *,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Sets columns in the rows that pass a filter.

        set: new values by column: text in Spark's SQL, or columns, over the row before the update
        where: text is a filter as for `lance_sql.read_spark`, which limits the read, "true" for all rows; a column is
            evaluated by Spark
        raises: ColumnNotFound; InvalidArgument, also without a filter; CommitConflict; errors of a task, as one line
        """
        check_selection(where, "updates")
        given = {name: F.expr(value) if isinstance(value, str) else value for name, value in set.items()}
        if not given:
            raise InvalidArgument("No column to set: pass at least one")

        def run(job: ChangeJob) -> list[Written]:
            dataset = job.dataset
            values = {spelled(self.session, name, dataset.schema.names): value for name, value in given.items()}
            for name in values:
                if name not in dataset.schema.names:
                    raise ColumnNotFound(f"{self.path} has no column {name!r}")
            rows = self._rows(dataset, [*dataset.schema.names, *_SYSTEM], where)
            types = spark_types.spark_schema(table_types(dataset))
            set_values = [(field, values[field.name]) for field in types if field.name in values]
            rows, cast = assigned(rows, set_values)
            in_types = {field.name: value for (field, _), value in zip(set_values, cast, strict=True)}
            new = [in_types.get(field.name, F.col(_quoted(field.name))).alias(field.name) for field in types]
            return run_changes(job, rows.select(*new, *_SYSTEM, F.lit(WRITE).alias(CHANGE)))

        return change_rows(self.dataset(), "update", run, properties=properties)

    def delete(self, where: Expression, *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Deletes the rows that pass a filter.

        where: as for `update`
        raises: as `update`
        """
        check_selection(where, "deletes")

        def run(job: ChangeJob) -> list[Written]:
            dataset = job.dataset
            is_text = isinstance(where, str)
            rows = self._rows(dataset, [*(() if is_text else dataset.schema.names), *_SYSTEM], where)
            return run_changes(job, rows.select(*_SYSTEM, F.lit(DELETE).alias(CHANGE)))

        return change_rows(self.dataset(), "delete", run, properties=properties)

    def apply_changes(
        self,
        changes: DataFrame | ChangeFeed,
        keys: str | Sequence[str] | None = None,
        *,
        sequence_by: str | Sequence[str] | None = None,
        delete_when: str | None = None,
        columns: Sequence[str] | None = None,
        except_columns: Sequence[str] | None = None,
        ignore_null_updates: bool | Sequence[str] = False,
        track_history_on: Sequence[str] | None = None,
        track_history_except: Sequence[str] | None = None,
        scd: Literal[1, 2] = 1,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Applies changes by key to the table, in one commit, like `lance_sql.apply_changes`. The changes of one key go
        to one Spark task, which has those of all its keys in memory.

        changes: a frame, whose rows replace those of their keys; or a change feed, from `Dataset.changes` or a
            cursor, which Spark's tasks read
        delete_when: a filter as for `lance_sql.read_spark`
        sequence_by: by default, rows count in the order of the frame
        raises: as `lance_sql.apply_changes`; errors of a task, as one line
        """
        return apply_changes(
            self.session,
            self.dataset(),
            changes,
            keys,
            sequence_by=sequence_by,
            delete_when=delete_when,
            columns=columns,
            except_columns=except_columns,
            ignore_null_updates=ignore_null_updates,
            track_history_on=track_history_on,
            track_history_except=track_history_except,
            scd=scd,
            properties=properties,
        )

    applyChanges = apply_changes  # noqa: N815 - as the other methods are called in that style

    def compact(
        self,
        *,
        target_rows: int = MAX_ROWS_PER_FILE,
        max_deleted_share: float = 0.1,
        indices: IndexChoice = "update",
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Compacts like `Dataset.maintenance.compact`. A task rewrites each group of fragments."""
        return compact_groups(
            self.dataset(),
            lambda job: run_compaction(self.session, job),
            target_rows=target_rows,
            max_deleted_share=max_deleted_share,
            indices=indices,
            properties=properties,
        )

    def create_index(self, column: str, kind: str, **arguments: Any) -> Dataset:
        """Calls `Dataset.indices.create` in the driver."""
        return self.dataset().indices.create(column, kind, **arguments)

    createIndex = create_index  # noqa: N815 - as the other methods are called in that style

    def cleanup(self, **arguments: Any) -> Any:
        """Calls `Dataset.maintenance.cleanup` in the driver."""
        return self.dataset().maintenance.cleanup(**arguments)

    def changes(self, start: Bound | None = None, end: Bound | None = None, **arguments: Any) -> DataFrame:
        """Returns the changes of versions as a frame; see `read_changes`."""
        return read_changes(self.session, self.dataset(), start, end, **arguments)

    def history(self, limit: int | None = None) -> DataFrame:
        """Returns the commits, newest first, with the columns of `Dataset.history`.

        limit: return at most this many of the newest versions
        """
        columns = ", ".join(f"{name} {type}" for name, type in _HISTORY.items())
        rows = [
            tuple(
                {"tags": list(entry.tags), "properties": dict(entry.properties)}.get(name, getattr(entry, name))
                for name in _HISTORY
            )
            for entry in reversed(self.dataset().history(limit))
        ]
        return self.session.createDataFrame(rows, columns)

    def _rows(self, dataset: Dataset, columns: Sequence[str], where: Expression | None) -> DataFrame:
        if where is None or isinstance(where, str):
            # raises errors here, rather than in a worker of Spark
            _ = dataset.scan(columns, where).schema
            return source.read(self.session, dataset, columns, where)
        if not isinstance(where, Column):
            raise InvalidArgument(f"A filter must be text or a Spark column, not a {type(where).__name__}")
        return source.read(self.session, dataset, columns).where(where)


_SIDES: Final = re.compile(r"\s*`?(source|target)`?\.(`[^`]+`|\w+)\s*=\s*`?(source|target)`?\.(`[^`]+`|\w+)\s*", re.I)


def _keys(on: str) -> tuple[str, ...]:
    """Returns the key columns of a condition, or the one named column.

    raises: InvalidArgument for a condition other than the equality of columns with one name
    """
    if "=" not in on:
        return (on,)
    keys = []
    for part in re.split(r"\s+AND\s+", on, flags=re.I):
        match = _SIDES.fullmatch(part)
        names = {match[2].strip("`").lower(), match[4].strip("`").lower()} if match else set()
        if match is None or match[1].lower() == match[3].lower() or len(names) != 1:
            raise InvalidArgument(
                f"on={on!r} is not a key: pass key columns, such as ['id', 'day'], or their equality, as 'source.id ="
                " target.id', and other conditions in a clause"
            )
        keys.append(match[2].strip("`"))
    return tuple(keys)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
