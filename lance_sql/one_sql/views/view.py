"""Making and refreshing materialized views."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, Unpack

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, LanceError, TableExists, TableNotFound, UnsupportedFeature
from lance_sql.jobs.distributed import ChangeJob, Written, change_rows
from lance_sql.one_sql.views import definition, view_rows
from lance_sql.one_sql.views.broken_query import AGAIN
from lance_sql.one_sql.views.definition import Definition, SourceVersion
from lance_sql.one_sql.views.images import Versions, ViewChangedError, counted_anew
from lance_sql.one_sql.views.query import ViewQuery
from lance_sql.one_sql.views.shape import Shape
from lance_sql.opening import open as open_dataset
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.store.access import AccessOptions, within
from lance_sql.table import table_folders
from lance_sql.values.guessed_names import OF_VIEW, NamesGuessed
from lance_sql.values.keywords import class_suggests_keywords, suggests_keywords
from lance_sql.values.local_paths import place_text, shown
from lance_sql.writes.commit.committer import Expected

_OPERATION: Final = "refresh"
_MOST_ROWS: Final = 0.25
"""If a larger share of rows must be recomputed, all rows are: one pass instead of several."""
_FEW_ROWS: Final = 100_000

Mode = Literal["unchanged", "changes", "whole"]


@dataclass(frozen=True, slots=True)
class Refresh:
    """Result of a refresh.

    mode: "unchanged": no table had a new version; "changes": computed from changed rows; "whole": the query ran over
        all rows
    reason: why it ran over all rows
    dataset: the version of the view that has the rows
    """

    mode: Mode
    reason: str | None
    dataset: Dataset
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0

    def __str__(self) -> str:
        what = {"unchanged": "nothing new", "changes": "from what changed", "whole": "computed anew"}[self.mode]
        why = f" ({self.reason})" if self.reason else ""
        counts = f"+{self.rows_inserted} ~{self.rows_updated} -{self.rows_deleted}"
        return f"{self.dataset.snapshot.label}: {what}{why}, {counts} rows"


@suggests_keywords
def materialize(
    query: str,
    into: str | os.PathLike[str],
    *,
    replace: bool = False,
    **access: Unpack[AccessOptions],
) -> View:
    """Creates a materialized view: a table with the rows of a query over Lance tables, refreshed from their changes.

    The table is an ordinary table: every engine reads it, and it has versions and a change feed. If it already exists
    with the same query, it is refreshed.

    A refresh is incremental if the query is a projection, a filter, or a grouping or DISTINCT of a table, with others
    joined to it (JOIN, LEFT JOIN), and the tables have stable row ids. Groups that have or had a changed row are
    recomputed. Every other query runs over all rows; `Refresh.reason` contains the reason.

    query: in DuckDB's dialect, with the extensions of `lance_sql.sql`
    into: path or URI of the table
    replace: replaces the query of an existing view
    access: keywords of `lance_sql.open`, for the table and those of the query
    raises: InvalidArgument for text that is no query, for a table that is no view, and for a view of another query
        without `replace`; CommitConflict

    >>> query = "SELECT status, count(*) AS n FROM 'examples/orders.lance' GROUP BY status"
    >>> lance_sql.materialize(query, path).refresh().mode
    'unchanged'
    """
    with within(access):
        return make(query, place_text(into), replace=replace)


def make(
    query: str,
    path: str,
    *,
    replace: bool = False,
    settings: Mapping[str, str] | None = None,
) -> View:
    """Creates a view like `materialize`.

    settings: of the session that the rows are computed in
    """
    prepared = ViewQuery(query, settings)
    _ = prepared.names
    is_new = False
    try:
        dataset = open_dataset(path)
    except TableNotFound:
        with suppress(TableExists):
            prepared.create(path)
            is_new = True
        dataset = open_dataset(path)
    recorded = definition.of(dataset.snapshot.manifest.config, dataset.snapshot.label)
    if recorded is None and dataset.count_rows():
        raise InvalidArgument(f"{dataset.snapshot.label} exists already, and is not a view: use another path")
    if recorded is not None and recorded.query != query.strip() and not replace:
        raise InvalidArgument(
            f"{dataset.snapshot.label} is a view of another query: {recorded.query[:200]}; pass replace=True"
            " (--replace) to change the query"
        )
    view = View(dataset, settings)
    is_another = recorded is None or recorded.query != query.strip()
    try:
        view.last_refresh = view._refresh(prepared if is_another else None)
    except BaseException:
        if is_new:
            with suppress(LanceError):
                # another process may have filled the view
                if dataset.snapshot.latest().version == dataset.version:
                    table_folders.drop(dataset.uri)
        raise
    return view


@class_suggests_keywords
class View(NamesGuessed):
    """Materialized view.

    dataset: the newest version that this handle has opened
    last_refresh: the result of the last refresh of this handle
    """

    _guessed_names = OF_VIEW

    def __init__(self, dataset: Dataset | str | os.PathLike[str], settings: Mapping[str, str] | None = None) -> None:
        """
        settings: of the session that rows are computed in; by default, those of a new DuckDB connection
        """
        self.dataset = dataset if isinstance(dataset, Dataset) else open_dataset(place_text(dataset))
        self._settings = settings
        self.last_refresh: Refresh | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], **access: Unpack[AccessOptions]) -> View:
        """Opens the view at a path.

        raises: TableNotFound; InvalidArgument for a table that is no view
        """
        view = cls(open_dataset(place_text(path), **access))
        _ = view.definition
        return view

    @property
    def definition(self) -> Definition:
        """Query, and versions of the tables that the rows were computed from.

        raises: InvalidArgument for a table that is no view
        """
        stored_definition = definition.of(self.dataset.snapshot.manifest.config, self.dataset.snapshot.label)
        if stored_definition is None:
            raise InvalidArgument(
                f"{self.dataset.snapshot.label} is not a materialized view: create one with materialize"
            )
        return stored_definition

    @property
    def query(self) -> str:
        """Text of the query."""
        return self.definition.query

    def refresh(self, *, full: bool = False, verify: bool = False) -> Refresh:
        """Updates the rows to the newest versions of the tables, in one commit; makes no commit if no table has a new
        version.

        full: run the query over all rows
        verify: also run the query over all rows, and compare; this reports rows that were changed by hand, which a
            refresh would recompute
        raises: LanceError if `verify` finds rows that differ; InvalidArgument, TableNotFound for a query that the
            tables no longer support; CommitConflict
        """
        self.dataset = self.dataset.latest()
        self.last_refresh = self._refresh(None, "it was asked for" if full else None, trusts=verify)
        if verify:
            with within(self.dataset.snapshot.access.keywords()):
                self._verify()
        return self.last_refresh

    def _refresh(self, other: ViewQuery | None, reason: str | None = None, *, trusts: bool = False) -> Refresh:
        """
        other: the new query
        reason: to run it over all rows
        trusts: skips the check whether rows of the view were changed by hand
        """
        with within(self.dataset.snapshot.access.keywords()):
            return self._refreshed(other, reason, trusts=trusts)

    def _refreshed(self, other: ViewQuery | None, reason: str | None, *, trusts: bool) -> Refresh:
        query = other
        if other is None:
            recorded = self.definition
            query = ViewQuery(recorded.query, self._settings, recorded, self.dataset.uri)
            if (
                reason is None
                and query.is_complete
                and (trusts or not _changed_by_hand(self.dataset))
                and not any(self._is_new(each, query.tables.get(each.name)) for each in recorded.sources)
            ):
                return Refresh("unchanged", None, self.dataset)
        assert query is not None
        run = _Run(query, self._settings, is_another=other is not None, reason=reason, trusts=trusts)
        before = self.dataset.version
        self.dataset = change_rows(self.dataset, _OPERATION, run, config=lambda: run.config)
        change = self.dataset.last_change if self.dataset.version > before else None
        counts = (None,) * 3 if change is None else (change.rows_inserted, change.rows_updated, change.rows_deleted)
        return Refresh(run.mode, run.reason, self.dataset, *(count or 0 for count in counts))

    @staticmethod
    def _is_new(source: SourceVersion, now: Dataset | None) -> bool:
        return now is None or (source.version, source.timestamp) != (now.version, definition.timestamp(now))

    def _verify(self) -> None:
        recorded = self.definition
        query = ViewQuery(recorded.query, self._settings, recorded, self.dataset.uri)
        kind = query.shape()
        if not isinstance(kind, Shape):
            return
        if any(self._is_new(each, query.tables.get(each.name)) for each in recorded.sources):
            raise LanceError(
                f"{self.dataset.snapshot.label}: a source table changed during the check: refresh and verify again"
            )
        count = view_rows.num_different(kind, self.dataset, query.prepared().reader().read_all(), query.engine)
        if count:
            raise LanceError(
                f"{self.dataset.snapshot.label} differs from its query in {count} rows: recompute it with"
                " refresh(full=True)"
            )

    def __repr__(self) -> str:
        return f"View({shown(self.dataset.uri)!r}, version={self.dataset.version})"


class _Run:
    """One refresh; each attempt is computed from the version that it is based on.

    query: of the view, for the first attempt; the next one opens its tables again
    is_another: it replaces the view's query
    reason: to run it over all rows
    trusts: as for `View._refresh`
    """

    def __init__(
        self,
        query: ViewQuery,
        settings: Mapping[str, str] | None,
        *,
        is_another: bool,
        reason: str | None,
        trusts: bool,
    ) -> None:
        self._trusts = trusts
        self._query: ViewQuery | None = query
        self._settings = settings
        self._other = query if is_another else None
        self._given = "it is new" if is_another and reason is None else reason
        self.mode: Mode = "whole"
        self.reason: str | None = None
        self.config: Mapping[str, Expected] = {}
        """Config entries of the commit."""

    def __call__(self, job: ChangeJob) -> Iterable[Written]:
        view = job.dataset
        text = view.snapshot.manifest.config.get(definition.KEY)
        recorded = definition.of(view.snapshot.manifest.config, view.snapshot.label)
        query = self._other or self._query
        self._query = None
        is_old = query is not None and self._other is None and recorded is not None and _is_behind(query, recorded)
        if query is None or is_old:
            if recorded is None:
                raise InvalidArgument(f"{view.snapshot.label} is not a materialized view: create one with materialize")
            query = ViewQuery(recorded.query, self._settings, recorded, view.uri)
        if tuple(query.names) != tuple(view.schema.names):
            raise InvalidArgument(
                f"{view.snapshot.label} has the columns {', '.join(view.schema.names)}, but its query has"
                f" {', '.join(query.names)} now: {AGAIN}"
            )
        changed = query.changed_type(view)
        if changed is not None:
            raise InvalidArgument(f"{view.snapshot.label} cannot hold the column {changed} now: {AGAIN}")
        now = Definition(query.text, query.sources(view.uri), query.time_zone, query.settings)
        self.config = {definition.KEY: Expected(now.to_json(), text)}
        rows = self._changes(query, recorded, view)
        if rows is not None:
            self.mode, self.reason = "changes", None
            return [job.write(rows.combine_chunks().to_batches())]
        self.mode = "whole"
        return [job.apply(view_rows.replacement(view, query.prepared().reader()))]

    def _changes(self, query: ViewQuery, recorded: Definition | None, view: Dataset) -> pa.Table | None:
        """Returns the changes of the view; None if all rows must be computed, with the cause in `reason`."""
        self.reason = self._given
        if self.reason is not None or recorded is None:
            return None
        if recorded.time_zone != query.time_zone:
            self.reason = f"the time zone is {query.time_zone} now, and was {recorded.time_zone or 'not written down'}"
            return None
        other = next((each for each in recorded.settings if recorded.settings[each] != query.settings.get(each)), None)
        if other is not None:
            self.reason = f"the setting {other} is {query.settings.get(other)} now, and was {recorded.settings[other]}"
            return None
        if not self._trusts and _changed_by_hand(view):
            self.reason = "the rows of the view were changed by hand"
            return None
        kind = query.shape()
        if not isinstance(kind, Shape):
            self.reason = kind
            return None
        versions = _versions(query, recorded)
        if isinstance(versions, str):
            self.reason = versions
            return None
        try:
            return self._followed(kind, versions, query, view)
        except ViewChangedError as error:
            self.reason = str(error)
        except (InvalidArgument, UnsupportedFeature) as error:
            self.reason = f"a part of it cannot be computed alone: {error}"
        return None

    def _followed(self, kind: Shape, versions: Versions, query: ViewQuery, view: Dataset) -> pa.Table | None:
        """Returns the changes of the view, for a query with a shape that can be followed.

        raises: ViewChangedError; InvalidArgument, UnsupportedFeature for a part that the engine does not compute
        """
        images = counted_anew(kind, versions, query.engine)
        if images.num_rows > max(_FEW_ROWS, _MOST_ROWS * versions.after[kind.tables[0]].count_rows()):
            self.reason = f"{images.num_rows:,} images of rows count anew"
            return None
        return view_rows.changes(kind, versions, images, view, query.engine)


def _changed_by_hand(view: Dataset) -> bool:
    """Whether rows of a view changed since its last refresh; True if that is no longer known."""
    for limit in (1, 16, None):
        # there may be newer ones by now
        entries = [each for each in view.history(limit) if each.version <= view.version]
        last = next((each.version for each in reversed(entries) if each.operation == _OPERATION), None)
        if last == view.version:
            return False
        if last is not None:
            return bool(view.changes(since=last, mode="net").scan([ROW_ID]).to_table().num_rows)
    return True


def _is_behind(query: ViewQuery, recorded: Definition) -> bool:
    """Whether another refresh was first, and used versions newer than the tables opened here."""
    opened = {name: table.version for name, table in query.tables.items()}
    return recorded.query != query.text or any(each.version > opened.get(each.name, 0) for each in recorded.sources)


def _versions(query: ViewQuery, recorded: Definition) -> Versions | str:
    """Returns the tables at the versions of the view, and now; or the reason why the former are unusable."""
    if {each.name for each in recorded.sources} != set(query.tables):
        return "it remembers versions of other tables"
    before = {}
    for each in recorded.sources:
        now = query.tables[each.name]
        if not now.snapshot.manifest.has_stable_row_ids:
            return f"{now.uri} has no stable row ids"
        siblings = now.snapshot.siblings()
        old = next((Dataset(sibling) for sibling in siblings if sibling.file.version == each.version), None)
        if old is None:
            return f"version {each.version} of {now.uri} was cleaned up"
        if not old.snapshot.manifest.has_stable_row_ids:
            return f"{now.uri} had no stable row ids in version {each.version}"
        if definition.timestamp(old) != each.timestamp:
            return f"{now.uri} was replaced by another table"
        if old.schema.remove_metadata() != now.schema.remove_metadata() or _fields(old) != _fields(now):
            return f"the columns of {now.uri} changed"
        before[each.name] = old
    return Versions(before, query.tables)


def _fields(dataset: Dataset) -> dict[int, str]:
    """Returns the names of all fields by id. A column that took the name of a dropped one has another id, and the feed
    has no images of the dropped one."""
    return {number: field.name for number, field in dataset.snapshot.manifest.schema.by_id.items()}
