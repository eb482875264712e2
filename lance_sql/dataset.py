"""The handle on one version of a table.

Modules that only changes need are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from lance_sql import changes, handles
from lance_sql.handles.version_rows import VersionRows
from lance_sql.reads.scan.filters import Filter
from lance_sql.runtime import ports
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store.canonical import canonical_location
from lance_sql.table.commit_summary import CommitSummary, from_properties
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_infos import VersionInfo
from lance_sql.table.versions import VersionLike
from lance_sql.values.guessed_names import OF_DATASET
from lance_sql.values.keywords import check_keywords
from lance_sql.values.local_paths import shown
from lance_sql.values.records import Records
from lance_sql.writes import statements

if TYPE_CHECKING:
    from lance_sql.changes.bounds import Bound
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.changes.plan import Mode
    from lance_sql.changes.row_history import RowHistory
    from lance_sql.changes.version_history import History
    from lance_sql.handles.branches import Branches
    from lance_sql.handles.config import Config
    from lance_sql.handles.cursors import Cursors
    from lance_sql.handles.indices import Indices
    from lance_sql.handles.maintenance import TableMaintenance
    from lance_sql.handles.rules import Rules
    from lance_sql.handles.tags import Tags
    from lance_sql.writes.commit_options import AppendOptions, CommitOptions


class Dataset(VersionRows):
    """One version of a table. Immutable, thread-safe, picklable. A newer version needs a new handle.

    Engines that accept a `pyarrow.dataset.Dataset` accept it unchanged. `tags`, `branches`, `indices`, `rules`,
    `cursors`, `config` and `maintenance` have the methods of their subject.

    >>> orders = lance_sql.open("examples/orders.lance")
    >>> orders.scan(["id", "_row_created_at_version"], "status = 'open'").to_table().column_names
    ['id', '_row_created_at_version']
    >>> orders.tags
    Tags(audited, published)
    """

    _guessed_names = OF_DATASET

    @property
    def uri(self) -> str:
        """The root of the table: an absolute path, or a URI."""
        return self.snapshot.uri

    @property
    def version(self) -> int:
        """The version that this handle reads."""
        return self.snapshot.version

    @property
    def branch(self) -> str | None:
        """The branch of the version; None on main."""
        return self.snapshot.branch

    @property
    def tags(self) -> Tags[Dataset]:
        """Tags: names of versions."""
        return handles.tags.Tags(self.snapshot, Dataset)

    @property
    def branches(self) -> Branches[Dataset]:
        """Branches: lines of versions beside main, and their publication."""
        return handles.branches.Branches(self.snapshot, Dataset)

    @property
    def indices(self) -> Indices[Dataset]:
        """Secondary indices."""
        return handles.indices.Indices(self.snapshot, Dataset)

    @property
    def rules(self) -> Rules[Dataset]:
        """Data quality rules, and their checks."""
        return handles.rules.Rules(self.snapshot, Dataset)

    @property
    def cursors(self) -> Cursors[Dataset]:
        """Cursors: named positions in the change feed."""
        return handles.cursors.Cursors(self.snapshot, Dataset)

    @property
    def config(self) -> Config[Dataset]:
        """Config of the table, and metadata of its columns."""
        return handles.config.Config(self.snapshot, Dataset)

    @property
    def maintenance(self) -> TableMaintenance[Dataset]:
        """Compaction, cleanup, statistics and layout."""
        return handles.maintenance.TableMaintenance(self.snapshot, Dataset)

    @property
    def last_change(self) -> CommitSummary | None:
        """Summary of the change that returned this handle: operation, rows, files, bytes and duration; zeros if the
        change made no version. None if no change returned the handle. `history` has the summaries of all versions.

        >>> change = orders.delete("status = 'cancelled'").last_change
        >>> change.operation, change.rows_deleted
        ('delete', 18)
        """
        properties = self.snapshot.commit_properties
        return None if properties is None else from_properties(properties)

    def latest(self) -> Dataset:
        """Returns a handle on the newest version of the branch as of now.

        raises: TableNotFound when the table is gone; CorruptFile, UnsupportedFeature

        >>> old = lance_sql.open(orders.uri)
        >>> _ = orders.delete("status = 'cancelled'")
        >>> old.version, old.latest().version
        (1, 2)
        """
        return self if (latest := self.snapshot.latest()) is self.snapshot else Dataset(latest)

    def at(self, version: VersionLike) -> Dataset:
        """Returns a handle on another version of the branch, opened like this one.

        version: a number, tag or time, as for `lance_sql.open`
        raises: VersionNotFound; InvalidArgument for a time in another form; CorruptFile, UnsupportedFeature

        >>> orders.delete("status = 'cancelled'").at(1).version
        1
        """
        here = self.snapshot
        return Dataset(
            open_snapshot(
                here.uri,
                version=version,
                branch=here.branch,
                access=here.access,
                use_indices=here.use_indices,
                learning=here.learning,
            )
        )

    def versions(self) -> tuple[VersionInfo, ...]:
        """Returns all versions that can be opened as of now, ascending."""
        return Records(self.snapshot.versions())

    def history(
        self,
        limit: int | None = None,
        *,
        since: datetime | date | timedelta | str | None = None,
        job: str | None = None,
    ) -> History:
        """Returns the commits of the branch, ascending: the operation as its user meant it, rows inserted, updated and
        deleted, bytes, job, user, host, writer and duration. Reads no page.

        limit: return at most this many of the newest versions
        since: only versions that were committed at this time or later, such as "1d", "yesterday" or "2026-11-26"
        job: only versions that this job committed
        raises: InvalidArgument for text that is not a time

        >>> orders.delete("status = 'cancelled'").history()[-1].operation
        'delete'
        """
        return changes.version_history.history(self.snapshot, limit, since=since, job=job)

    def changes(
        self,
        start: Bound | None = None,
        end: Bound | None = None,
        *,
        since: Bound | None = None,
        mode: Mode = "all",
        drop_unchanged: bool = False,
        key: str | Sequence[str] | None = None,
        trust_snapshots: bool = False,
        origin: bool = False,
    ) -> ChangeFeed:
        """Returns the changes of the versions from `start` to `end`, both included: inserted and deleted rows, and both
        images of updated rows.

        start: a version, a tag or a time; defaults to the table's first version
        end: likewise; defaults to the version of this handle
        since: exclusive alternative to `start`: a version, tag or time before the range
        mode: "all" for the changes of each commit, in order; "net" for at most one change of a row over the whole
            range; "insert_only" for inserted rows alone
        drop_unchanged: leave out updates that left every value as it was
        key: columns that identify rows, instead of row ids; for tables without stable row ids. An update is then one
            that changed a value
        trust_snapshots: if row ids contradict the record of a commit, take them as both versions have them and compare
            values, instead of raising DamagedLineage
        origin: add the columns `_commit_job`, `_commit_user` and `_commit_host` before `_rowid`, as the commits record
            them
        returns: the columns of the version `end`, `_change_type`, `_commit_version`, `_commit_timestamp`, `_rowid`
        raises: VersionNotFound for a range whose versions were cleaned up; InvalidArgument for a table without stable
            row ids if no key is given; UnsupportedFeature; DamagedLineage, when the changes are read

        >>> orders.delete("status = 'cancelled'").changes(since=1).scan(["_change_type"]).to_table().num_rows > 0
        True
        """
        return changes.feed.ChangeFeed(
            self.snapshot,
            start,
            end,
            since=since,
            mode=mode,
            drop_unchanged=drop_unchanged,
            key=key,
            trust_snapshots=trust_snapshots,
            origin=origin,
        )

    def row_history(self, start: Bound | None = None, end: Bound | None = None, *, origin: bool = False) -> RowHistory:
        """Returns all images of rows from `start` to `end`, with the versions and times of their validity (SCD type 2).

        start, end: as for `changes`
        origin: add the columns `valid_from_job` and `valid_to_job` before `_rowid`
        returns: the columns of the version `end`, `valid_from_version`, `valid_to_version`, `valid_from`, `valid_to`,
            `is_current` and `_rowid`
        raises: as `changes`

        >>> orders.delete("status = 'cancelled'").row_history().count_rows("is_current") < orders.count_rows()
        True
        """
        return changes.row_history.RowHistory(self.snapshot, start, end, origin=origin)

    def append(
        self,
        data: object,
        *,
        schema: pa.Schema | None = None,
        merge_schema: bool = False,
        **options: Unpack[AppendOptions],
    ) -> Dataset:
        """Appends rows to the branch. `lance_sql.write` also creates tables, and overwrites them.

        data, schema, merge_schema, options: as for `lance_sql.write`
        raises: TableNotFound if the table was removed; InvalidArgument for rows that do not fit; CommitConflict

        >>> orders.append(orders.scan(limit=3).to_table()).count_rows() - orders.count_rows()
        3
        """
        from lance_sql.writes.commit_options import AppendOptions

        check_keywords("append", options, tuple(AppendOptions.__annotations__))
        appended: Dataset = ports.WRITE.load()(
            data, self, mode="append", schema=schema, merge_schema=merge_schema, **options
        )
        return appended

    def delete(self, where: Filter, **options: Unpack[CommitOptions]) -> Dataset:
        """Deletes rows. Every change applies to the newest version of the branch, whichever version this handle reads,
        and returns a handle on the version that it made, or on the newest one if nothing changes.

        where: as the filter of `scan`; "true" for all rows
        options: of every change: `properties` are stored with the transaction, `job` names the job that the commit is a
            part of, and `progress` is called with the number of rows done and their total for each step
        raises: as `scan`; CommitConflict when other writers keep changing the same rows

        >>> orders.delete("status = 'cancelled'").version
        2
        """
        return self._change("delete", options, statements.delete.delete, where)

    def update(
        self, values: Mapping[str, Any], where: Filter | None = None, **options: Unpack[CommitOptions]
    ) -> Dataset:
        """Sets columns in the rows that pass the filter. The rows keep their ids.

        where: as the filter of `scan`; "true" for all rows
        values: new values by column: text is an SQL expression in DuckDB's dialect, an Arrow expression is one, any
            other value is a constant. Expressions see the row before the update, and no other row
        raises: as `delete`; InvalidArgument for values that the column type cannot hold, and without a filter

        >>> orders.update({"amount": "amount + 1"}, "status = 'open'").version
        2
        """
        return self._change("update", options, statements.update.update, values, where)

    def merge(
        self,
        source: object,
        on: str | Sequence[str] | None = None,
        *,
        when_matched: statements.merge.WhenMatched = "update",
        when_not_matched: statements.merge.WhenNotMatched = "insert",
        delete_unmatched: bool | str = False,
        unique: bool = False,
        **options: Unpack[CommitOptions],
    ) -> Dataset:
        """Merges rows by their keys, as an upsert by default. Matched rows keep their ids. Rows that already have the
        values of the source are not rewritten.

        source: rows, as for `lance_sql.write`, with some or all of the columns; columns that it lacks keep their
            values in matched rows and are NULL in inserted ones
        on: key columns; defaults to the table's unenforced primary key. NULL matches nothing
        when_matched: "update" the row, "delete" it, "keep" it as it is, or "fail"
        when_not_matched: "insert" the row or "ignore" it; rows of the source with equal keys are all inserted
        delete_unmatched: delete rows of the table that no row of the source matches, all or those that pass a filter
        unique: refuse keys of the source that occur twice, in the source or in the table, including rows that other
            writers insert concurrently
        raises: InvalidArgument for rows that do not fit, when two rows of the source match one row, and for keys that
            `unique` refuses; CommitConflict

        >>> orders.merge({"id": [1, 2], "status": ["paid", "open"]}, on="id", when_not_matched="ignore").version
        2
        """
        return self._change(
            "merge",
            options,
            statements.merge.merge,
            source,
            [on] if isinstance(on, str) else on,
            when_matched=when_matched,
            when_not_matched=when_not_matched,
            delete_unmatched=delete_unmatched,
            unique=unique,
        )

    def add_columns(
        self, columns: Mapping[str, Any] | pa.Schema | Sequence[pa.Field], **options: Unpack[CommitOptions]
    ) -> Dataset:
        """Adds columns after the existing ones.

        columns: values by name, as for `update`, which updates every row; or Arrow fields, for columns of NULLs
        raises: InvalidArgument for names that are taken; CommitConflict
        """
        return self._change("add_columns", options, statements.column_changes.add, columns)

    def drop_columns(self, names: str | Sequence[str], **options: Unpack[CommitOptions]) -> Dataset:
        """Drops columns; `a.b` is a member of a struct. No data file is rewritten.

        raises: ColumnNotFound; InvalidArgument when nothing would be left
        """
        return self._change(
            "drop_columns", options, statements.column_changes.drop, [names] if isinstance(names, str) else names
        )

    def rename_columns(self, names: Mapping[str, str], **options: Unpack[CommitOptions]) -> Dataset:
        """Renames columns, old names to new ones; `a.b` is a member of a struct, whose new name has no dot.

        raises: ColumnNotFound; InvalidArgument for names that are taken
        """
        return self._change("rename_columns", options, statements.column_changes.rename, names)

    def alter_column(
        self,
        name: str,
        *,
        type: pa.DataType | None = None,
        nullable: bool | None = None,
        **options: Unpack[CommitOptions],
    ) -> Dataset:
        """Changes a column's type, which updates every row, or whether it may be NULL.

        raises: ColumnNotFound; InvalidArgument for values that do not fit the type, and for NULLs
        """
        return self._change(
            "alter_column", options, statements.column_changes.alter, name, type=type, nullable=nullable
        )

    def restore(self, version: VersionLike | None = None, **options: Unpack[CommitOptions]) -> Dataset:
        """Makes an earlier version the newest one again. The versions between stay as they are.

        If the newest version is damaged, a warning is logged, and ids that it may have assigned are not reused.

        version: a number, tag or time, as for `open`; defaults to that of this handle
        raises: VersionNotFound, CommitConflict; CorruptFile for a damaged version
        """
        return self._change(
            "restore", options, statements.maintenance.restore, self.version if version is None else version
        )

    def _change(
        self, operation: str, options: CommitOptions, commit: Callable[..., Snapshot], /, *arguments: Any, **chosen: Any
    ) -> Dataset:
        """Commits a change; see `commit_options.changed`."""
        from lance_sql.writes.commit_options import changed

        return Dataset(changed(self.snapshot, operation, options, commit, *arguments, **chosen))

    def __eq__(self, other: object) -> bool:
        """Whether both are handles on the same version of the same table, however each was opened."""
        if not isinstance(other, Dataset):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        # a table that was dropped and created again has other commits
        return canonical_location(self.snapshot.store), self.snapshot.commit_id

    def __reduce__(self) -> tuple[type[Dataset], tuple[Snapshot]]:
        return Dataset, (self.snapshot,)

    def _repr_html_(self) -> str | None:
        from lance_sql.values import html

        manifest = self.snapshot.manifest
        return html.part(
            "dataset_part",
            name=self.snapshot.label,
            uri=self.uri,
            rows=self.count_rows(),
            fragments=len(manifest.fragments),
            timestamp=manifest.timestamp,
            schema=self.schema,
        )

    def __repr__(self) -> str:
        branch = "" if self.branch is None else f", branch={self.branch!r}"
        return f"lance_sql.Dataset({shown(self.uri)!r}, version={self.version}{branch})"
