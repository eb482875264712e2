"""Cursors: named, durable positions in the feed of a table. A job continues where its last run stopped.

    cursor = orders.cursors.open("warehouse", start="earliest")
    with cursor.read(mode="net") as changes:      the changes since the last run; an empty feed if there are none
        ...                                       the cursor advances when the block succeeds

A run that dies does not move the cursor, so the next one reads the same changes. If two runs overlap, one moves the
cursor, and the block of the other raises CommitConflict. A commit to a Lance table with `properties=changes.properties`
records the changes and is idempotent, so neither case writes a row twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NoReturn, Unpack

from lance_sql.changes import bounds, positions
from lance_sql.changes.bounds import Bound
from lance_sql.changes.deliveries import Delivery
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.plan import Mode
from lance_sql.changes.snapshot_feed import SnapshotFeed
from lance_sql.errors import CommitConflict, InvalidArgument, RetryableConflict, TableNotFound, VersionNotFound
from lance_sql.store.access import Access, AccessOptions
from lance_sql.table import address, cursor_files, cursor_ids
from lance_sql.table.cursor_files import CursorRecord, Origin
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.keywords import class_suggests_keywords
from lance_sql.values.local_paths import place_text, shown
from lance_sql.values.records import Record
from lance_sql.writes.commit import consumed
from lance_sql.writes.commit.consumed import Consumed
from lance_sql.writes.statements.session import while_there


class _Block:
    """The block of `Cursor.read` or `Cursor.deliver`. Names the mistake of using it without `with`.

    call: as the user writes it
    """

    def __init__(self, reading: AbstractContextManager[ChangeFeed], call: str) -> None:
        self._reading = reading
        self._call = call

    def __enter__(self) -> ChangeFeed:
        return self._reading.__enter__()

    def __exit__(self, *raised: Any) -> bool | None:
        return self._reading.__exit__(*raised)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._call} begins a block: with cursor.{self._call} as changes: changes.{name}")


@dataclass(frozen=True, slots=True, repr=False)
class Lag(Record):
    """Lag of a cursor behind the newest version.

    versions: the number of versions committed since
    rows: the number of images of their changes, in mode "all"; with the rows of the snapshot that a cursor begins with
    seconds: since the oldest of them was committed; 0.0 if there are none
    """

    versions: int
    rows: int
    seconds: float


@class_suggests_keywords
class Cursor:
    """Named position in the feed of a table. Any number of processes may have handles on the same cursor.

    >>> cursor = orders.cursors.open("warehouse", start="latest")
    >>> changed = orders.delete("status = 'cancelled'")
    >>> with cursor.read() as changes:
    ...     print(changes.count_rows("_change_type = 'delete'"))
    18
    >>> cursor.lag().versions
    0
    """

    def __init__(self, snapshot: Snapshot, name: str, key: str | Sequence[str] | None = None) -> None:
        self._snapshot = snapshot
        self._key = key
        self.name = name

    @property
    def position(self) -> int:
        """Last version whose changes were processed, as of now.

        raises: VersionNotFound for a cursor that was dropped
        """
        return self._record().position

    def read(
        self,
        *,
        mode: Mode = "all",
        until: Bound | None = None,
        target: object | None = None,
        after: str | None = "",
        drop_unchanged: bool = False,
        key: str | Sequence[str] | None = None,
        trust_snapshots: bool = False,
        origin: bool = False,
        **access: Unpack[AccessOptions],
    ) -> AbstractContextManager[ChangeFeed]:
        """Returns the changes since the last run, for a block that advances the cursor when it succeeds.

        until: a version, a tag or a time: the last version whose changes are read; the newest one by default
        target: the Lance table that the changes go to, a `Dataset`, or a path or URI. Changes that it already has,
            because a run died between its commit and the move of the cursor, are not read again. Changes that a
            restore took from it are
        access: keywords of `lance_sql.open`, for a target that is given by its path or URI
        after: the `position` of the last changes that a database has, stored in the transaction of their rows. The feed
            begins after these changes, wherever the cursor is. None for a database without changes; by default, the
            cursor's own position counts
        mode, drop_unchanged, key, trust_snapshots, origin: as for `Dataset.changes`
        returns: a context manager; its value is a change feed, with the properties that a commit of the changes needs
        raises: VersionNotFound if versions that are needed were removed, and for a target that lost all changes that
            the cursor delivered; InvalidArgument; at the end of the block CommitConflict if another run has moved the
            cursor
        """
        options = {
            "mode": mode,
            "drop_unchanged": drop_unchanged,
            "key": self._key if key is None else key,
            "trust_snapshots": trust_snapshots,
            "origin": origin,
        }
        if after != "" and target is not None:
            raise InvalidArgument("Pass either target= (a Lance table) or after= (the position stored in a database)")
        access_of_target = Access.of(**access)
        given = None if target is None else _Target(target, access_of_target)
        return _Block(self._reading(until, given, after, options), "read()")

    def deliver(
        self,
        connection: object,
        *,
        mode: Mode = "all",
        until: Bound | None = None,
        drop_unchanged: bool = False,
        key: str | Sequence[str] | None = None,
        trust_snapshots: bool = False,
        origin: bool = False,
    ) -> AbstractContextManager[ChangeFeed]:
        """Returns the changes that a database lacks, for a block that writes their rows into it, exactly once.

        The block is one transaction of the connection. Its end commits the rows and the position, which a table
        `lance_sql_positions` of the database has, and advances the cursor. Any error in it rolls both back. Of runs at
        the same time each one continues after the other, or raises CommitConflict and changes nothing.

        connection: of sqlite3, psycopg or duckdb, without an open transaction. The block writes by this connection and
            does not commit; in DuckDB, `connection.cursor()` is another connection
        mode, until, drop_unchanged, key, trust_snapshots, origin: as for `read`
        returns: a context manager; its value is a change feed
        raises: UnsupportedFeature for other connections; InvalidArgument for an open transaction, and for a block that
            ended it; CommitConflict; VersionNotFound as `read(after=)`; errors of the database
        """
        options = {
            "mode": mode,
            "drop_unchanged": drop_unchanged,
            "key": self._key if key is None else key,
            "trust_snapshots": trust_snapshots,
            "origin": origin,
        }
        return _Block(self._delivering(connection, until, options), "deliver(connection)")

    @contextmanager
    def _delivering(
        self, connection: object, until: Bound | None, options: Mapping[str, object]
    ) -> Iterator[ChangeFeed]:
        family = cursor_ids.family(self._record().id)
        delivery = Delivery(connection, family, f"{self._snapshot.name}, cursor {self.name}")
        try:
            with self._reading(until, None, delivery.position, options) as feed:
                yield feed
                delivery.commit(feed.position)
        except CommitConflict:
            # a later run has moved the cursor, and the position in the database alone decides
            if not delivery.is_committed:
                raise
        finally:
            delivery.roll_back()

    @contextmanager
    def _reading(
        self, until: Bound | None, target: _Target | None, after: str | None, options: Mapping[str, object]
    ) -> Iterator[ChangeFeed]:
        stored, taken = self._record(), None
        while target is not None:
            taken = target.position(stored)
            # both of one moment
            before, stored = stored, self._record()
            if stored.token == before.token:
                break
        history = BranchHistory(self._latest())
        record = stored
        if after != "":
            record = positions.of_database(stored, history, after)
        if target is not None:
            record = positions.of_target(stored, history, taken, target.name)
        feed = self._feed(record, history, until, options)
        yield feed
        # the branch of the target may have been published
        with suppress(VersionNotFound):
            taken = None if target is None else target.position(record)
            if taken is not None and taken.id == record.id:
                record = replace(record, delivered=taken.version)
        if feed.end >= feed.start:
            self._move(stored, record.at(feed.end, feed.snapshot.token))
        elif (record.position, stored.needs_snapshot) > (stored.position, record.needs_snapshot):
            self._move(stored, record)

    def peek(self, *, mode: Mode = "all", until: Bound | None = None) -> ChangeFeed:
        """Returns the changes that `read` would return, without moving the cursor.

        raises: as `read`
        """
        return self._feed(self._record(), BranchHistory(self._latest()), until, {"mode": mode, "key": self._key})

    def seek(self, to: Bound) -> Cursor:
        """Moves the cursor to another position; changes recorded in target tables no longer count.

        to: where the next run begins, as `start` of `Dataset.cursors.open`
        returns: the cursor
        raises: as `Dataset.cursors.open`; CommitConflict if a run has moved the cursor meanwhile
        """
        latest, record = self._latest(), self._record()
        origin = positions.origin(latest, to)
        cursor_files.seek(self._snapshot.main, record, origin)
        _check_told(latest, origin)
        return self

    def drop(self) -> None:
        """Removes the cursor.

        raises: VersionNotFound if it does not exist
        """
        cursor_files.drop(self._snapshot.main, self.name, self._snapshot.name)

    def lag(self) -> Lag:
        """Returns how many versions, rows and seconds the cursor is behind.

        raises: as `read`
        """
        record = self._record()
        feed = self._feed(record, BranchHistory(self._latest()), None, {"mode": "all", "key": self._key})
        if feed.end < feed.start:
            return Lag(0, 0, 0.0)
        newest = self._latest()
        oldest = BranchHistory(newest).snapshot_at(min(record.position + 1, newest.version)).manifest.timestamp
        rows = feed.count_rows()
        if record.needs_snapshot and record.position < newest.version:
            rows += ChangeFeed(newest, since=record.position, key=self._key).count_rows()
        return Lag(newest.version - record.position, rows, max((datetime.now(UTC) - oldest).total_seconds(), 0.0))

    def _record(self) -> CursorRecord:
        return cursor_files.existing(self._snapshot.main, self.name, self._snapshot.name)

    def _latest(self) -> Snapshot:
        return self._snapshot.latest()

    def _feed(
        self, record: CursorRecord, history: BranchHistory, until: Bound | None, options: Mapping[str, object]
    ) -> ChangeFeed:
        """Returns the feed of changes after the position of a record.

        history: of the newest version
        """
        latest = history.snapshot
        positions.check(record, history, record.position, record.commit, "the cursor stands at")
        try:
            if record.needs_snapshot:
                whole = history.snapshot_at(record.position)
                feed: ChangeFeed = SnapshotFeed(
                    whole,
                    key=options.get("key"),  # type: ignore[arg-type]  # as read has it
                    origin=bool(options.get("origin")),
                )
                first = 0
            else:
                if until is not None and bounds.last(history, until) < record.position:
                    raise InvalidArgument(
                        f"until={until!r} is before version {record.position}, the position of the cursor {self.name!r}"
                        f" of {latest.name}"
                    )
                feed = ChangeFeed(latest, end=until, since=record.position, **options)  # type: ignore[arg-type]
                first = feed.start
        except VersionNotFound as error:
            if record.position in history.files or until is not None:
                raise
            raise VersionNotFound(
                f"The cursor {self.name!r} of {latest.name} stands at version {record.position}, which was removed:"
                f" {error.message}. Call seek('snapshot') to make a new copy from all rows of the newest version, or"
                " seek a later version and miss the changes before it"
            ) from error
        if feed.end < feed.start:
            return feed.with_properties({}, positions.text(record.id, record.position, record.commit))
        commit = feed.snapshot.token
        properties = consumed.properties(record.id, first, feed.end, commit)
        return feed.with_properties(properties, positions.text(record.id, feed.end, commit))

    def _move(self, record: CursorRecord, moved: CursorRecord) -> None:
        try:
            cursor_files.move(self._snapshot.main, record, moved)
        except RetryableConflict as error:
            raise CommitConflict(
                f"The cursor {self.name!r} of {self._snapshot.name} was moved while its changes were read, by another"
                " run or by seek: read from it again"
            ) from error

    def __repr__(self) -> str:
        return f"lance_sql.Cursor({shown(self._snapshot.uri)!r}, {self.name!r})"


def open_cursor(snapshot: Snapshot, name: str, start: Bound, key: str | Sequence[str] | None = None) -> Cursor:
    """Opens a cursor of the snapshot's branch, or creates it; see `Dataset.cursors.open`."""
    with while_there(snapshot):
        record = cursor_files.read(snapshot.main, name)
        if record is None:
            latest = snapshot.latest()
            origin = positions.origin(latest, start)
            # raise errors of the feed now
            _ = SnapshotFeed(latest, key=key)
            first = CursorRecord.first(snapshot.main, name, snapshot.branch, origin)
            record = cursor_files.create(snapshot.main, first)
            try:
                _check_told(latest, origin)
            except VersionNotFound:
                cursor_files.drop(snapshot.main, name, snapshot.name)
                raise
    cursor_files.check_branch(record, snapshot.branch, snapshot.name)
    return Cursor(snapshot, name, key)


def _check_told(latest: Snapshot, origin: Origin) -> None:
    """Checks that no cleanup removed versions that a cursor needs before it saw the cursor.

    raises: VersionNotFound
    """
    history = BranchHistory(latest)
    if origin.needs_snapshot:
        history.snapshot_at(origin.position)
    else:
        history.check_range(origin.position + 1, latest.version)


class _Target:
    """Table that the changes go to.

    table: a `Dataset`, or a path or URI
    access: to the files of a path or URI
    """

    def __init__(self, table: object, access: Access) -> None:
        snapshot = getattr(table, "snapshot", None)
        self._table = snapshot if isinstance(snapshot, Snapshot) else table
        self._access = access

    @property
    def name(self) -> str:
        return self._table.name if isinstance(self._table, Snapshot) else shown(str(self._table))

    def position(self, record: CursorRecord) -> Consumed | None:
        """Returns the current position of a cursor in the table; None if it has none, or if there is no table."""
        try:
            if isinstance(self._table, Snapshot):
                latest = self._table.latest()
            else:
                uri = address.of_newest(place_text(self._table), self._access)
                latest = open_snapshot(uri, access=self._access)
            return consumed.position(latest.manifest.config, record.id)
        except TableNotFound:
            return None
