"""The rows of one version: scans, searches, and rows by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import pyarrow as pa

from lance_sql import changes
from lance_sql.reads.arrow_dataset import IGNORED_KEYWORDS, ArrowDataset
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.compact_types import compact_types
from lance_sql.reads.scan.filters import Filter, to_predicate
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.scan.take import row_id_array, take
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arguments import check_number, column_names
from lance_sql.values.keywords import check_keywords

if TYPE_CHECKING:
    from lance_sql.changes.answer_scan import AnswerScan
    from lance_sql.changes.bounds import Bound
    from lance_sql.reads.mem_wal import FreshScan
    from lance_sql.reads.search import Nearest, SearchOptions, SearchScan, Words


class VersionRows(ArrowDataset):
    """The rows of one version, as engines and users read them."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot

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

    def count_rows(self, filter: Filter | None = None, **options: Any) -> int:
        """Counts the rows that pass the filter. Reads no page without a filter, or with one on row lineage.

        raises: as `scan`
        """
        check_keywords("count_rows", options, ("filter",), also=IGNORED_KEYWORDS)
        if filter is None:
            return Candidates.all_of(self.snapshot).num_rows
        return self.scan([], filter).count_rows()

    def to_polars(
        self, columns: Sequence[str] | None = None, filter: Filter | None = None, *, lazy: bool = False
    ) -> Any:
        """Returns the rows as a DataFrame of Polars, or as a LazyFrame whose columns, limits and conditions the scan
        applies.

        columns, filter: as for `scan`
        raises: as `scan`; MissingDependency; UnsupportedFeature for a column that Polars does not support

        >>> import polars
        >>> lazy_orders = lance_sql.open("examples/orders.lance").to_polars(lazy=True)
        >>> lazy_orders.filter(polars.col("status").str.starts_with("o")).select("id").collect().height
        104
        """
        if not lazy:
            return self.scan(columns, filter).to_polars()
        from lance_sql.reads.polars_source import lazy_frame

        chosen = [column.name for column in self.scan(columns).columns]
        snapshot = self.snapshot

        def scan(names: list[str] | None, predicate: Predicate | None, limit: int | None) -> Scan:
            return Scan(snapshot, resolve(snapshot, chosen if names is None else names), predicate, limit, None)

        return lazy_frame(scan, to_predicate(snapshot, filter))

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
        fresh: merge the rows of the table's write-ahead log into those of this version, by primary key. They have no
            row ids, and this version must be the newest one
        raises: ColumnNotFound; InvalidArgument for a filter that does not fit the types; UnsupportedFeature for
            SQL that a filter cannot have; CorruptFile for a damaged log
        """
        check_number("limit", limit, least=0)
        check_number("batch_size", batch_size, least=1)
        if fresh:
            from lance_sql.reads.mem_wal import open_fresh_rows

            fresh_rows = open_fresh_rows(self.snapshot)
            return fresh_rows.scan(column_names(columns), filter, limit=limit, batch_size=batch_size)
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
            `fast_search` of both. For a search by both: `use_index` is that of the vector; `alpha`, the weight of the
            distance, of 1; `oversample_factor`, to fetch this many times k candidates of each side; `fusion`: "linear"
            combines normalized distances and scores, "rrf" combines ranks
        raises: InvalidArgument for a query that does not fit the column; ColumnNotFound; UnsupportedFeature for
            a column of other values; as `scan`

        >>> import numpy as np, os, pyarrow as pa, tempfile
        >>> table = pa.table({"id": [1, 2, 3], "v": pa.FixedSizeListArray.from_arrays(np.arange(6.0), 2)})
        >>> path = os.path.join(tempfile.mkdtemp(), "vectors.lance")
        >>> lance_sql.write(table, path).search([2, 3], k=2).to_table().to_pydict()["_distance"]
        [0.0, 8.0]
        """
        from lance_sql.reads.search import search_request, search_rows

        request = search_request("search", queries, k, options)
        first = None if since is None else changes.bounds.first_after(self.snapshot, since)
        rows = search_rows(self.snapshot, request.over(self.snapshot), filter, updated_from=first)
        names = column_names(columns)
        return rows.scan(None if names is None else rows.with_numbers(names))

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

    def take(
        self, row_ids: Iterable[int] | pa.Array | pa.ChunkedArray, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Returns the rows with these `_rowid`s, in the given order.

        raises: InvalidArgument for an id that no live row of this version has; ColumnNotFound
        """
        return take(self.snapshot, resolve(self.snapshot, column_names(columns)), row_id_array(row_ids))
