"""The handle on one version of a table, and functions that open it.

Modules that only changes need are imported on first use, so that a process that only reads starts sooner.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from operator import index
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import pyarrow as pa

from lance_sql.errors import InvalidArgument, TableNotFound, VersionNotFound
from lance_sql.format.file.learned import Learning
from lance_sql.reads.arrow_dataset import ArrowDataset, check_keywords, column_names
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.reads.scan.filters import to_predicate
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.take import take
from lance_sql.runtime.progress import Progress, reporting
from lance_sql.store.allowed_bases import with_allowed
from lance_sql.store.canonical import canonical_location
from lance_sql.store.manifest_store import ManifestStore
from lance_sql.store.open import with_cache_folder, with_manifest_store
from lance_sql.table.commit_summary import CommitSummary, from_properties
from lance_sql.table.fragment import MAX_ROWS_PER_FILE
from lance_sql.table.index_summaries import IndexSummary, summaries
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import split_name
from lance_sql.table.versions import VersionInfo
from lance_sql.values.arrays import U64
from lance_sql.values.durations import parse_age
from lance_sql.values.local_paths import shown

_LOG: Final = logging.getLogger("lance_sql")

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
    from lance_sql.reads.search import Ranker, SearchRows, SearchScan
    from lance_sql.table.cursor_files import CursorRecord
    from lance_sql.writes.commit import cleanup as cleaning
    from lance_sql.writes.physical_layout import Layout
    from lance_sql.writes.statements import compact as compacting
    from lance_sql.writes.statements import merge as merging
    from lance_sql.writes.statements import row_ids as enabling


class Dataset(ArrowDataset):
    """One version of a table. Immutable, thread-safe, picklable. A newer version needs a new handle.

    Engines that accept a `pyarrow.dataset.Dataset` accept it unchanged.

    >>> orders = lance_sql.open("examples/orders.lance")
    >>> orders.scan(["id", "_row_created_at_version"], "status = 'open'").to_table().column_names
    ['id', '_row_created_at_version']
    """

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
        """Summary of the change that returned this handle: `operation`, `rows_inserted`, `rows_updated`,
        `rows_deleted`, `files_written`, `bytes_written` and `duration_ms`. A merge adds `rows_equal`, the matched rows
        that already had its values. All are zero if the change made no version. None if no change returned the handle,
        as after `open`. `history` returns the summaries of all versions.

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
        latest = self.snapshot.latest()
        return self if latest is self.snapshot else Dataset(latest)

    def versions(self) -> tuple[VersionInfo, ...]:
        """Returns all versions that can be opened as of now, ascending."""
        return self.snapshot.versions()

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
        returns: a tuple, with `to_html()`
        raises: InvalidArgument for text that is not a time

        >>> orders.delete("status = 'cancelled'").history()[-1].operation
        'delete'
        """
        from lance_sql.changes.version_history import history

        _check_positive("limit", limit, least=0)
        return history(self.snapshot, limit, since=since, job=job)

    def layout(self, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1) -> Layout:
        """Returns the fragments with their rows, deleted rows, files, bytes and age, and why a compaction would rewrite
        each. Reads no page.

        target_rows, max_deleted_share: as for `compact`
        returns: a value with `to_html()`
        """
        from lance_sql.writes.physical_layout import layout

        _check_positive("target_rows", target_rows, least=1)
        return layout(self.snapshot, target_rows=target_rows, max_deleted_share=max_deleted_share)

    def tags(self) -> dict[str, Ref]:
        """Returns the tags of the table as of now, by name."""
        return self.snapshot.tags()

    def branches(self) -> dict[str, Ref]:
        """Returns the branches of the table as of now, by name, without main."""
        return self.snapshot.branches()

    def count_rows(self, filter: str | pc.Expression | Predicate | None = None, **options: Any) -> int:
        """Counts the rows that pass the filter. Reads no page without a filter, or with one on row lineage.

        raises: as `scan`
        """
        check_keywords("count_rows", options, ("filter",), also=("batch_size",))
        if filter is None:
            return Candidates.all_of(self.snapshot).num_rows
        return self.scan([], filter).count_rows()

    @overload
    def scan(
        self,
        columns: Sequence[str] | None = ...,
        filter: str | pc.Expression | Predicate | None = ...,
        *,
        limit: int | None = ...,
        batch_size: int | None = ...,
        fresh: Literal[False] = ...,
    ) -> Scan: ...

    @overload
    def scan(
        self,
        columns: Sequence[str] | None = ...,
        filter: str | pc.Expression | Predicate | None = ...,
        *,
        limit: int | None = ...,
        batch_size: int | None = ...,
        fresh: bool,
    ) -> Scan | FreshScan: ...

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | pc.Expression | Predicate | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
        fresh: bool = False,
    ) -> Scan | FreshScan:
        """Returns a lazy scan of columns and rows. It reads nothing before its result is requested.

        columns: names in the order wanted; `a.b` is a member of a struct, and system columns may be among them.
            All columns of the table without it; none with an empty list, which leaves row counts
        filter: SQL text, an Arrow expression or a predicate, over the table's columns and system columns. It has SQL's
            meaning however it is written: NULL is unknown, NaN is equal to itself and the greatest number
        limit: maximum number of rows
        batch_size: maximum number of rows in a batch
        fresh: include rows of the table's write-ahead log, as `fresh_rows` does
        raises: ColumnNotFound; InvalidArgument for a filter that does not fit the types; UnsupportedFeature for
            SQL that a filter cannot have; as `fresh_rows`
        """
        _check_positive("limit", limit, least=0)
        _check_positive("batch_size", batch_size, least=1)
        if fresh:
            return self.fresh_rows().scan(column_names(columns), filter, limit=limit, batch_size=batch_size)
        chosen = resolve(self.snapshot, column_names(columns))
        return Scan(self.snapshot, chosen, to_predicate(self.snapshot, filter), limit, batch_size)

    def search(
        self,
        vector: Any = None,
        *,
        text: str | Mapping[str, Any] | None = None,
        column: str | None = None,
        text_column: str | None = None,
        k: int | None = 10,
        columns: Sequence[str] | None = None,
        filter: str | pc.Expression | Predicate | None = None,
        metric: str | None = None,
        nprobes: int | None = None,
        refine_factor: int | None = None,
        use_index: bool = True,
        fast_search: bool = False,
        distance_range: tuple[float | None, float | None] | None = None,
        since: Bound | None = None,
        alpha: float = 0.5,
        oversample_factor: int = 4,
        fusion: str = "linear",
    ) -> SearchScan:
        """Searches by vector, by words, or both, and returns the best rows first. The result has `_distance` for
        vectors, `_score` for words, and `_hybrid_score` for both. Reads nothing before its result is requested.

        vector: numbers, as many as the column's vectors have. A list of vectors runs one query for each, and the result
            begins with `query_index`; for a column with several vectors in a row it is one query
        text: words, of which rows contain any, or a query in the form of Lance's servers: `{"match": {"terms": "quick
            fox", "operator": "AND", "fuzziness": 1}}`, phrase, boolean, boost, multi_match
        text_column: column to search if the query does not name it; defaults to the only indexed one, or the only text
        column: column of vectors: fixed-size lists of float16, float32, float64 or uint8, or lists of them. Defaults to
            the table's only one
        k: maximum number of rows for each query; None for all
        columns: in the order wanted, `_distance` comes last; all columns of the table by default
        filter: as for `scan`, applied before ranking
        metric: "l2", which is squared, "cosine", as 1 - the cosine, or "dot", as 1 - the product; "hamming" for uint8,
            in bits. Defaults to the metric of the index, or "l2" without an index. Rows with a NULL vector or without a
            distance, such as vectors of zeros for "cosine", are left out. Rows with equal distances are sorted by
            row address
        nprobes: number of index partitions to search; defaults to a rule that `explain` names
        refine_factor: compare this many times k candidates of an index exactly
        use_index: if false, compare every row exactly
        fast_search: leave out rows that no index covers
        distance_range: minimum distance, inclusive, and maximum distance, exclusive
        since: only rows that were inserted or updated after this version, tag or time
        alpha, oversample_factor, fusion: for a search by vectors and words: the weight of the distance, of 1; fetch
            this many times k candidates of each side; "linear" combines normalized distances and scores, "rrf" combines
            ranks
        raises: InvalidArgument for a query that does not fit the column; ColumnNotFound; UnsupportedFeature for
            a column of other values; as `scan`

        >>> import numpy as np, os, pyarrow as pa, tempfile
        >>> table = pa.table({"id": [1, 2, 3], "v": pa.FixedSizeListArray.from_arrays(np.arange(6.0), 2)})
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.lance")
        >>> lance_sql.write(table, path).search([2, 3], k=2).to_table().to_pydict()["_distance"]
        [0.0, 8.0]
        """
        from lance_sql.reads.search import Asked

        asked = Asked(
            vector,
            text,
            column,
            text_column,
            k,
            metric,
            nprobes,
            refine_factor,
            distance_range,
            alpha,
            oversample_factor,
            fusion,
            fast_search=fast_search,
            scans_vectors=not use_index,
            scans_words=not use_index,
        )
        rows = self.search_rows(asked.over(self.snapshot), filter, since=since)
        names = column_names(columns)
        return rows.scan(None if names is None else rows.with_numbers(names))

    def search_rows(
        self,
        query: Ranker,
        filter: str | pc.Expression | Predicate | None = None,
        *,
        since: Bound | None = None,
        prefilter: bool = False,
    ) -> SearchRows:
        """Returns the result of a search as a relation for engines; see `search`.

        prefilter: apply conditions of its scans before ranking
        """
        from lance_sql.reads.search.search_rows import search_rows

        first = None
        if isinstance(since, int) and not isinstance(since, bool):
            first = since + 1
        elif since is not None:
            from lance_sql.changes.bounds import resolve as resolve_bounds
            from lance_sql.changes.history import History

            first, _ = resolve_bounds(History(self.snapshot), None, None, since)
        return search_rows(self.snapshot, query, filter, updated_from=first, prefilter=prefilter)

    def search_changes(
        self,
        vector: Any = None,
        *,
        since: Bound | None,
        text: str | Mapping[str, Any] | None = None,
        column: str | None = None,
        text_column: str | None = None,
        k: int | None = 10,
        columns: Sequence[str] | None = None,
        filter: str | pc.Expression | Predicate | None = None,
        metric: str | None = None,
        nprobes: int | None = None,
        refine_factor: int | None = None,
        use_index: bool = False,
        distance_range: tuple[float | None, float | None] | None = None,
        alpha: float = 0.5,
        oversample_factor: int = 4,
        fusion: str = "linear",
    ) -> AnswerScan:
        """Compares the results of `search` in another version and in this one. Returns rows that are new in the
        result, changed, or gone from it, each with its distance or score before and now.

        `_change` is "new", "changed" or "gone". `_row_change` is the change of the row itself, as in the change feed:
        "insert", "update" or "delete". It is NULL for an unchanged row whose rank changed because of other rows.
        Values are those of this version, and of the other version for rows that are gone.

        since: the version, tag or time to compare with
        use_index: search vectors by their index as well. The default is exact, so that it reports no row that an index
            merely missed in one of the versions
        vector, text, column, text_column, k, columns, filter, metric, nprobes, refine_factor, distance_range, alpha,
            oversample_factor, fusion: as for `search`, applied to both versions; one query at a time
        raises: as `search`, `changes` and opening the version

        >>> import numpy as np, os, pyarrow as pa, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "texts.lance")
        >>> texts = lance_sql.write({"id": [1, 2], "body": ["a fox", "a dog"]}, path)
        >>> changes = texts.update({"body": "'two foxes, a fox'"}, "id = 2").search_changes(text="fox", since=1)
        >>> changes.to_table().select(["id", "_change", "_row_change"]).to_pylist()
        [{'id': 2, '_change': 'new', '_row_change': 'update'}]
        """
        from lance_sql.changes.answers import answer_changes
        from lance_sql.reads.search import Asked

        asked = Asked(
            vector,
            text,
            column,
            text_column,
            k,
            metric,
            nprobes,
            refine_factor,
            distance_range,
            alpha,
            oversample_factor,
            fusion,
            scans_vectors=not use_index,
        )
        changes = answer_changes(self.snapshot, asked.over, since, filter)
        names = column_names(columns)
        return changes.scan(None if names is None else changes.with_numbers(names))

    def fresh_rows(self) -> FreshRows:
        """Returns the rows of this version merged with the table's write-ahead log: the last row of each primary key,
        or none if it was deleted. They have the table's columns, and no row ids.

        raises: InvalidArgument for a version that is not the newest one; CorruptFile; UnsupportedFeature
        """
        from lance_sql.reads.mem_wal import open_fresh_rows

        return open_fresh_rows(self.snapshot)

    @property
    def num_rows_in_log(self) -> int:
        """Number of rows inserted into the table's write-ahead log or deleted by it that are in no version yet. 0
        without such a log. Reads the log.

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
        return take(self.snapshot, resolve(self.snapshot, column_names(columns)), _row_ids(row_ids))

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
        returns: a relation with the columns of the version `end`, and with `_change_type`, `_commit_version`,
            `_commit_timestamp` and `_rowid`
        raises: VersionNotFound for a range whose versions were cleaned up; InvalidArgument for a table without stable
            row ids if no key is given; UnsupportedFeature for commits whose changes this release does not
            support; DamagedLineage, when the changes are read, if row ids contradict a commit of the range

        >>> orders.delete("status = 'cancelled'").changes(since=1).scan(["_change_type"]).to_table().num_rows > 0
        True
        """
        from lance_sql.changes.feed import ChangeFeed

        return ChangeFeed(
            self.snapshot,
            start,
            end,
            since=since,
            mode=mode,
            drop_unchanged=drop_unchanged,
            key=key,
            trust_snapshots=trust_snapshots,
        )

    def rules(self) -> dict[str, Rule]:
        """Returns the data quality rules of the table, by name.

        raises: CorruptFile for a rule that no longer fits the columns
        """
        from lance_sql.changes.contracts import read_rules

        return read_rules(self.snapshot)

    def set_rule(
        self,
        name: str,
        rule: str,
        *,
        severity: Severity = "error",
        enforce: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Adds a data quality rule to the table, or replaces the one with this name. The rule is stored with the table.
        `check` evaluates it, and so does `publish` before it commits.

        rule: `unique(id, day)`, `not_null(id)`, `accepted_values(status, 'open', 'paid')`,
            `foreign_key(customer, 'customers.lance', id)`, `freshness(loaded_at, '1d')`, `row_count_change(-0.1,
            0.5)`, or a condition in SQL that no row breaks
        severity: "error", or "warn" for a rule that does not stop a publication
        enforce: commits of this library that would break the rule raise ContractBroken; other writers ignore it.
            Existing rows are not checked
        raises: InvalidArgument for a rule that does not fit the table; ColumnNotFound; UnsupportedFeature for
            SQL that a filter cannot have; CommitConflict

        >>> table = orders.set_rule("sane-amounts", "amount >= 0").set_rule("ids", "unique(id)")
        >>> table.check().is_kept
        True
        """
        from lance_sql.changes.contracts import set_rule

        return self._after("set_rule", set_rule(self.snapshot, name, rule, severity, enforce, properties))

    def drop_rule(self, name: str, *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Removes a rule.

        raises: VersionNotFound if no rule has this name; CommitConflict
        """
        from lance_sql.changes.contracts import drop_rule

        return self._after("drop_rule", drop_rule(self.snapshot, name, properties))

    def check(self, rules: str | Sequence[str] | None = None, *, since: Bound | None = None) -> ContractReport:
        """Checks the rows of this version against the table's data quality rules.

        rules: names of the rules to check; all by default
        since: a version, tag or time: check only rows that changed after it, if a rule allows that
        returns: the broken rules, with rows that break them; they raise no error
        raises: InvalidArgument for unknown rules; as `changes`
        """
        from lance_sql.changes.contracts import check

        return check(self.snapshot, since, [rules] if isinstance(rules, str) else rules)

    def cursor(self, name: str, start: Bound = "earliest", *, key: str | Sequence[str] | None = None) -> Cursor:
        """Opens a cursor: a named, durable position in the change feed of this branch. A job that reads from it
        continues where its last run stopped. Creates the cursor if it does not exist.

        name: follows the rules of tag names
        start: where the first run of a new cursor begins: "earliest", with the first version; "latest", with later
            commits only; "snapshot", with all rows of the newest version as inserts; or a version, a tag or a
            time, which belong to the range. If the first versions were cleaned up, "earliest" takes all rows of the
            oldest version after which all changes are known. Ignored for an existing cursor
        key: columns that identify rows, as for `changes`; for tables without stable row ids and primary key
        raises: InvalidArgument for an invalid cursor name, for a cursor of another branch, and for a table
            without a change feed; VersionNotFound

        >>> with orders.cursor("warehouse").read() as changes:
        ...     print(changes.count_rows() == orders.count_rows())
        True
        """
        from lance_sql.changes.cursors import open_cursor

        return open_cursor(self.snapshot, name, start, key)

    def cursors(self) -> dict[str, CursorRecord]:
        """Returns the positions of the cursors of all branches as of now, by name.

        raises: CorruptFile
        """
        from lance_sql.table import cursor_files

        return {record.name: record for record in cursor_files.read_all(self.snapshot.main)}

    def row_history(self, start: Bound | None = None, end: Bound | None = None) -> RowHistory:
        """Returns all images that the rows had from `start` to `end`, with the versions and times of
        their validity: a slowly changing dimension of type 2.

        start, end: as for `changes`
        returns: a relation with the columns of the version `end`, and with `valid_from_version`, `valid_to_version`,
            `valid_from`, `valid_to`, `is_current` and `_rowid`
        raises: as `changes`

        >>> orders.delete("status = 'cancelled'").row_history().count_rows("is_current") < orders.count_rows()
        True
        """
        from lance_sql.changes.row_history import RowHistory

        return RowHistory(self.snapshot, start, end)

    def delete(
        self,
        where: str | pc.Expression | Predicate,
        *,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Deletes rows. Like every change it applies to the newest version of the branch, whichever version this handle
        reads, and returns a handle on the version that it made. If no row passes the filter, it makes no version and
        returns a handle on the newest one.

        where: as the filter of `scan`
        progress: called with the number of rows done and their total for each step, as in every long change
        properties: stored with the transaction, as in every change
        raises: as `scan`; CommitConflict when other writers keep changing the same rows

        >>> orders.delete("status = 'cancelled'").version
        2
        """
        from lance_sql.writes.statements import delete as deleting

        with reporting(progress):
            return self._after("delete", deleting.delete(self.snapshot, where, properties))

    def update(
        self,
        values: Mapping[str, Any],
        where: str | pc.Expression | Predicate | None = None,
        *,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Sets columns in the rows that pass the filter, or in all. The rows keep their ids. Makes no version if no row
        passes.

        values: new values by column: text is an SQL expression in DuckDB's dialect, an Arrow expression is one, any
            other value is a constant. Expressions see the row before the update, and no other row
        raises: as `delete`; InvalidArgument for values that the column type cannot hold

        >>> orders.update({"amount": "amount + 1"}, "status = 'open'").version
        2
        """
        from lance_sql.writes.statements import update as updating

        with reporting(progress):
            return self._after("update", updating.update(self.snapshot, values, where, properties))

    def merge(
        self,
        source: object,
        on: str | Sequence[str] | None = None,
        *,
        when_matched: merging.WhenMatched = "update",
        when_not_matched: merging.WhenNotMatched = "insert",
        delete_unmatched: bool | str = False,
        unique: bool = False,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Merges rows by their keys, as an upsert by default. Matched rows keep their ids. Rows that already have the
        values of the source are not rewritten. Makes no version if no row changes and none is new.

        source: rows, as for `lance_sql.write`, with some or all of the columns; columns that it lacks keep their
            values in matched rows and are NULL in inserted ones
        on: key columns; defaults to the table's unenforced primary key. NULL matches nothing
        when_matched: "update" the row, "delete" it, "keep" it as it is, or "fail"
        when_not_matched: "insert" the row or "ignore" it; rows of the source with equal keys are all inserted
        delete_unmatched: delete rows of the table that no row of the source matches: all of them, or those that pass a
            filter
        unique: refuse keys of the source that occur twice, in the source or in the table, including rows that other
            writers insert meanwhile
        raises: InvalidArgument for rows that do not fit, when two rows of the source match one row, and for keys that
            `unique` refuses; CommitConflict

        >>> orders.merge({"id": [1, 2], "status": ["paid", "open"]}, on="id", when_not_matched="ignore").version
        2
        """
        from lance_sql.writes.statements import merge as merging

        keys = [on] if isinstance(on, str) else on
        with reporting(progress):
            after = merging.merge(
                self.snapshot,
                source,
                keys,
                when_matched=when_matched,
                when_not_matched=when_not_matched,
                delete_unmatched=delete_unmatched,
                unique=unique,
                properties=properties,
            )
        return self._after("merge", after)

    def add_columns(
        self,
        columns: Mapping[str, Any] | pa.Schema | Sequence[pa.Field],
        *,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Adds columns after the existing ones.

        columns: values by name, as for `update`, which makes every row an updated one; or Arrow fields, whose columns
            are all NULL and change no row
        raises: InvalidArgument for names that are taken; CommitConflict
        """
        from lance_sql.writes.statements import column_changes as evolving

        with reporting(progress):
            return Dataset(evolving.add(self.snapshot, columns, properties))

    def drop_columns(self, names: str | Sequence[str], *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Drops columns; `a.b` is a member of a struct. No data file is rewritten.

        raises: ColumnNotFound; InvalidArgument when nothing would be left
        """
        from lance_sql.writes.statements import column_changes as evolving

        return Dataset(evolving.drop(self.snapshot, [names] if isinstance(names, str) else names, properties))

    def rename_columns(self, names: Mapping[str, str], *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Renames columns, old names to new ones; `a.b` is a member of a struct, whose new name has no dot.

        raises: ColumnNotFound; InvalidArgument for names that are taken
        """
        from lance_sql.writes.statements import column_changes as evolving

        return Dataset(evolving.rename(self.snapshot, names, properties))

    def alter_column(
        self,
        name: str,
        *,
        type: pa.DataType | None = None,
        nullable: bool | None = None,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Changes a column's type, which makes every row an updated one, or whether it may be NULL.

        raises: ColumnNotFound; InvalidArgument for values that the type does not hold, and for NULLs in a column that
            is to have none
        """
        from lance_sql.writes.statements import column_changes as evolving

        with reporting(progress):
            return Dataset(evolving.alter(self.snapshot, name, type=type, nullable=nullable, properties=properties))

    def analyze(
        self, columns: Sequence[str] | None = None, *, progress: Callable[[int, int], None] | None = None
    ) -> dict[str, tuple[int, int]]:
        """Computes min/max statistics of columns, so that later filters can prune pages.

        Scans learn the same statistics of the columns that they filter. Nothing is written to the table. The statistics
        last as long as the process, or longer in the folder of `open(..., statistics_cache=...)`.

        columns: names, or members of structs as "point.x"; defaults to all whose types have bounds
        progress: called with the number of rows read and their total
        returns: for each column the number of zones of 8,192 rows with statistics, and the total; none for stores that
            cannot identify files
        raises: ColumnNotFound; InvalidArgument for types without bounds, and with learn_statistics=False; CorruptFile;
            OSError if the statistics cannot be written to the folder

        >>> lance_sql.open("examples/orders.lance").analyze(["id"])
        {'id': (2, 2)}
        """
        from lance_sql.reads.scan.analyze import analyze

        return analyze(self.snapshot, columns, progress)

    def statistics(self, columns: Sequence[str] | None = None, *, analyze: bool = False) -> list[ColumnStatistics]:
        """Returns known statistics of columns without reading them: rows, bytes, NULLs, minimum, maximum and
        approximate number of distinct values. Unknown ones are None.

        They come from earlier scans, from indices, and from the dictionaries of pages.

        columns: top-level columns; defaults to all
        analyze: compute unknown statistics first, by reading the columns; see `analyze`
        raises: ColumnNotFound; CorruptFile

        >>> (id,) = lance_sql.open("examples/orders.lance").statistics(["id"], analyze=True)
        >>> id.num_rows, id.num_nulls, id.smallest, id.largest, id.is_exact
        (370, 0, 1, 420, True)
        """
        from lance_sql.reads.scan.column_statistics import column_statistics

        return column_statistics(self.snapshot, columns, reads_values=analyze)

    def indices(self) -> tuple[IndexSummary, ...]:
        """Returns the secondary indices of this version, with their columns and the number of fragments that they
        cover.

        raises: CorruptFile
        """
        return summaries(self.snapshot)

    def create_index(
        self,
        column: str,
        kind: str,
        *,
        name: str | None = None,
        replace: bool = False,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Dataset:
        """Builds an index over the newest version. Filters or searches of this library and of pylance use it.

        column: `a.b` is a member of a struct
        kind: "zonemap" for columns whose values lie together, "btree" for many distinct values, "bitmap" for few,
            "bloomfilter" for `=` and `IN` alone; "ivf_pq", "ivf_sq", "ivf_rq" or "ivf_flat" for vectors, "inverted"
            for words
        name: of the index; defaults to `<column>_idx`
        replace: replace an index of that name, which raises an error otherwise
        progress: called with the number of rows done and their total, for each step
        options: for vectors `metric`, `num_partitions`, for "ivf_pq" `num_sub_vectors` and `num_bits`, for "ivf_rq"
            `num_bits`; for words `with_position`, `language`, `stem`, `base_tokenizer` and others, see docs/search.md
        raises: ColumnNotFound; InvalidArgument; UnsupportedFeature for a column type that the kind does not support

        >>> orders.create_index("status", "bitmap").indices()[0].kind
        'bitmap'
        """
        from lance_sql.writes.statements import indices as indexing

        with reporting(progress):
            after = indexing.create(
                self.snapshot,
                column,
                kind,
                name=name,
                replace_existing=replace,
                properties=properties,
                options=options,
            )
        return self._after("create_index", after)

    def drop_index(self, name: str, *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Drops an index.

        raises: InvalidArgument if no index has this name
        """
        from lance_sql.writes.statements import indices as indexing

        return self._after("drop_index", indexing.drop(self.snapshot, name, properties))

    def optimize_indices(
        self,
        names: str | Sequence[str] | None = None,
        *,
        rebuild: bool = False,
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Extends indices to the fragments that were added since they were built. Returns this version if there is
        nothing to do.

        names: of indices; defaults to all that can be built
        rebuild: rebuild each index over all rows, as one segment
        raises: InvalidArgument; UnsupportedFeature for a named index of another kind
        """
        from lance_sql.writes.statements import indices as indexing

        chosen = [names] if isinstance(names, str) else names
        with reporting(progress):
            after = indexing.optimize(self.snapshot, chosen, rebuild=rebuild, properties=properties)
        return self._after("optimize_indices", after)

    def compact(
        self,
        *,
        target_rows: int = MAX_ROWS_PER_FILE,
        max_deleted_share: float = 0.1,
        indices: compacting.IndexChoice = "update",
        progress: Progress | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Rewrites short fragments, and those with many deleted rows, into fewer ones. No row's id or versions change.

        target_rows: fragments with fewer rows are joined with their neighbors
        max_deleted_share: fragments with a larger share of deleted rows are rewritten without them
        indices: scalar indices that refer to rows by address, as all do on a table without stable row ids, do not cover
            the new fragments: "update" adds these, "keep" leaves that to `optimize_indices`, "drop" drops such indices.
            Indices of other kinds stay as they are, and engines scan the fragments that these do not cover
        raises: UnsupportedFeature for unknown kinds of indices; CommitConflict

        Returns this version if there is nothing to do.
        """
        from lance_sql.writes.statements import compact as compacting

        _check_positive("target_rows", target_rows, least=1)
        with reporting(progress):
            after = compacting.compact(
                self.snapshot,
                target_rows=target_rows,
                max_deleted_share=max_deleted_share,
                indices=indices,
                properties=properties,
            )
        return self._after("compact", after)

    def plan_compaction(
        self, *, target_rows: int = MAX_ROWS_PER_FILE, max_deleted_share: float = 0.1
    ) -> list[compacting.Group]:
        """Returns the groups of fragments that `compact` would rewrite, without changing anything.

        raises: as `compact`
        """
        from lance_sql.writes.statements import compact as compacting

        return compacting.plan(self.snapshot.latest(), target_rows=target_rows, max_deleted_share=max_deleted_share)

    def restore(self, version: int | None = None, *, properties: Mapping[str, str] | None = None) -> Dataset:
        """Makes an earlier version the newest one again. The versions between stay as they are.

        If the newest version is damaged, the restored version gets the number after it, and a warning is logged. Ids of
        rows and fragments that the damaged version may have assigned are not reused.

        version: the one to restore; defaults to that of this handle
        raises: VersionNotFound, CommitConflict; CorruptFile for a version that is itself damaged
        """
        from lance_sql.writes.statements import maintenance as maintaining

        return Dataset(maintaining.restore(self.snapshot, self.version if version is None else version, properties))

    def update_config(
        self, values: Mapping[str, str | None], *, properties: Mapping[str, str] | None = None
    ) -> Dataset:
        """Sets keys of the table's config; None removes one.

        raises: CommitConflict when another writer has set one of the keys
        """
        from lance_sql.writes.statements import maintenance as maintaining

        return Dataset(maintaining.update_config(self.snapshot, values, properties))

    def update_field_metadata(
        self, column: str, values: Mapping[str, str | None], *, properties: Mapping[str, str] | None = None
    ) -> Dataset:
        """Sets keys of the metadata of a column, such as its `comment`; None removes one.

        column: `a.b` is a member of a struct
        raises: ColumnNotFound; CommitConflict when another writer has changed the metadata
        """
        from lance_sql.writes.statements import maintenance as maintaining

        return Dataset(maintaining.update_field_metadata(self.snapshot, column, values, properties))

    def enable_stable_row_ids(
        self, *, indices: enabling.Indices = "keep", properties: Mapping[str, str] | None = None
    ) -> Dataset:
        """Gives stable row ids to a table that was created without them. From the new version on, rows keep their ids,
        row history is recorded, and `changes` works without a key. No data file is read or written.

        Every row keeps its `_rowid`, and counts as inserted by this version, because its earlier history is not
        recorded. Earlier versions stay as they are, and restoring one of them removes the ids again.

        indices: "keep" the existing ones, whose entries stay valid, or "drop" them
        raises: InvalidArgument for a table that has stable row ids, and for indices that cannot be kept; CommitConflict

        >>> old = lance_sql.write({"id": [1, 2]}, path, stable_row_ids=False)
        >>> old.enable_stable_row_ids().delete("id = 1").changes(since=2).count_rows()
        1
        """
        from lance_sql.writes.statements import row_ids as enabling

        return Dataset(enabling.enable(self.snapshot, indices=indices, properties=properties))

    def create_tag(self, name: str, version: int | None = None) -> None:
        """Names a version of this branch. A tagged version is not cleaned up.

        version: defaults to that of this handle
        raises: VersionNotFound; InvalidArgument for a name that is taken or invalid

        >>> orders.create_tag("audited")
        >>> lance_sql.open(orders.uri, tag="audited").version
        1
        """
        from lance_sql.writes.statements import maintenance as maintaining

        maintaining.create_tag(self.snapshot, name, self.version if version is None else version)

    def move_tag(self, name: str, version: int | None = None) -> None:
        """Moves a tag to another version of this branch, by default to that of this handle.

        raises: VersionNotFound, also if the tag does not exist
        """
        from lance_sql.writes.statements import maintenance as maintaining

        maintaining.move_tag(self.snapshot, name, self.version if version is None else version)

    def delete_tag(self, name: str) -> None:
        """Removes a tag; its version stays.

        raises: VersionNotFound if the tag does not exist
        """
        from lance_sql.writes.statements import maintenance as maintaining

        maintaining.delete_tag(self.snapshot, name)

    def create_branch(self, name: str) -> Dataset:
        """Creates a branch that begins with this version, and returns a handle on it. No file is copied.

        raises: InvalidArgument for a name that is taken or invalid
        """
        from lance_sql.writes.statements import maintenance as maintaining

        return Dataset(maintaining.create_branch(self.snapshot, name))

    @contextmanager
    def staged(self, name: str) -> Iterator[Dataset]:
        """Creates a staging branch for a job, from the newest version of this branch. `lance_sql.write`, the verbs and
        Spark accept the handle. The end of the block changes nothing: the branch remains for checks and `publish`, even
        after an error.

        raises: InvalidArgument for a name that is taken or invalid

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
        from lance_sql.changes import publishing

        return publishing.plan(self.snapshot, name, key)

    def publish(
        self,
        name: str,
        *,
        key: str | Sequence[str] | None = None,
        keep: bool = False,
        properties: Mapping[str, str] | None = None,
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
        from lance_sql.changes import publishing

        after = publishing.publish(self.snapshot, name, key=key, keep=keep, properties=properties)
        return self._after("publish", after)

    def delete_branch(self, name: str) -> None:
        """Removes a branch and the files written to it.

        raises: VersionNotFound; InvalidArgument if a tag or another branch begins there
        """
        from lance_sql.writes.commit import clones

        clones.delete_branch(self.snapshot, name)

    def shallow_clone(self, uri: str | os.PathLike[str]) -> Dataset:
        """Creates a separate table that begins with this version. No file is copied: the clone needs the files of this
        table, and a cleanup of this table does not know about the clone.

        raises: TableExists
        """
        from lance_sql.writes.commit import clones

        options = self.snapshot.storage_options
        return Dataset(clones.shallow_clone(self.snapshot, os.fspath(uri), storage_options=options))

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
        progress: called with the number of versions read, then of files removed, and the totals
        returns: the removed versions and files, or those to remove; `held` has the versions that stay for cursors
        raises: InvalidArgument; CorruptFile if a version cannot be read, because the files that it needs are unknown
        """
        from lance_sql.writes.commit import cleanup as cleaning

        _check_positive("retain_versions", retain_versions, least=1)
        with reporting(progress):
            planned = cleaning.plan(
                self.snapshot,
                older_than=_age("older_than", older_than),
                retain_versions=retain_versions,
                max_lag=_age("max_lag", max_lag),
            )
            if not dry_run:
                cleaning.execute(planned)
        return planned

    def _after(self, operation: str, snapshot: Snapshot) -> Dataset:
        """Returns the handle on the version after a change: the one that it made, or the existing one if it made
        none."""
        if snapshot is self.snapshot or snapshot.commit_properties is None:
            snapshot = snapshot.with_commit(CommitSummary(operation, 0, 0, 0, 0, 0).to_properties())
        return Dataset(snapshot)

    def to_pandas(self, columns: Sequence[str] | None = None, filter: Any = None, **options: Any) -> Any:
        """Returns the rows as a DataFrame of pandas.

        columns, filter: as for `scan`
        options: of `pyarrow.Table.to_pandas`
        raises: as `scan`; MissingDependency
        """
        return self.scan(columns, filter).to_pandas(**options)

    def to_polars(self, columns: Sequence[str] | None = None, filter: Any = None) -> Any:
        """Returns the rows as a DataFrame of Polars.

        columns, filter: as for `scan`
        raises: as `scan`; MissingDependency
        """
        return self.scan(columns, filter).to_polars()

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

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

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


def open(
    uri: str | os.PathLike[str],
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    as_of: datetime | date | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    manifest_store: ManifestStore | None = None,
    use_indices: bool = True,
    learn_statistics: bool = True,
    statistics_cache: str | os.PathLike[str] | None = None,
    allow_bases: str | Iterable[str] | None = None,
    cache: str | os.PathLike[str] | bool | None = None,
) -> Dataset:
    """Opens one version of a table, by default the latest one of main.

    uri: a path, or a URI of S3 (with DynamoDB: `s3+ddb://`), Google Cloud Storage, Azure or any fsspec file system;
        if no version is named otherwise, a version, tag or branch may follow an @: "orders.lance@41"
    version, tag, as_of: at most one of them; `branch` combines with `version` and `as_of`
    version: negative numbers count back from the newest version: -1 is the one before it
    as_of: open the newest version committed at this time or before; a time without a zone is UTC
    storage_options: for the store of the URI, by the names of object_store
    manifest_store: the manifest store that the table is written with, if any
    use_indices: whether filters may use the table's secondary indices
    learn_statistics: whether scans learn the bounds of columns that they filter, and use those of earlier scans
    statistics_cache: a folder that shares learned statistics with other processes; defaults to the environment
        variable LANCE_SQL_STATISTICS_CACHE
    allow_bases: places outside the table's own machine or bucket that may hold its files, as URI prefixes such
        as "s3://archive/", in addition to the environment variable LANCE_SQL_ALLOW_BASES. If the manifest names
        another place, reading these files raises ForeignBase without sending a request
    cache: a folder that caches bytes of a table in an object store, or True for ~/.cache/lance-sql/ranges, or False
        for none; defaults to the environment variable LANCE_SQL_CACHE
    raises: TableNotFound, VersionNotFound, InvalidArgument; CorruptFile and UnsupportedFeature for a manifest that
        cannot be read

    >>> lance_sql.open("examples/orders.lance", version=1).version
    1
    >>> lance_sql.open("examples/orders.lance@audited").version
    5
    """
    options = with_allowed(with_manifest_store(storage_options, manifest_store), allow_bases)
    options = with_cache_folder(options, cache)
    opening = partial(
        _open,
        storage_options=options,
        use_indices=use_indices,
        learning=Learning.of(learn_statistics, statistics_cache),
    )
    if (version, tag, branch, as_of) != (None, None, None, None):
        return opening(uri, version=version, tag=tag, branch=branch, as_of=as_of)
    path, version, tag = split_name(os.fspath(uri))
    if (version, tag) == (None, None):
        return opening(uri)
    try:
        return tag_or_branch(opening, path, version, tag)
    except TableNotFound:
        # if the name without its suffix is not a table, the whole name may be one
        return opening(uri)


def tag_or_branch(opening: Callable[..., Dataset], path: str, version: int | None, tag: str | None) -> Dataset:
    """Opens the version named after the path of a table: a version, a tag, or the newest version of a branch.

    opening: `open` with its other arguments
    version, tag: of `split_name`
    raises: as `opening`
    """
    try:
        return opening(path, version=version, tag=tag)
    except VersionNotFound:
        if tag is None or tag not in opening(path).branches():
            raise
        return opening(path, branch=tag)


def _open(uri: str | os.PathLike[str], **chosen: Any) -> Dataset:
    """Opens a version of a table; see `open_snapshot`."""
    opened = Dataset(open_snapshot(uri, **chosen))
    if opened.snapshot.manifest.names_log:
        from lance_sql.reads import write_ahead_log

        if notice := write_ahead_log.notice(opened.snapshot):
            _LOG.warning("%s: in no version: %s", opened.snapshot.label, notice)
    return opened


def _age(name: str, value: timedelta | str | None) -> timedelta | None:
    if isinstance(value, str):
        return parse_age(value)
    if not isinstance(value, timedelta | None):
        raise InvalidArgument(f"{name}={value!r} is not a timedelta, nor text such as '7d'")
    return value


def _row_ids(values: Iterable[int] | pa.Array | pa.ChunkedArray) -> U64:
    try:
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            array = values.cast(pa.uint64())
        else:
            # index() rejects values that would be rounded
            array = pa.array([index(value) for value in values], pa.uint64())
    except (OverflowError, TypeError, pa.ArrowException) as error:
        raise InvalidArgument(f"Row ids are integers from 0 to 2^64 - 1: {error}") from error
    if array.null_count:
        raise InvalidArgument("Row ids are integers from 0 to 2^64 - 1; NULL is not one")
    ids: U64 = array.to_numpy()
    return ids


def _check_positive(name: str, value: int | None, *, least: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(f"{name} is {value!r}, not a whole number")
    if value < least:
        raise InvalidArgument(f"{name} is {value}; it must be at least {least}")
