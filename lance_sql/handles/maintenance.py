"""Maintenance of a table: compaction, cleanup, statistics, layout and row ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Unpack

from lance_sql.handles.handle import D, Handle
from lance_sql.runtime.progress import Progress, reporting
from lance_sql.table.fragment import MAX_ROWS_PER_FILE
from lance_sql.values.records import Records
from lance_sql.writes import statements

if TYPE_CHECKING:
    from lance_sql.reads.scan.column_statistics import ColumnStatistics
    from lance_sql.writes.commit import cleanup as cleaning
    from lance_sql.writes.commit_options import CommitOptions
    from lance_sql.writes.physical_layout import Layout
    from lance_sql.writes.statements.maintaining import Maintenance, MaintenanceOptions


@dataclass(frozen=True, repr=False)
class TableMaintenance(Handle[D]):
    """Maintenance of a table: smaller files and fewer versions, and what is known about both.

    >>> orders.maintenance
    TableMaintenance('orders.lance version 1')
    >>> changed = orders.delete("status = 'cancelled'")
    >>> changed.maintenance.compact(max_deleted_share=0.01).last_change.operation
    'compact'
    """

    def compact(
        self,
        *,
        target_rows: int = MAX_ROWS_PER_FILE,
        max_deleted_share: float = 0.1,
        indices: statements.compact.IndexChoice = "update",
        **options: Unpack[CommitOptions],
    ) -> D:
        """Rewrites short fragments, and those with many deleted rows, into fewer ones. No row's id or versions change.

        target_rows, max_deleted_share: join fragments with fewer rows, and rewrite those with more deleted ones
        indices: scalar indices that refer to rows by address, as all do on a table without stable row ids, do not cover
            the new fragments: "update" adds these, "keep" leaves that to `Dataset.indices.optimize`, "drop" drops such
            indices. Indices of other kinds stay as they are, and engines scan the fragments that these do not cover
        raises: UnsupportedFeature for unknown kinds of indices; CommitConflict
        """
        return self._changed(
            "compact",
            options,
            statements.compact.compact,
            target_rows=target_rows,
            max_deleted_share=max_deleted_share,
            indices=indices,
        )

    def plan_compaction(
        self, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1
    ) -> list[statements.compact.Group]:
        """Returns the groups of fragments that `compact` would rewrite, without changing anything.

        raises: as `compact`
        """
        return statements.compact.plan(
            self._snapshot.latest(), target_rows=target_rows, max_deleted_share=max_deleted_share
        )

    def cleanup(
        self,
        *,
        older_than: timedelta | str | None = None,
        retain_versions: int | None = None,
        max_lag: timedelta | str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> cleaning.CleanupPlan:
        """Removes old versions of this branch, and files that no version needs. It keeps the latest version, tagged
        versions, versions where a branch begins, versions with changes that a cursor has not processed, and every file
        that one of them needs.

        older_than: minimum age of versions to remove: a timedelta, or text such as "7d", "12h" or "90m"; two weeks
            if neither this nor `retain_versions` is given
        retain_versions: keep this many of the newest versions
        max_lag: ignore cursors that have not processed a change older than this; as `older_than`
        dry_run: remove nothing
        returns: the removed versions and files, or those to remove; `held` has the versions that stay for cursors
        raises: InvalidArgument; CorruptFile if a version cannot be read
        """
        from lance_sql.writes.commit import cleanup as cleaning

        with reporting(progress):
            return cleaning.cleanup(self._snapshot, older_than, retain_versions, max_lag, dry_run=dry_run)

    def maintain(self, *, dry_run: bool = False, **options: Unpack[MaintenanceOptions]) -> Maintenance:
        """Runs `compact`, `Dataset.indices.optimize` and `cleanup` on this branch, by the policy in the table's config.
        Safe beside other writers: a step that loses against one changes nothing, and the others still run.

        dry_run: change nothing, and return the plan
        options: `target_rows`, `max_deleted_share`, `older_than`, `retain_versions` and `max_lag` of `compact` and
            `cleanup`, instead of the keys `lance_sql.maintain.<name>` of the config; and the options of every change
        returns: what each step did or would do; `has_conflicts` if a step lost
        raises: InvalidArgument for an invalid policy; as the verbs, except CommitConflict

        >>> table = orders.config.update({"lance_sql.maintain.older_than": "30d"}).delete("status = 'paid'")
        >>> [(step.name, step.outcome) for step in table.maintenance.maintain().steps]
        [('compact', 'done'), ('optimize_indices', 'nothing to do'), ('cleanup', 'nothing to do')]
        """
        return statements.maintaining.maintain(self._snapshot, options, dry_run=dry_run)

    def analyze(
        self, columns: Sequence[str] | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, tuple[int, int]]:
        """Computes min/max statistics of columns, so that later filters can prune pages. Scans learn them of columns
        that they filter. They last as long as the process, or longer in the folder of `open(.., statistics_cache=..)`.

        columns: names, or members of structs as "point.x"; defaults to all whose types have bounds
        returns: for each column the number of zones of 8,192 rows with statistics, and the total
        raises: ColumnNotFound; InvalidArgument for types without bounds, and with learn_statistics=False; CorruptFile;
            OSError if the statistics cannot be written to the folder

        >>> lance_sql.open("examples/orders.lance").maintenance.analyze(["id"])
        {'id': (2, 2)}
        """
        from lance_sql.reads.scan.analyze import analyze

        return analyze(self._snapshot, columns, progress)

    def statistics(
        self, columns: Sequence[str] | None = None, *, analyze: bool = False
    ) -> tuple[ColumnStatistics, ...]:
        """Returns known statistics of columns without reading them: rows, bytes, NULLs, minimum, maximum and
        approximate number of distinct values, from earlier scans, indices and dictionaries. Unknown ones are None.

        analyze: compute unknown statistics first, by reading the columns
        raises: ColumnNotFound; CorruptFile

        >>> (id,) = lance_sql.open("examples/orders.lance").maintenance.statistics(["id"], analyze=True)
        >>> id.num_rows, id.num_nulls, id.smallest, id.largest, id.is_exact
        (370, 0, 1, 420, True)
        """
        from lance_sql.reads.scan.column_statistics import column_statistics

        return Records(column_statistics(self._snapshot, columns, reads_values=analyze))

    def layout(self, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1) -> Layout:
        """Returns the fragments with their rows, deleted rows, files, bytes and age, and those to compact.

        target_rows, max_deleted_share: as for `compact`
        """
        from lance_sql.writes.physical_layout import layout

        return layout(self._snapshot, target_rows=target_rows, max_deleted_share=max_deleted_share)

    def enable_stable_row_ids(
        self, *, indices: statements.row_ids.Indices = "keep", **options: Unpack[CommitOptions]
    ) -> D:
        """Gives stable row ids to a table that was created without them, so that row history is recorded from now on,
        and `Dataset.changes` works without a key. No data file is read or written.

        Every row keeps its `_rowid`, and counts as inserted by this version. Earlier versions stay as they are.

        indices: "keep" the existing ones, whose entries stay valid, or "drop" them
        raises: InvalidArgument for a table that has stable row ids, and for indices that cannot be kept; CommitConflict

        >>> old = lance_sql.write({"id": [1, 2]}, path, stable_row_ids=False)
        >>> old.maintenance.enable_stable_row_ids().delete("id = 1").changes(since=2).count_rows()
        1
        """
        return self._changed("enable_stable_row_ids", options, statements.row_ids.enable, indices=indices)

    @property
    def num_rows_in_log(self) -> int:
        """Number of rows in the table's write-ahead log, inserted or deleted, that are in no version yet.

        raises: CorruptFile, UnsupportedFeature
        """
        from lance_sql.reads import write_ahead_log

        log = write_ahead_log.read(self._snapshot)
        return 0 if log is None else log.num_rows
