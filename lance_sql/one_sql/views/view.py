"""Making and refreshing materialized views."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, Literal

import pyarrow as pa
from sqlglot import exp

from lance_sql.commit.committer import Expected
from lance_sql.dataset import Dataset
from lance_sql.dataset import open as open_dataset
from lance_sql.distributed import ChangeJob, Written, change_rows
from lance_sql.errors import InvalidArgument, LanceError, TableExists, TableNotFound
from lance_sql.one_sql.clauses import rewrite
from lance_sql.one_sql.dialects import dialect_of, parse
from lance_sql.one_sql.engines import Engine, Prepared, engine_of, opened
from lance_sql.one_sql.own_words import Words
from lance_sql.one_sql.references import Reference, reference
from lance_sql.one_sql.views import definition, difference
from lance_sql.one_sql.views.definition import Definition, SourceVersion
from lance_sql.one_sql.views.difference import ViewChangedError
from lance_sql.one_sql.views.images import Versions, counted_anew
from lance_sql.one_sql.views.shape import Functions, Shape, is_plain, shape
from lance_sql.providers.sources import Source
from lance_sql.writing import write

_MOST_ROWS: Final = 0.25
"""Where a larger share of rows counts anew, all do: that is one pass instead of several."""
_FEW_ROWS: Final = 100_000

Mode = Literal["unchanged", "changes", "whole"]


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a refresh did.

    mode: "unchanged": no table had a new version; "changes": rows that changed were followed; "whole": the query was
        run over all rows
    reason: why it was run over all of them
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


def materialize(
    query: str,
    into: str | os.PathLike[str],
    *,
    replace: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> View:
    """A table with the rows of a query over Lance tables, which a refresh brings up to date from what changed in them.

    The table is one like others: every engine reads it, it has versions and a change feed. Where it is there already,
    with the same query, it is refreshed.

    A refresh looks at the rows that changed, where the query is a projection, a filter, or a grouping or DISTINCT of a
    table, with others joined to it (JOIN, LEFT JOIN), and the tables have stable row ids; groups that have or had one
    of these rows are computed anew. Every other query is run as a whole, and `Refresh.reason` says why.

    query: in DuckDB's dialect, and what `lance_sql.sql` knows
    into: path or URI of the table
    replace: the table may be a view of another query, and becomes one of this
    raises: InvalidArgument for what is no query, for a table that is no view, and for a view of another query without
        `replace`; CommitConflict

    >>> query = "SELECT status, count(*) AS n FROM 'examples/orders.lance' GROUP BY status"
    >>> lance_sql.materialize(query, path).refresh().mode
    'unchanged'
    """
    path = os.fspath(into)
    prepared = _Query(query)
    _ = prepared.names
    try:
        dataset = open_dataset(path, storage_options=storage_options)
    except TableNotFound:
        with suppress(TableExists):
            prepared.create(path, storage_options)
        dataset = open_dataset(path, storage_options=storage_options)
    recorded = definition.of(dataset.snapshot.manifest.config, dataset.snapshot.label)
    if recorded is None and dataset.count_rows():
        raise InvalidArgument(f"{dataset.snapshot.label} is there already, and is no view")
    if recorded is not None and recorded.query != query.strip() and not replace:
        raise InvalidArgument(
            f"{dataset.snapshot.label} is a view of another query: {recorded.query[:200]}; replace=True (--replace)"
            " makes it one of this query"
        )
    view = View(dataset)
    is_another = recorded is None or recorded.query != query.strip()
    view.last_refresh = view._refresh(prepared if is_another else None)
    return view


class View:
    """A materialized view.

    dataset: its newest version that is known here
    last_refresh: what the last refresh of this handle did
    """

    def __init__(self, dataset: Dataset | str | os.PathLike[str]) -> None:
        self.dataset = dataset if isinstance(dataset, Dataset) else open_dataset(os.fspath(dataset))
        self.last_refresh: Refresh | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None) -> View:
        """The view at a path.

        raises: TableNotFound; InvalidArgument for a table that is no view
        """
        view = cls(open_dataset(os.fspath(path), storage_options=storage_options))
        _ = view.definition
        return view

    @property
    def definition(self) -> Definition:
        """The query, and the versions that the rows are from.

        raises: InvalidArgument for a table that is no view
        """
        stored_definition = definition.of(self.dataset.snapshot.manifest.config, self.dataset.snapshot.label)
        if stored_definition is None:
            raise InvalidArgument(
                f"{self.dataset.snapshot.label} is no materialized view; lance_sql.materialize makes one"
            )
        return stored_definition

    @property
    def query(self) -> str:
        """The query."""
        return self.definition.query

    def refresh(self, *, full: bool = False, verify: bool = False) -> Refresh:
        """Brings the rows up to date with the newest versions of the tables, in one commit; none is made where no
        table has a new one.

        full: run the query over all rows
        verify: run the query over all rows as well, and compare
        raises: LanceError where `verify` finds rows that differ; InvalidArgument, TableNotFound for a query that the
            tables no longer answer; CommitConflict
        """
        self.dataset = self.dataset.latest()
        self.last_refresh = self._refresh(None, "it was asked for" if full else None)
        if verify:
            self._verify()
        return self.last_refresh

    def _refresh(self, other: _Query | None, reason: str | None = None) -> Refresh:
        """
        other: the query from now on
        reason: to run it over all rows
        """
        query = other
        if other is None:
            recorded = self.definition
            query = _Query(recorded.query, recorded, self.dataset.uri)
            if (
                reason is None
                and query.is_complete
                and not any(self._is_new(each, query.tables.get(each.name)) for each in recorded.sources)
            ):
                return Refresh("unchanged", None, self.dataset)
        assert query is not None
        run = _Run(query, is_another=other is not None, reason=reason)
        before = self.dataset.version
        self.dataset = change_rows(self.dataset, "refresh", run, config=lambda: run.config)
        change = self.dataset.last_change if self.dataset.version > before else None
        counts = (None,) * 3 if change is None else (change.rows_inserted, change.rows_updated, change.rows_deleted)
        return Refresh(run.mode, run.reason, self.dataset, *(count or 0 for count in counts))

    @staticmethod
    def _is_new(source: SourceVersion, now: Dataset | None) -> bool:
        return now is None or (source.version, source.timestamp) != (now.version, definition.timestamp(now))

    def _verify(self) -> None:
        recorded = self.definition
        query = _Query(recorded.query, recorded, self.dataset.uri)
        kind = query.shape()
        if not isinstance(kind, Shape):
            return
        if any(self._is_new(each, query.tables.get(each.name)) for each in recorded.sources):
            raise LanceError(
                f"{self.dataset.snapshot.label}: a table was written to meanwhile; refresh and verify again"
            )
        count = difference.num_different(kind, self.dataset, query.prepared().reader().read_all(), query.engine)
        if count:
            raise LanceError(
                f"{self.dataset.snapshot.label} differs from its query in {count} rows: refresh(full=True) computes it"
                " anew"
            )

    def __repr__(self) -> str:
        return f"View({self.dataset.uri!r}, version={self.dataset.version})"


class _Query:
    """The query of a view, and its tables at their newest versions.

    recorded: the definition, which says where the tables are
    view: the path of the view
    """

    def __init__(self, text: str, recorded: Definition | None = None, view: str = "") -> None:
        self.text = text.strip()
        self.engine: Engine = engine_of("duckdb", None, None, None)
        self.dialect = dialect_of("duckdb")
        rewritten = rewrite(self.text, self.dialect)
        trees = parse(rewritten, self.dialect)
        if len(trees) != 1 or not isinstance(trees[0], exp.Query):
            raise InvalidArgument(f"A view is of one query, not of {self.text[:200]!r}")
        self.tree: exp.Query = trees[0]
        self._words = Words(rewritten, self.dialect, self.tree)
        paths = (
            {} if recorded is None else {each.name: definition.absolute(each.path, view) for each in recorded.sources}
        )
        self.tables: dict[str, Dataset] = {}
        self.is_complete = True
        """Whether the rows depend on nothing but the newest versions of the tables."""
        for node in self.tree.find_all(exp.Table):
            table_reference = reference(node)
            if table_reference is None or not is_plain(table_reference):
                self.is_complete = False
            elif table_reference.path not in self.tables:
                name = str(table_reference.path)
                self.tables[name] = open_dataset(paths.get(name, name))

    @cached_property
    def time_zone(self) -> str:
        """That of the engine, by which it takes moments for days, and the other way round."""
        ((name,),) = self.engine.target.sql("SELECT current_setting('TimeZone')").fetchall()
        return str(name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the columns of the result.

        raises: InvalidArgument for two of one name
        """
        names = self.prepared().names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidArgument(f"Two columns of the view are called {twice[0]!r}: name one of them with AS")
        return names

    def prepared(self) -> Prepared:
        """The query over all rows, in the words that were typed."""
        return self.engine.prepare(self._words.all(self.tree), is_typed=False, opening=self._opened)

    def _opened(self, table_reference: Reference) -> Source:
        return Source(self.tables[str(table_reference.path)]) if is_plain(table_reference) else opened(table_reference)

    def create(self, path: str, storage_options: Mapping[str, Any] | None) -> None:
        """Makes an empty table with the columns of the query."""
        schema = self.prepared().reader().schema
        fields = [field.with_nullable(True) for field in schema]
        _ = write(pa.schema(fields).empty_table(), path, storage_options=storage_options, mode="create")

    def sources(self, view: str) -> tuple[SourceVersion, ...]:
        """The versions of the tables that the view has the rows of from now on."""
        return tuple(
            SourceVersion(name, definition.relative(dataset.uri, view), dataset.version, definition.timestamp(dataset))
            for name, dataset in self.tables.items()
        )

    def shape(self) -> Shape | str:
        """The shape of the query; or why all rows are to be read."""
        columns = {name: dataset.schema.names for name, dataset in self.tables.items()}
        return shape(self.tree, self.text, self.dialect, _functions(), columns)


