"""Change feed for users: a relation over a range of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import pyarrow as pa

from lance_sql.changes import bounds, images
from lance_sql.changes.bounds import Bound
from lance_sql.changes.change_scan import ChangeScan, ChangeTask
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.image_matching import Matching, RowIdMatch
from lance_sql.changes.images import Commits
from lance_sql.changes.keyed import key_match
from lance_sql.changes.plan import CommitRange, Mode
from lance_sql.changes.reading import FeedColumn
from lance_sql.errors import InvalidArgument
from lance_sql.format.schema import arrow_field
from lance_sql.format.schema.primary_key import naming_columns, nullable, primary_key
from lance_sql.reads.arrow_dataset import ArrowDataset
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.filters import Filter, bound
from lance_sql.reads.scan.predicates import Predicate
from lance_sql.reads.scan.relation import PlainRows
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.manifest import Manifest
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arguments import column_names

if TYPE_CHECKING:
    from lance_sql.changes.follow import Follow


MODES = ("all", "net", "insert_only")


class ChangeFeed(ArrowDataset, PlainRows):
    """Changes of the commits of a range of versions, as a relation. Immutable, thread-safe, picklable.

    Its columns are those of the range's last version, then `_change_type`, `_commit_version`, `_commit_timestamp` and
    `_rowid`; with `origin`, `_commit_job`, `_commit_user` and `_commit_host` before `_rowid`. Select the version
    columns by name. Engines that accept a `pyarrow.dataset.Dataset` accept it directly.

    >>> feed = lance_sql.open("examples/orders.lance").changes(2, 3)
    >>> feed.count_rows("_change_type = 'insert'")
    100
    """

    _change_fields: ClassVar[tuple[pa.Field, ...]] = images.FIELDS
    _origin_fields: ClassVar[tuple[pa.Field, ...]] = images.ORIGIN_FIELDS

    range_type: ClassVar[type[CommitRange]] = CommitRange

    is_snapshot: ClassVar[bool] = False
    """Whether the feed contains all rows of one version instead of changes."""

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
        origin: bool = False,
        kinds: tuple[str, ...] = images.KINDS,
    ) -> None:
        """The arguments of `Dataset.changes`.

        kinds: the kinds of images in the feed
        """
        super().__init__()
        self.properties: Mapping[str, str] = {}
        """Properties for the commit of these changes: pass them as `properties` of any verb to make it idempotent.
        Empty unless the changes come from a cursor."""
        self.position: str = ""
        """Position of a consumer after these changes, as text. A consumer stores it in its own database, in the
        transaction of the rows, and passes it to `Cursor.read(after=)`. Empty unless the changes come from a cursor."""
        if mode not in MODES:
            raise InvalidArgument(f"mode={mode!r} is not one of {', '.join(map(repr, MODES))}")
        history = BranchHistory(snapshot)
        first, last = bounds.resolve(history, start, end, since)
        self._check_range(history, first, last)
        self._snapshot = snapshot
        shown = last if last >= first else max((version for version in history.files if version <= last), default=0)
        self._last = history.snapshot_at(shown) if shown in history.files else snapshot
        manifest = self._last.manifest
        match: Matching = RowIdMatch()
        if key is None and not (manifest.has_stable_row_ids and _began_with_ids(history, first, last, manifest)):
            key = primary_key(manifest.schema) or None
        if key is not None:
            match = key_match(manifest.schema, key, self._last.label)
        elif not manifest.has_stable_row_ids:
            raise InvalidArgument(
                f"{self._last.name} was created without stable row ids and has no primary key, so its rows cannot be"
                " matched across versions: pass key columns (key=['id']), or enable stable row ids from now on with"
                " maintenance.enable_stable_row_ids()"
            )
        self._options: dict[str, Any] = {
            "mode": mode,
            "drop_unchanged": drop_unchanged,
            "key": key,
            "trust_snapshots": trust_snapshots,
            "origin": origin,
            "kinds": kinds,
        }
        self.range = self.range_type(history, first, last, mode, drop_unchanged, kinds, match, trust_snapshots, origin)
        taken = {name.casefold() for name in self._last.manifest.schema.names}
        for name in (*self._feed_names, *system_columns.NAMES):
            if name in taken:
                raise InvalidArgument(
                    f"{self._last.name} has a column {name!r}, and so does the change feed: rename it"
                )

    @property
    def feed_fields(self) -> tuple[pa.Field, ...]:
        """Columns that describe the change of each row."""
        return self._change_fields + (self._origin_fields if self._options["origin"] else ())

    @property
    def _feed_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.feed_fields)

    @property
    def table(self) -> str:
        """Name of the table in messages."""
        return self._snapshot.name

    @property
    def snapshot(self) -> Snapshot:
        """Last version of the range."""
        return self._last

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `Dataset.changes` that return this feed, with the range in versions."""
        options = {name: value for name, value in self._options.items() if name != "kinds"}
        return {"since": self.start - 1, "end": self.end, **options}

    @property
    def start(self) -> int:
        """First version whose commit belongs to the range."""
        return self.range.first

    @property
    def end(self) -> int:
        """Last version whose commit belongs to the range; less than `start` for an empty range."""
        return self.range.last

    @property
    def mode(self) -> Mode:
        """Mode of the feed, as for `Dataset.changes`."""
        return self.range.mode

    @property
    def primary_key(self) -> tuple[str, ...]:
        """Columns of the table's unenforced primary key; empty if it has none."""
        return primary_key(self._last.manifest.schema)

    @property
    def branch(self) -> str | None:
        """Branch of the changes; None for main."""
        return self._snapshot.branch

    @property
    def is_by_key(self) -> bool:
        """Whether rows are identified by the values of columns, and not by row ids."""
        return self._options["key"] is not None

    @property
    def key(self) -> tuple[str, ...]:
        """Columns whose values identify rows; empty if row ids do."""
        key = self._options["key"]
        return () if key is None else (key,) if isinstance(key, str) else tuple(key)

    @property
    def naming_columns(self) -> tuple[str, ...]:
        """Columns that name a row for people: the key columns, or the first column if it may be a key."""
        return self.key or naming_columns(self._last.manifest.schema)

    def follow(self, *, poll: float = 1.0, timeout: float | None = None) -> Follow:
        """Iterates over the commits of the range, then over new ones as they are made; also works with `async for`.

        poll: seconds between two polls of the table
        timeout: seconds without a commit after which the iteration ends; without it, the iteration never ends
        returns: an iterator of values with `version`, `timestamp`, `operation` and `changes`, a feed of that commit
        raises: InvalidArgument for changes of mode net, which are not those of commits

        >>> [commit.version for commit in lance_sql.open("examples/orders.lance").changes(7).follow(timeout=0)]
        [7, 8, 9]
        """
        from lance_sql.changes.follow import Follow

        if self.mode == "net":
            raise InvalidArgument("mode='net' merges commits, which are followed one by one: pass mode='all'")
        return Follow(self, self._snapshot, poll=poll, timeout=timeout)

    def of_version(self, snapshot: Snapshot, version: int) -> ChangeFeed:
        """Returns the feed of one commit, with the same arguments.

        snapshot: of the same branch, not older
        raises: as `Dataset.changes`
        """
        return ChangeFeed(snapshot, end=version, since=version - 1, **self._options)

    def to_debezium(self) -> Iterator[dict[str, Any]]:
        """Yields each change as a dict in Debezium's envelope, for `json.dumps`; an update has both images in one, and
        an update of the key (`naming_columns`) is a delete and then a create.

        raises: as reading the feed

        >>> next(orders.changes().to_debezium())["op"]
        'c'
        """
        from lance_sql.changes.debezium import envelopes

        return envelopes(self)

    def of_inserts_by(self, version: int) -> dict[str, pa.Scalar]:
        """Returns the values of the columns that describe the change, for rows that the commit of a version inserted.

        raises: VersionNotFound
        """
        one = Commits.of([self.range.history.whole(version)], with_origin=self.range.with_origin)
        return {name: column[0] for name, column in one.columns(images.INSERT, one.names, images.ONE_ID).items()}

    def only(self, kind: str) -> ChangeFeed:
        """Returns the feed without images of other kinds.

        kind: "insert", "delete", "update_preimage" or "update_postimage"
        raises: InvalidArgument
        """
        if kind not in images.KINDS:
            raise InvalidArgument(f"{kind!r} is not one of {', '.join(map(repr, images.KINDS))}")
        return self._of_kinds((kind,))

    def _of_kinds(self, kinds: tuple[str, ...]) -> ChangeFeed:
        return ChangeFeed(self._snapshot, **self.arguments, kinds=kinds)

    def with_properties(self, properties: Mapping[str, str], position: str) -> Self:
        """Returns a copy of the feed with `properties` and `position`."""
        same = copy(self)
        same.properties = dict(properties)
        same.position = position
        return same

    def _check_range(self, history: BranchHistory, first: int, last: int) -> None:
        """
        raises: VersionNotFound
        """
        history.check_range(first, last)

    @cached_property
    def _fields(self) -> tuple[pa.Field, ...]:
        # a column that an image's version did not have is NULL in it
        return tuple(map(nullable, self._last.manifest.schema.arrow))

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """Index of each top-level column of the range's last version, by name."""
        return {name: number for number, name in enumerate(self._last.manifest.schema.names)}

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the range's last version, then the columns of the change and `_rowid`."""
        return pa.schema(
            [*self._fields, *self.feed_fields, system_columns.field(system_columns.ROW_ID)],
            self._last.manifest.schema.arrow.metadata,
        )

    @property
    def system_columns(self) -> tuple[str, ...]:
        """Columns that can be selected by name, but are not in `schema`; they need stable row ids."""
        return system_columns.VERSION_COLUMNS if self._last.manifest.has_stable_row_ids else ()

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> ChangeScan:
        """Returns a lazy scan of some columns and rows.

        columns, filter, limit, batch_size: as for `Dataset.scan`. Filters on `_change_type`, `_commit_version`,
            `_commit_timestamp` and `_rowid` prune commits and rows before they are read; filters on other columns
            apply to the values of each image
        raises: ColumnNotFound, InvalidArgument, UnsupportedFeature as `Dataset.scan`
        """
        names = column_names(columns)
        feed_names = self._feed_names
        chosen = tuple(self._column(name, feed_names) for name in (self.schema.names if names is None else names))
        if len({column.name for column in chosen}) < len(chosen):
            raise InvalidArgument("A column is selected twice: name it once")
        return ChangeScan(self, chosen, self.predicate(filter), limit, batch_size)

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns all changes as a stream of batches."""
        return self.scan().to_reader()

    def tasks(self, target_count: int) -> list[ChangeTask]:
        """Splits all changes into at most `target_count` tasks; each is picklable and can be read in any process."""
        return self.scan().tasks(target_count)

    def to_html(self, filter: Filter | None = None) -> str:
        """Renders the rows that each commit inserted, updated and deleted, as a page in one file that needs no network.
        It shows the first rows of each commit, and counts all.

        filter: a condition on images, as for `scan`
        raises: MissingDependency where Jinja2 is not installed; as `scan`
        """
        from lance_sql.changes import feed_page

        return feed_page.as_page(self, self.predicate(filter))

    def _repr_html_(self) -> str | None:
        from lance_sql.changes import feed_page

        return feed_page.as_part(self)

    def explain(self) -> str:
        """Returns the plan of a scan of all changes as text."""
        return self.scan().explain()

    def explain_commits(self) -> list[str]:
        """Returns lines of `explain` about how the changes of commits are determined."""
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

    def _column(self, name: str, feed_names: tuple[str, ...]) -> FeedColumn:
        number = self._numbers.get(name)
        if number is not None:
            return FeedColumn(name, number, (), self._fields[number])
        if name in feed_names:
            return FeedColumn(name, None, (), self.schema.field(name))
        if name in (system_columns.ROW_ID, *self.system_columns):
            return FeedColumn(name, None, (), system_columns.field(name))
        schema = self._last.manifest.schema
        top, *below = schema.resolve(name, table=str(self), also=(*feed_names, *system_columns.NAMES))
        number = self._numbers[top.name]
        if not below:
            return FeedColumn(name, number, (), self._fields[number])
        leaf = arrow_field(below[-1])
        path = tuple(field.name for field in below)
        return FeedColumn(name, number, path, pa.field(name, leaf.type, True, leaf.metadata))

    @overload
    def predicate(self, filter: None) -> None: ...

    @overload
    def predicate(self, filter: Filter) -> Predicate: ...

    def predicate(self, filter: Filter | None) -> Predicate | None:
        """Parses a filter on images and binds it to the columns of the feed.

        raises: as `scan`
        """
        return bound(filter, self.schema, self.system_columns, str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # unlike a start, `since` may be the end of an empty range
        return partial(ChangeFeed, **self.arguments, kinds=self._options["kinds"]), (self._snapshot,)

    def __str__(self) -> str:
        branch = f" branch {self._snapshot.branch!r}" if self._snapshot.branch else ""
        return f"changes of {self._snapshot.name}{branch} versions {self.start} to {self.end}, mode {self.mode}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


def _began_with_ids(history: BranchHistory, first: int, last: int, manifest: Manifest) -> bool:
    """Whether rows have stable ids before a range as well; True if there is no primary key to use instead."""
    if last < first or first - 1 not in history.files or not primary_key(manifest.schema):
        return True
    return history.snapshot_at(first - 1).manifest.has_stable_row_ids
