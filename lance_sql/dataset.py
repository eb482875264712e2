"""The handle on one version of a table.

Modules that only changes need are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

import pyarrow as pa

from lance_sql import changes
from lance_sql.reads.arrow_dataset import IGNORED_KEYWORDS, ArrowDataset
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.take import row_id_array, take
from lance_sql.runtime.progress import Progress, reporting
from lance_sql.store.canonical import canonical_location
from lance_sql.table.commit_summary import CommitSummary, from_properties
from lance_sql.table.fragment import MAX_ROWS_PER_FILE
from lance_sql.table.indices import IndexSummary, summaries
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionInfo, VersionLike
from lance_sql.values.arguments import check_number, column_names
from lance_sql.values.guessed_names import OF_DATASET
from lance_sql.values.keywords import check_keywords
from lance_sql.values.local_paths import place_text, shown
from lance_sql.values.records import NamedRecords, Records
from lance_sql.writes import statements

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_sql.changes.answer_scan import AnswerScan
    from lance_sql.changes.bounds import Bound
    from lance_sql.changes.contracts import ContractReport, Rule, Severity
    from lance_sql.changes.cursors import Cursor
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.changes.plan import Mode
    from lance_sql.changes.publishing import Publication
    from lance_sql.changes.row_history import RowHistory
    from lance_sql.changes.version_history import History
    from lance_sql.reads.mem_wal import FreshRows, FreshScan
    from lance_sql.reads.scan.column_statistics import ColumnStatistics
    from lance_sql.reads.search import Nearest, Ranker, SearchOptions, SearchRows, SearchScan, Words
    from lance_sql.table.cursor_files import CursorRecord
    from lance_sql.writes.commit import cleanup as cleaning
    from lance_sql.writes.commit_options import CommitOptions
    from lance_sql.writes.physical_layout import Layout
    from lance_sql.writes.statements.maintaining import Maintenance, MaintenanceOptions

Filter: TypeAlias = "str | pc.Expression | Predicate"
"""Condition on rows: SQL text, an Arrow expression or a predicate, over columns and system columns."""


class Dataset(ArrowDataset):
    """One version of a table. Immutable, thread-safe, picklable. A newer version needs a new handle.

    Engines that accept a `pyarrow.dataset.Dataset` accept it unchanged.

    >>> orders = lance_sql.open("examples/orders.lance")
    >>> orders.scan(["id", "_row_created_at_version"], "status = 'open'").to_table().column_names
    ['id', '_row_created_at_version']
    """

    guessed_names = OF_DATASET

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot

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
    def schema(self) -> pa.Schema:
        """The columns of the table, without system columns."""
        return self.snapshot.manifest.schema.arrow

    @property
    def system_columns(self) -> tuple[str, ...]:
        """The system columns that a scan can read. The version columns need stable row ids."""
        return system_columns.available(stable_row_ids=self.snapshot.manifest.has_stable_row_ids)

    @cached_property
    def compact_types(self) -> Mapping[str, pa.DataType]:
        """Smaller types for some columns, for `Scan.with_types`: dictionaries of strings, 64-bit decimals."""
        return compact_types(self.snapshot)

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

    def layout(self, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1) -> Layout:
        """Returns the fragments with their rows, deleted rows, files, bytes and age, and those to compact.

        target_rows, max_deleted_share: as for `compact`
        """
        from lance_sql.writes.physical_layout import layout

        return layout(self.snapshot, target_rows=target_rows, max_deleted_share=max_deleted_share)

    def tags(self) -> dict[str, Ref]:
        """Returns the tags of the table as of now, by name."""
        return NamedRecords(self.snapshot.tags())

    def branches(self) -> dict[str, Ref]:
        """Returns the branches of the table as of now, by name, without main."""
        return NamedRecords(self.snapshot.branches())

    def count_rows(self, filter: Filter | None = None, **options: Any) -> int:
        """Counts the rows that pass the filter. Reads no page without a filter, or with one on row lineage.

        raises: as `scan`
        """
        check_keywords("count_rows", options, ("filter",), also=IGNORED_KEYWORDS)
        if filter is None:
            return Candidates.all_of(self.snapshot).num_rows
        return self.scan([], filter).count_rows()

    @overload
    def scan(
        self,
        columns: Sequence[str] | None = ...,
        filter: Filter | None = ...,
        *,
        limit: int | None = ...,
        batch_size: int | None = ...,
        fresh: Literal[False] = ...,
    ) -> Scan: ...

    @overload
    def scan(
        self,
        columns: Sequence[str] | None = ...,
        filter: Filter | None = ...,
        *,
        limit: int | None = ...,
        batch_size: int | None = ...,
        fresh: bool,
    ) -> Scan | FreshScan: ...

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
        fresh: bool = False,
    ) -> Scan | FreshScan:
        """Returns a lazy scan of columns and rows. It reads nothing before its result is requested.

        columns: names, `a.b` for a member of a struct; system columns may be among them. Defaults to all columns of
            the table; an empty list leaves row counts
        filter: SQL text, an Arrow expression or a predicate, over the table's columns and system columns. It has SQL's
            meaning however it is written: NULL is unknown, NaN is equal to itself and the greatest number
        limit: maximum number of rows
        batch_size: maximum number of rows in a batch
        fresh: include rows of the table's write-ahead log, as `fresh_rows` does
        raises: ColumnNotFound; InvalidArgument for a filter that does not fit the types; UnsupportedFeature for
            SQL that a filter cannot have; as `fresh_rows`
        """
        check_number("limit", limit, least=0)
        check_number("batch_size", batch_size, least=1)
        if fresh:
            return self.fresh_rows().scan(column_names(columns), filter, limit=limit, batch_size=batch_size)
        chosen = resolve(self.snapshot, column_names(columns))
        return Scan(self.snapshot, chosen, to_predicate(self.snapshot, filter), limit, batch_size)

    def search(
        self,
        *queries: Nearest | Words | Any,
        k: int | None = 10,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        since: Bound | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchScan:
        """Searches by vector, by words, or both, and returns the best rows first. The result has `_distance` for
        vectors, `_score` for words, and `_hybrid_score` for both. Reads nothing before its result is requested.

        queries: a vector, or values of `lance_sql.nearest` and `lance_sql.words`
        k: maximum number of rows for each query; None for all
        columns: in the order wanted, `_distance` comes last; all columns of the table by default
        filter: as for `scan`, applied before ranking
        since: only rows that were inserted or updated after this version, tag or time
        options: the arguments of the queries, instead of values: `vector`, `column`, `metric`, `nprobes`,
            `refine_factor` and `distance_range` of `nearest`, `text` and `text_column` of `words`, `use_index` and
            `fast_search` of both. For a search by both: `alpha`, the weight of the distance, of 1; `oversample_factor`,
            to fetch this many times k candidates of each side; `fusion`: "linear" combines normalized distances and
            scores, "rrf" combines ranks
        raises: InvalidArgument for a query that does not fit the column; ColumnNotFound; UnsupportedFeature for
            a column of other values; as `scan`

        >>> import numpy as np, os, pyarrow as pa, tempfile
        >>> table = pa.table({"id": [1, 2, 3], "v": pa.FixedSizeListArray.from_arrays(np.arange(6.0), 2)})
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.lance")
        >>> lance_sql.write(table, path).search([2, 3], k=2).to_table().to_pydict()["_distance"]
        [0.0, 8.0]
        """
        from lance_sql.reads.search import search_request

        request = search_request("search", queries, k, options)
        rows = self.search_rows(request.over(self.snapshot), filter, since=since)
        names = column_names(columns)
        return rows.scan(None if names is None else rows.with_numbers(names))

    def search_rows(
        self, query: Ranker, filter: Filter | None = None, *, since: Bound | None = None, prefilter: bool = False
    ) -> SearchRows:
        """Returns the result of a search as a relation for engines; see `search`.

        prefilter: apply conditions of its scans before ranking
        """
        from lance_sql.reads.search.search_rows import search_rows

        first = None if since is None else changes.bounds.first_after(self.snapshot, since)
        return search_rows(self.snapshot, query, filter, updated_from=first, prefilter=prefilter)

    def search_changes(
        self,
        *queries: Nearest | Words | Any,
        since: Bound | None,
        k: int | None = 10,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        **options: Unpack[SearchOptions],
    ) -> AnswerScan:
        """Compares the results of `search` in another version and in this one. Returns rows that are new in the
        result, changed, or gone from it, each with its distance or score before and now.

        `_change` is "new", "changed" or "gone". `_row_change` is the change of the row itself: "insert", "update",
        "delete", or NULL if its rank changed because of other rows. Values are those of this version, and of the other
        version for rows that are gone.

        since: the version, tag or time to compare with
        queries, k, columns, filter, options: as for `search`, applied to both versions; one query at a time. Vectors
            are compared exactly unless `use_index` is true, so that no row is reported that an index merely missed in
            one of the versions
        raises: as `search`, `changes` and opening the version

        >>> import numpy as np, os, pyarrow as pa, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "texts.lance")
        >>> texts = lance_sql.write({"id": [1, 2], "body": ["a fox", "a dog"]}, path)
        >>> changes = texts.update({"body": "'two foxes, a fox'"}, "id = 2").search_changes(text="fox", since=1)
        >>> changes.to_table().select(["id", "_change", "_row_change"]).to_pylist()
        [{'id': 2, '_change': 'new', '_row_change': 'update'}]
        """
        from lance_sql.reads.search import search_request

        request = search_request("search_changes", queries, k, options, use_index=False)
        result = changes.answers.answer_changes(self.snapshot, request.over, since, filter)
        names = column_names(columns)
        return result.scan(None if names is None else result.with_numbers(names))

    def fresh_rows(self) -> FreshRows:
        """Returns the rows of this version merged with the table's write-ahead log, by primary key, without row ids.

        raises: InvalidArgument for a version that is not the newest one; CorruptFile; UnsupportedFeature
        """
        from lance_sql.reads.mem_wal import open_fresh_rows

        return open_fresh_rows(self.snapshot)

    @property
    def num_rows_in_log(self) -> int:
        """Number of rows in the table's write-ahead log, inserted or deleted, that are in no version yet.

        raises: CorruptFile, UnsupportedFeature
        """
        from lance_sql.reads import write_ahead_log

        log = write_ahead_log.read(self.snapshot)
        return 0 if log is None else log.num_rows

    def take(
        self, row_ids: Iterable[int] | pa.Array | pa.ChunkedArray, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Returns the rows with these `_rowid`s, in the given order.

        raises: InvalidArgument for an id that no live row of this version has; ColumnNotFound
        """
        return take(self.snapshot, resolve(self.snapshot, column_names(columns)), row_id_array(row_ids))

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

    def rules(self) -> dict[str, Rule]:
        """Returns the data quality rules of the table, by name.

        raises: CorruptFile for a rule that no longer fits the columns
        """
        return NamedRecords(changes.contracts.read_rules(self.snapshot))

    def set_rule(
        self,
        name: str,
        rule: str,
        *,
        severity: Severity = "error",
        enforce: bool = False,
        **options: Unpack[CommitOptions],
    ) -> Dataset:
        """Adds a data quality rule to the table, or replaces it. `check` evaluates it, and `publish` before it commits.

        rule: `unique(id, day)`, `not_null(id)`, `accepted_values(status, 'open', 'paid')`,
            `foreign_key(customer, 'customers.lance', id)`, `freshness(loaded_at, '1d')`, `row_count_change(-0.1,
            0.5)`, or a condition in SQL that no row breaks
        severity: "error", or "warn" for a rule that does not stop a publication
        enforce: commits of this library that would break the rule raise ContractBroken; existing rows are not checked
        raises: InvalidArgument for a rule that does not fit the table; ColumnNotFound; UnsupportedFeature for
            SQL that a filter cannot have; CommitConflict

        >>> table = orders.set_rule("sane-amounts", "amount >= 0").set_rule("ids", "unique(id)")
        >>> table.check().is_kept
        True
        """
        return self._change("set_rule", options, changes.contracts.set_rule, name, rule, severity, enforce)

    def drop_rule(self, name: str, **options: Unpack[CommitOptions]) -> Dataset:
        """Removes a rule.

        raises: VersionNotFound if no rule has this name; CommitConflict
        """
        return self._change("drop_rule", options, changes.contracts.drop_rule, name)

    def check(self, rules: str | Sequence[str] | None = None, *, since: Bound | None = None) -> ContractReport:
        """Checks the rows of this version against the table's data quality rules.

        rules: names of the rules to check; all by default
        since: a version, tag or time: check only rows that changed after it, if a rule allows that
        returns: the broken rules, with rows that break them; they raise no error
        raises: InvalidArgument for unknown rules; as `changes`
        """
        return changes.contracts.check(self.snapshot, since, [rules] if isinstance(rules, str) else rules)

    def cursor(self, name: str, start: Bound = "earliest", *, key: str | Sequence[str] | None = None) -> Cursor:
        """Opens a cursor: a named, durable position in the change feed of this branch. A job that reads from it
        continues where its last run stopped. Creates the cursor if it does not exist.

        name: follows the rules of tag names
        start: where the first run of a new cursor begins: "earliest", with the first version; "latest", with later
            commits only; "snapshot", with all rows of the newest version as inserts; or a version, a tag or a
            time, which belong to the range. If the first versions were cleaned up, "earliest" takes all rows of the
            oldest version after which all changes are known. Ignored for an existing cursor
        key: columns that identify rows, as for `changes`; for tables without stable row ids and primary key
        raises: InvalidArgument for an invalid name, and for a cursor of another branch; VersionNotFound

        >>> with orders.cursor("warehouse").read() as changes:
        ...     print(changes.count_rows() == orders.count_rows())
        True
        """
        return changes.cursors.open_cursor(self.snapshot, name, start, key)

    def cursors(self) -> dict[str, CursorRecord]:
        """Returns the positions of the cursors of all branches as of now, by name.

        raises: CorruptFile
        """
        from lance_sql.table import cursor_files

        return NamedRecords((record.name, record) for record in cursor_files.read_all(self.snapshot.main))

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

    def analyze(
        self, columns: Sequence[str] | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, tuple[int, int]]:
        """Computes min/max statistics of columns, so that later filters can prune pages. Scans learn them of columns
        that they filter. They last as long as the process, or longer in the folder of `open(.., statistics_cache=..)`.

        columns: names, or members of structs as "point.x"; defaults to all whose types have bounds
        returns: for each column the number of zones of 8,192 rows with statistics, and the total
        raises: ColumnNotFound; InvalidArgument for types without bounds, and with learn_statistics=False; CorruptFile;
            OSError if the statistics cannot be written to the folder

        >>> lance_sql.open("examples/orders.lance").analyze(["id"])
        {'id': (2, 2)}
        """
        from lance_sql.reads.scan.analyze import analyze

        return analyze(self.snapshot, columns, progress)

    def statistics(
        self, columns: Sequence[str] | None = None, *, analyze: bool = False
    ) -> tuple[ColumnStatistics, ...]:
        """Returns known statistics of columns without reading them: rows, bytes, NULLs, minimum, maximum and
        approximate number of distinct values, from earlier scans, indices and dictionaries. Unknown ones are None.

        analyze: compute unknown statistics first, by reading the columns
        raises: ColumnNotFound; CorruptFile

        >>> (id,) = lance_sql.open("examples/orders.lance").statistics(["id"], analyze=True)
        >>> id.num_rows, id.num_nulls, id.smallest, id.largest, id.is_exact
        (370, 0, 1, 420, True)
        """
        from lance_sql.reads.scan.column_statistics import column_statistics

        return Records(column_statistics(self.snapshot, columns, reads_values=analyze))

    def indices(self) -> tuple[IndexSummary, ...]:
        """Returns the secondary indices of this version, with their columns and the fragments that they cover."""
        return Records(summaries(self.snapshot))

    def create_index(
        self,
        column: str,
        kind: str,
        *,
        name: str | None = None,
        replace: bool = False,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
        job: str | None = None,
        **options: Any,
    ) -> Dataset:
        """Builds an index over the newest version. Filters or searches of this library and of pylance use it.

        kind: "zonemap" for clustered columns, "btree" for many distinct values, "bitmap" for few,
            "bloomfilter" for `=` and `IN` alone; "ivf_pq", "ivf_sq", "ivf_rq" or "ivf_flat" for vectors, "inverted"
            for words
        name: defaults to `<column>_idx`
        replace: replace an index of that name, instead of raising an error
        progress, properties, job: as for every change
        options: for vectors `metric`, `num_partitions`, for "ivf_pq" `num_sub_vectors` and `num_bits`, for "ivf_rq"
            `num_bits`; for words `with_position`, `language`, `stem`, `base_tokenizer` and others, see docs/search.md
        raises: ColumnNotFound; InvalidArgument; UnsupportedFeature for a column type that the kind does not support

        >>> orders.create_index("status", "bitmap").indices()[0].kind
        'bitmap'
        """
        commit: CommitOptions = {"progress": progress, "properties": properties, "job": job}
        return self._change(
            "create_index",
            commit,
            statements.indices.create,
            column,
            kind,
            name=name,
            replace_existing=replace,
            options=options,
        )

    def drop_index(self, name: str, **options: Unpack[CommitOptions]) -> Dataset:
        """Drops an index.

        raises: InvalidArgument if no index has this name
        """
        return self._change("drop_index", options, statements.indices.drop, name)

    def optimize_indices(
        self, names: str | Sequence[str] | None = None, *, rebuild: bool = False, **options: Unpack[CommitOptions]
    ) -> Dataset:
        """Extends indices to the fragments that were added since they were built.

        names: of indices; defaults to all that can be built
        rebuild: rebuild each index over all rows, as one segment
        raises: InvalidArgument; UnsupportedFeature for a named index of another kind
        """
        chosen = [names] if isinstance(names, str) else names
        return self._change("optimize_indices", options, statements.indices.optimize, chosen, rebuild=rebuild)

    def compact(
        self,
        *,
        target_rows: int = MAX_ROWS_PER_FILE,
        max_deleted_share: float = 0.1,
        indices: statements.compact.IndexChoice = "update",
        **options: Unpack[CommitOptions],
    ) -> Dataset:
        """Rewrites short fragments, and those with many deleted rows, into fewer ones. No row's id or versions change.

        target_rows, max_deleted_share: join fragments with fewer rows, and rewrite those with more deleted ones
        indices: scalar indices that refer to rows by address, as all do on a table without stable row ids, do not cover
            the new fragments: "update" adds these, "keep" leaves that to `optimize_indices`, "drop" drops such indices.
            Indices of other kinds stay as they are, and engines scan the fragments that these do not cover
        raises: UnsupportedFeature for unknown kinds of indices; CommitConflict
        """
        return self._change(
            "compact",
            options,
            statements.compact.compact,
            target_rows=target_rows,
            max_deleted_share=max_deleted_share,
            indices=indices,
        )

    def maintain(self, *, dry_run: bool = False, **options: Unpack[MaintenanceOptions]) -> Maintenance:
        """Runs `compact`, `optimize_indices` and `cleanup` on this branch, by the policy in the table's config. Safe
        beside other writers: a step that loses against one changes nothing, and the others still run.

        dry_run: change nothing, and return the plan
        options: `target_rows`, `max_deleted_share`, `older_than`, `retain_versions` and `max_lag` of `compact` and
            `cleanup`, instead of the keys `lance_sql.maintain.<name>` of the config; and the options of every change
        returns: what each step did or would do; `has_conflicts` if a step lost
        raises: InvalidArgument for an invalid policy; as the verbs, except CommitConflict

        >>> table = orders.update_config({"lance_sql.maintain.older_than": "30d"}).delete("status = 'paid'")
        >>> [(step.name, step.outcome) for step in table.maintain().steps]
        [('compact', 'done'), ('optimize_indices', 'nothing to do'), ('cleanup', 'nothing to do')]
        """
        return statements.maintaining.maintain(self.snapshot, options, dry_run=dry_run)

    def plan_compaction(
        self, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1
    ) -> list[statements.compact.Group]:
        """Returns the groups of fragments that `compact` would rewrite, without changing anything.

        raises: as `compact`
        """
        return statements.compact.plan(
            self.snapshot.latest(), target_rows=target_rows, max_deleted_share=max_deleted_share
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

    def update_config(self, values: Mapping[str, str | None], **options: Unpack[CommitOptions]) -> Dataset:
        """Sets keys of the table's config; None removes one.

        raises: CommitConflict when another writer has set one of the keys
        """
        return self._change("update_config", options, statements.maintenance.update_config, values)

    def update_field_metadata(
        self, column: str, values: Mapping[str, str | None], **options: Unpack[CommitOptions]
    ) -> Dataset:
        """Sets keys of the metadata of a column, such as its `comment`; None removes one.

        column: `a.b` is a member of a struct
        raises: ColumnNotFound; CommitConflict when another writer has changed the metadata
        """
        return self._change(
            "update_field_metadata", options, statements.maintenance.update_field_metadata, column, values
        )

    def enable_stable_row_ids(
        self, *, indices: statements.row_ids.Indices = "keep", **options: Unpack[CommitOptions]
    ) -> Dataset:
        """Gives stable row ids to a table that was created without them, so that row history is recorded from now on,
        and `changes` works without a key. No data file is read or written.

        Every row keeps its `_rowid`, and counts as inserted by this version. Earlier versions stay as they are.

        indices: "keep" the existing ones, whose entries stay valid, or "drop" them
        raises: InvalidArgument for a table that has stable row ids, and for indices that cannot be kept; CommitConflict

        >>> old = lance_sql.write({"id": [1, 2]}, path, stable_row_ids=False)
        >>> old.enable_stable_row_ids().delete("id = 1").changes(since=2).count_rows()
        1
        """
        return self._change("enable_stable_row_ids", options, statements.row_ids.enable, indices=indices)

    def create_tag(self, name: str, version: VersionLike | None = None) -> None:
        """Names a version of this branch. A tagged version is not cleaned up.

        version: defaults to that of this handle
        raises: VersionNotFound; TagExists; InvalidArgument for an invalid name

        >>> orders.create_tag("audited")
        >>> lance_sql.open(orders.uri, tag="audited").version
        1
        """
        statements.maintenance.create_tag(self.snapshot, name, self.version if version is None else version)

    def move_tag(self, name: str, version: VersionLike | None = None) -> None:
        """Moves a tag to another version of this branch, by default to that of this handle.

        raises: VersionNotFound
        """
        statements.maintenance.move_tag(self.snapshot, name, self.version if version is None else version)

    def delete_tag(self, name: str) -> None:
        """Removes a tag; its version stays.

        raises: VersionNotFound if the tag does not exist
        """
        statements.maintenance.delete_tag(self.snapshot, name)

    def create_branch(self, name: str) -> Dataset:
        """Creates a branch that begins with this version, and returns a handle on it. No file is copied.

        raises: BranchExists; InvalidArgument for an invalid name
        """
        return Dataset(statements.maintenance.create_branch(self.snapshot, name))

    @contextmanager
    def staged(self, name: str) -> Iterator[Dataset]:
        """Creates a staging branch for a job, from the newest version of this branch. `lance_sql.write`, the verbs and
        Spark accept the handle. The branch remains after the block for checks and `publish`, even after an error.

        raises: BranchExists; InvalidArgument for an invalid name

        >>> with orders.staged("load-2026-11-24") as branch:
        ...     _ = branch.delete("status = 'cancelled'")
        >>> orders.publish("load-2026-11-24").last_change.rows_deleted
        18
        """
        yield self.latest().create_branch(name)

    def plan_publish(self, name: str, *, key: str | Sequence[str] | None = None) -> Publication:
        """Previews `publish`: rows inserted, updated and deleted, and the rows that both branches have changed.

        raises: as `publish`, but for conflicts
        """
        return changes.publishing.plan(self.snapshot, name, key)

    def publish(
        self, name: str, *, key: str | Sequence[str] | None = None, keep: bool = False, **options: Unpack[CommitOptions]
    ) -> Dataset:
        """Commits the changes of a branch to this one, where it began, as one version. Updated rows keep their ids.
        Commits made here since then remain. A row that both branches have changed is a conflict.

        key: columns that identify rows: a key that both branches have assigned to different rows is a conflict as well.
            Defaults to the primary key
        keep: keep the branch, which is removed otherwise
        raises: ContractBroken if rows of the branch break a rule of this one; VersionNotFound if there is no
            such branch; CommitConflict, and nothing is published, with the rows of `plan_publish`;
            InvalidArgument for a branch that began elsewhere, and for a table without stable row ids;
            UnsupportedFeature if the branch has other columns
        """
        return self._change("publish", options, changes.publishing.publish, name, key=key, keep=keep)

    def delete_branch(self, name: str) -> None:
        """Removes a branch and the files written to it.

        raises: VersionNotFound; InvalidArgument if a tag or another branch begins there
        """
        from lance_sql.writes.commit import clones

        clones.delete_branch(self.snapshot, name)

    def shallow_clone(self, uri: str | os.PathLike[str]) -> Dataset:
        """Creates a separate table that begins with this version. No file is copied: the clone needs the files of this
        table, and a cleanup of this table ignores the clone.

        raises: TableExists
        """
        from lance_sql.writes.commit import clones

        return Dataset(clones.shallow_clone(self.snapshot, place_text(uri)))

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
            return cleaning.cleanup(self.snapshot, older_than, retain_versions, max_lag, dry_run=dry_run)

    def _change(
        self, method: str, options: CommitOptions, commit: Callable[..., Snapshot], /, *arguments: Any, **chosen: Any
    ) -> Dataset:
        """Commits a change. Returns the handle on the version after it: the one that it made, or the existing one if it
        made none.

        commit: called with the snapshot, the other arguments, and the properties of the options
        """
        from lance_sql.writes.commit_options import committing

        with committing(method, options) as properties:
            snapshot = commit(self.snapshot, *arguments, properties=properties, **chosen)
        if snapshot is self.snapshot or snapshot.commit_properties is None:
            snapshot = snapshot.with_commit(CommitSummary(method, 0, 0, 0, 0, 0).to_properties())
        return Dataset(snapshot)

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