@cache
def _functions() -> Functions:
    """Those of DuckDB."""
    connection = engine_of("duckdb", None, None, None).target
    texts = (
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'",
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'",
    )
    return Functions(*({row[0].lower() for row in connection.sql(text).fetchall()} for text in texts))


class _Run:
    """One refresh; an attempt is computed from the version that it is committed on.

    query: of the view, for the first attempt; the next one opens its tables anew
    is_another: it is the view's query from now on
    reason: to run it over all rows
    """

    def __init__(self, query: _Query, *, is_another: bool, reason: str | None) -> None:
        self._query: _Query | None = query
        self._other = query if is_another else None
        self._given = "it is new" if is_another and reason is None else reason
        self.mode: Mode = "whole"
        self.reason: str | None = None
        self.config: Mapping[str, Expected] = {}
        """What the commit sets in the config."""

    def __call__(self, job: ChangeJob) -> Iterable[Written]:
        view = job.dataset
        text = view.snapshot.manifest.config.get(definition.KEY)
        recorded = definition.of(view.snapshot.manifest.config, view.snapshot.label)
        query = self._other or self._query
        self._query = None
        is_old = query is not None and self._other is None and recorded is not None and _is_behind(query, recorded)
        if query is None or is_old:
            if recorded is None:
                raise InvalidArgument(f"{view.snapshot.label} is no materialized view; lance_sql.materialize makes one")
            query = _Query(recorded.query, recorded, view.uri)
        if tuple(query.names) != tuple(view.schema.names):
            raise InvalidArgument(
                f"{view.snapshot.label} has the columns {', '.join(view.schema.names)}, and its query now"
                f" {', '.join(query.names)}: drop the view, and make it anew"
            )
        now = Definition(query.text, query.sources(view.uri), query.time_zone)
        self.config = {definition.KEY: Expected(now.to_json(), text)}
        rows = self._changes(query, recorded, view)
        if rows is not None:
            self.mode, self.reason = "changes", None
            return [job.write(rows.combine_chunks().to_batches())]
        self.mode = "whole"
        return [job.write(difference.replacement(view, query.prepared().reader()))]

    def _changes(self, query: _Query, recorded: Definition | None, view: Dataset) -> pa.Table | None:
        """What changed in the view; None where all of it has to be computed, and `reason` says why."""
        self.reason = self._given
        if self.reason is not None or recorded is None:
            return None
        if recorded.time_zone != query.time_zone:
            self.reason = f"the time zone is {query.time_zone} now, and was {recorded.time_zone or 'not written down'}"
            return None
        kind = query.shape()
        if not isinstance(kind, Shape):
            self.reason = kind
            return None
        versions = _versions(query, recorded)
        if isinstance(versions, str):
            self.reason = versions
            return None
        images = counted_anew(kind, versions, query.engine)
        if images.num_rows > max(_FEW_ROWS, _MOST_ROWS * versions.after[kind.tables[0]].count_rows()):
            self.reason = f"{images.num_rows:,} images of rows count anew"
            return None
        try:
            return difference.changes(kind, versions, images, view, query.engine)
        except ViewChangedError as error:
            self.reason = str(error)
            return None


def _is_behind(query: _Query, recorded: Definition) -> bool:
    """Whether another refresh was first, and has rows of versions that came after the tables were opened here."""
    opened = {name: table.version for name, table in query.tables.items()}
    return recorded.query != query.text or any(each.version > opened.get(each.name, 0) for each in recorded.sources)


def _versions(query: _Query, recorded: Definition) -> Versions | str:
    """The tables at the versions that the view has, and now; or why the former are of no use."""
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
        if definition.timestamp(old) != each.timestamp:
            return f"{now.uri} was replaced by another table"
        if old.schema.remove_metadata() != now.schema.remove_metadata() or _fields(old) != _fields(now):
            return f"the columns of {now.uri} changed"
        before[each.name] = old
    return Versions(before, query.tables)


def _fields(dataset: Dataset) -> dict[int, str]:
    """The names of all fields by their ids: a column that took the name of one that was dropped has another id, and the
    feed has no images of the one that was dropped."""
    return {number: field.name for number, field in dataset.snapshot.manifest.schema.by_id.items()}
