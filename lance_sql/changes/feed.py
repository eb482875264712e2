"""The change feed that users hold: a relation over a range of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import pyarrow as pa

from lance_sql.changes import bounds, images
from lance_sql.changes.bounds import Bound
from lance_sql.changes.change_scan import ChangeScan, ChangeTask
from lance_sql.changes.history import History
from lance_sql.changes.image_matching import Match, RowIdMatch
from lance_sql.changes.keyed import key_match
from lance_sql.changes.plan import Mode, Range
from lance_sql.changes.reading import FeedColumn
from lance_sql.errors import InvalidArgument
from lance_sql.format.schema import arrow_field
from lance_sql.format.schema.primary_key import naming_columns, primary_key
from lance_sql.reads.arrow_dataset import ArrowDataset, check_keywords, column_names
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.predicates import Predicate, from_arrow, from_sql
from lance_sql.table.manifest import Manifest
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from lance_sql.changes.follow import Follow


MODES = ("all", "net", "insert_only")


class ChangeFeed(ArrowDataset):
    """What the commits of a range of versions changed, as a relation. Immutable, thread-safe, picklable.

    Its columns are those of the range's last version, then `_change_type`, `_commit_version`, `_commit_timestamp` and
    `_rowid`. The version columns can be asked for by name. Engines that take a `pyarrow.dataset.Dataset` take it as it
    is.

    >>> feed = lance_sql.open("examples/orders.lance").changes(2, 3)
    >>> feed.count_rows("_change_type = 'insert'")
    100
    """

    feed_fields: ClassVar[tuple[pa.Field, ...]] = images.FIELDS
    """What is said of rows beside their values."""

    range_type: ClassVar[type[Range]] = Range

    is_snapshot: ClassVar[bool] = False
    """These are not changes, but all rows of one version."""

    def __init__(
        self,
        snapshot: Snapshot,
        start: Bound | None = None,
        end: Bound | None = None,
        *,
        since: Bound | None = None,
        mode: Mode = "all",
        drop_unchanged: bool = False,
        key: str | Sequence[str] | None = None,
        trust_snapshots: bool = False,
        kinds: tuple[str, ...] = images.KINDS,
    ) -> None:
        """The arguments of `Dataset.changes`.

        kinds: of the images that are told of
        """
        super().__init__()
        self.properties: Mapping[str, str] = {}
        """Of a commit that has these changes, as the `properties` of every verb: it is made once, whoever tries. Only
        changes that come from a cursor have them."""
        self.position: str = ""
        """Up to where a consumer is that has these changes, as text for a column of its own database, written in the
        transaction of the rows: `Cursor.read(after=)` takes it. Only changes that come from a cursor have one."""
        if mode not in MODES:
            raise InvalidArgument(f"mode={mode!r} is not one of {', '.join(map(repr, MODES))}")
        history = History(snapshot)
        first, last = bounds.resolve(history, start, end, since)
        self._check_range(history, first, last)
        self._snapshot = snapshot
        shown = last if last >= first else max((version for version in history.files if version <= last), default=0)
        self._last = history.snapshot_at(shown) if shown in history.files else snapshot
        manifest = self._last.manifest
        match: Match = RowIdMatch()
        if key is None and not (manifest.has_stable_row_ids and _began_with_ids(history, first, last, manifest)):
            key = primary_key(manifest.schema) or None
        if key is not None:
            match = key_match(manifest.schema, key, self._last.label)
        elif not manifest.has_stable_row_ids:
            raise InvalidArgument(
                f"{self._last.name} was created without stable row ids, so which rows are the same is not recorded, and"
                " has no primary key: pass key columns (key=['id']), or have it recorded from now"
                " on with enable_stable_row_ids()."
            )
        self._options: dict[str, Any] = {
            "mode": mode,
            "drop_unchanged": drop_unchanged,
            "key": key,
            "trust_snapshots": trust_snapshots,
            "kinds": kinds,
        }
        self.range = self.range_type(history, first, last, mode, drop_unchanged, kinds, match, trust_snapshots)
        taken = {name.casefold() for name in self._last.manifest.schema.names}
        for name in (*self._feed_names, *system_columns.NAMES):
            if name in taken:
                raise InvalidArgument(f"{self._last.name} has a column {name!r}, which the change feed has as well")

    @property
    def _feed_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.feed_fields)

    @property
    def table(self) -> str:
        """How messages call the table."""
        return self._snapshot.name

    @property
    def snapshot(self) -> Snapshot:
        """The last version of the range."""
        return self._last

    @property
    def arguments(self) -> dict[str, Any]:
        """Those of `Dataset.changes` with which it is asked for again, with the range in versions."""
        options = {name: value for name, value in self._options.items() if name != "kinds"}
        return {"since": self.start - 1, "end": self.end, **options}

    @property
    def start(self) -> int:
        """The first version whose commit belongs to the range."""
        return self.range.first

    @property
    def end(self) -> int:
        """The last version whose commit belongs to the range; less than `start` for none."""
        return self.range.last

    @property
    def mode(self) -> Mode:
        """Which changes are told of."""
        return self.range.mode

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the table's unenforced primary key; empty where it has none."""
        return primary_key(self._last.manifest.schema)

    @property
    def branch(self) -> str | None:
        """The branch whose changes they are; None for main."""
        return self._snapshot.branch

    @property
    def is_by_key(self) -> bool:
        """Whether rows are told apart by the values of columns, and not by row ids."""
        return self._options["key"] is not None

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by whose values rows are told apart; empty where row ids tell."""
        key = self._options["key"]
        return () if key is None else (key,) if isinstance(key, str) else tuple(key)

    @property
    def naming_columns(self) -> tuple[str, ...]:
        """What people know a row by: the columns of a key, or the first column where that may be one."""
        return self.key or naming_columns(self._last.manifest.schema)

    def follow(self, *, poll: float = 1.0, timeout: float | None = None) -> Follow:
        """The commits of the range one by one, and then those that are made from now on; `async for` takes it as well.

        poll: seconds between two looks at the table
        timeout: ends it when so many seconds have brought no commit; without it, it has no end
        returns: an iterator of values with `version`, `timestamp`, `operation` and `changes`, a feed of that commit
        raises: InvalidArgument for changes of mode net, which are not those of commits

        >>> [commit.version for commit in lance_sql.open("examples/orders.lance").changes(7).follow(timeout=0)]
        [7, 8, 9]
        """
        from lance_sql.changes.follow import Follow

        if self.mode == "net":
            raise InvalidArgument(
                "Commits are followed one by one, and mode='net' puts them together: mode='all' has them"
            )
        return Follow(self, self._snapshot, poll=poll, timeout=timeout)

    def of_version(self, snapshot: Snapshot, version: int) -> ChangeFeed:
        """The feed of one commit, with the same arguments.

        snapshot: of the same branch, not older
        raises: as `Dataset.changes`
        """
        return ChangeFeed(snapshot, end=version, since=version - 1, **self._options)

    def to_debezium(self) -> Iterator[dict[str, Any]]:
        """Each change as a dict in Debezium's envelope, both images of an update in one; for `json.dumps`.

        raises: InvalidArgument for changes by key; as reading the feed

        >>> next(orders.changes().to_debezium())["op"]
        'c'
        """
        from lance_sql.changes.debezium import envelopes

        return envelopes(self)

    def only(self, kind: str) -> ChangeFeed:
        """The feed without images of other kinds.

        kind: "insert", "delete", "update_preimage" or "update_postimage"
        raises: InvalidArgument
        """
        if kind not in images.KINDS:
            raise InvalidArgument(f"{kind!r} is not one of {', '.join(map(repr, images.KINDS))}")
        return ChangeFeed(self._snapshot, **self.arguments, kinds=(kind,))

    def with_properties(self, properties: Mapping[str, str], position: str) -> Self:
        """A copy of the feed with `properties` and `position`."""
        same = copy(self)
        same.properties = dict(properties)
        same.position = position
        return same

    def _check_range(self, history: History, first: int, last: int) -> None:
        """
        raises: VersionNotFound
        """
        history.check_range(first, last)

    @cached_property
    def _fields(self) -> tuple[pa.Field, ...]:
        # a column that an image's version did not have is NULL in it
        return tuple(field.with_nullable(True) for field in self._last.manifest.schema.arrow)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the range's last version, and those that tell of the change."""
        return pa.schema(
            [*self._fields, *self.feed_fields, system_columns.field(system_columns.ROW_ID)],
            self._last.manifest.schema.arrow.metadata,
        )

    @property
    def system_columns(self) -> tuple[str, ...]:
        """Columns that can be asked for, and are not in `schema`; they need stable row ids."""
        return system_columns.VERSION_COLUMNS if self._last.manifest.has_stable_row_ids else ()

    @property
    def compact_types(self) -> Mapping[str, pa.DataType]:
        """Smaller types for some columns: none."""
        return {}

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | pc.Expression | Predicate | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> ChangeScan:
        """A read of some columns and rows; nothing is read before its result is asked for.

        columns, filter, limit, batch_size: as for `Dataset.scan`. Filters on `_change_type`, `_commit_version`,
            `_commit_timestamp` and `_rowid` rule out commits and rows before anything of them is read; filters on other
            columns are about the values of each image
        raises: ColumnNotFound, InvalidArgument, UnsupportedFeature as `Dataset.scan`
        """
        names = column_names(columns)
        chosen = tuple(self._column(name) for name in (self.schema.names if names is None else names))
        if len({column.name for column in chosen}) < len(chosen):
            raise InvalidArgument("A column is asked for twice")
        return ChangeScan(self, chosen, self.predicate(filter), limit, batch_size)

    def to_pandas(self, **options: Any) -> Any:
        """All changes as a DataFrame of pandas; see `Scan.to_pandas`."""
        return self.scan().to_pandas(**options)

    def to_polars(self) -> Any:
        """All changes as a DataFrame of Polars; see `Scan.to_polars`."""
        return self.scan().to_polars()

    def to_reader(self) -> pa.RecordBatchReader:
        """All changes as a stream of batches."""
        return self.scan().to_reader()

    def tasks(self, target_count: int) -> list[ChangeTask]:
        """All changes in about so many parts; each can be pickled, and read anywhere."""
        return self.scan().tasks(target_count)

    def count_rows(self, filter: str | pc.Expression | Predicate | None = None, **options: Any) -> int:
        """The number of images that pass the filter."""
        check_keywords("count_rows", options, ("filter",), also=("batch_size",))
        return self.scan([], filter).count_rows()

    def to_html(self, filter: str | pc.Expression | Predicate | None = None) -> str:
        """A page in one file, which needs no network: what each commit inserted, updated and deleted. The first rows of
        each are read, and all are counted.

        filter: which images, as for `scan`
        raises: MissingDependency where Jinja2 is not installed; as `scan`
        """
        from lance_sql.changes import feed_page

        return feed_page.as_page(self, self.predicate(filter))

    def _repr_html_(self) -> str | None:
        from lance_sql.changes import feed_page

        return feed_page.as_part(self)

    def explain(self) -> str:
        """What is read and why, as text."""
        return self.scan().explain()

    def explain_commits(self) -> list[str]:
        """What the changes are known from, as lines of `explain`."""
        if self.end < self.start:
            return ["  commits: none"]
        commits = self.range.commits()
        lines = [f"  commits: {len(commits)}"]
        unknown = [str(commit.version) for commit in commits if commit.operation is None]
        restores = [str(commit.version) for commit in commits if commit.operation == "restore"]
        if unknown:
            lines.append(f"  without a transaction, snapshots are compared: version {', '.join(unknown)}")
        if self.range.contradicted:
            shown = ", ".join(map(str, sorted(self.range.contradicted)))
            lines.append(f"  row ids contradict the transaction, snapshots are compared: version {shown}")
        if restores:
            lines.append(f"  restored, values are compared: version {', '.join(restores)}")
        return lines

    def _column(self, name: str) -> FeedColumn:
        hidden = (*self._feed_names, *system_columns.NAMES)
        if name in self._feed_names:
            return FeedColumn(name, None, (), self.schema.field(name))
        if name in (system_columns.ROW_ID, *self.system_columns):
            return FeedColumn(name, None, (), system_columns.field(name))
        schema = self._last.manifest.schema
        top, *below = schema.resolve(name, table=str(self), also=hidden)
        number = schema.names.index(top.name)
        if not below:
            return FeedColumn(name, number, (), self._fields[number])
        leaf = arrow_field(below[-1])
        path = tuple(field.name for field in below)
        return FeedColumn(name, number, path, pa.field(name, leaf.type, True, leaf.metadata))

    @overload
    def predicate(self, filter: None) -> None: ...

    @overload
    def predicate(self, filter: str | pc.Expression | Predicate) -> Predicate: ...

    def predicate(self, filter: str | pc.Expression | Predicate | None) -> Predicate | None:
        """A filter on images, bound to the columns of the feed.

        raises: as `scan`
        """
        if filter is None or isinstance(filter, Predicate):
            return filter
        schema = pa.schema([*self.schema, *(system_columns.field(name) for name in self.system_columns)])
        if isinstance(filter, str):
            return from_sql(filter, schema, table=str(self))
        return from_arrow(filter, schema, table=str(self))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        # unlike a start, `since` may be the end of an empty range
        return partial(ChangeFeed, **self.arguments, kinds=self._options["kinds"]), (self._snapshot,)

    def __str__(self) -> str:
        branch = f" branch {self._snapshot.branch!r}" if self._snapshot.branch else ""
        return f"changes of {self._snapshot.name}{branch} versions {self.start} to {self.end}, mode {self.mode}"

    def __repr__(self) -> str:
        return f"ChangeFeed({str(self)!r})"


def _began_with_ids(history: History, first: int, last: int, manifest: Manifest) -> bool:
    """Whether rows have stable ids before a range as well, as far as a primary key is there to tell rows apart."""
    if last < first or first - 1 not in history.files or not primary_key(manifest.schema):
        return True
    return history.snapshot_at(first - 1).manifest.has_stable_row_ids
