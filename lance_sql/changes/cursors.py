"""Cursors: named, durable positions in the feed of a table. A job continues where its last run stopped.

    cursor = orders.cursor("warehouse", start="earliest")
    with cursor.read(mode="net") as changes:      the changes since the last run; an empty feed if there are none
        ...                                       the cursor advances when the block succeeds

A run that dies does not move the cursor, so the next one reads the same changes. If two runs overlap, one moves the
cursor, and the block of the other raises CommitConflict. A commit to a Lance table with `properties=changes.properties`
records the changes and is idempotent, so neither case writes a row twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from lance_sql.changes import bounds
from lance_sql.changes.bounds import Bound
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.plan import Mode
from lance_sql.changes.snapshot_feed import SnapshotFeed
from lance_sql.errors import CommitConflict, InvalidArgument, RetryableConflict, TableNotFound, VersionNotFound
from lance_sql.table import cursor_files
from lance_sql.table.cursor_files import CursorRecord
from lance_sql.table.open_snapshot import open_snapshot
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.local_paths import shown
from lance_sql.writes.commit import consumed
from lance_sql.writes.statements.session import while_there

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
SNAPSHOT: Final = "snapshot"
_POSITION: Final = re.compile(r"(\w+) (\d{1,19}) (.*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Lag:
    """Lag of a cursor behind the newest version.

    versions: the number of versions committed since
    rows: the number of images of their changes, in mode "all"; with the rows of the snapshot that a cursor begins with
    seconds: since the oldest of them was committed; 0.0 if there are none
    """

    versions: int
    rows: int
    seconds: float


class Cursor:
    """Named position in the feed of a table. Any number of processes may have handles on the same cursor.

    >>> cursor = orders.cursor("warehouse", start="latest")
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
    ) -> AbstractContextManager[ChangeFeed]:
        """Returns the changes since the last run, for a block that advances the cursor when it succeeds.

        until: a version, a tag or a time: the last version whose changes are read; the newest one by default
        target: the Lance table that the changes go to, a `Dataset`, or a path or URI. Changes that it already has,
            because a run died between its commit and the move of the cursor, are not read again
        after: the `position` of the last changes that a database has, stored in the transaction of their rows. The feed
            begins after these changes, wherever the cursor is. None for a database without changes; by default, the
            cursor's own position counts
        mode, drop_unchanged, key, trust_snapshots: as for `Dataset.changes`
        returns: a context manager; its value is a change feed, with the properties that a commit of the changes needs
        raises: VersionNotFound if versions that are needed were removed; InvalidArgument; at the end of the block
            CommitConflict if another run has moved the cursor
        """
        options = {
            "mode": mode,
            "drop_unchanged": drop_unchanged,
            "key": self._key if key is None else key,
            "trust_snapshots": trust_snapshots,
        }
        return self._reading(until, target, after, options)

    @contextmanager
    def _reading(
        self, until: Bound | None, target: object | None, after: str | None, options: Mapping[str, object]
    ) -> Iterator[ChangeFeed]:
        record = stored = self._record()
        if after != "":
            if target is not None:
                raise InvalidArgument(
                    "Give either target= (a Lance table) or after= (the position that a database has)"
                )
            record = self._delivered(record, after)
        if target is not None:
            record = self._behind(record, target)
        feed = self._feed(record, until, options)
        yield feed
        if feed.end >= feed.start:
            self._move(record, feed.end, feed.snapshot.token)
        elif record.position > stored.position:
            self._move(record, record.position, record.commit)

    def peek(self, *, mode: Mode = "all", until: Bound | None = None) -> ChangeFeed:
        """Returns the changes that `read` would return, without moving the cursor.

        raises: as `read`
        """
        return self._feed(self._record(), until, {"mode": mode, "key": self._key})

    def seek(self, to: Bound) -> Cursor:
        """Moves the cursor to another position; changes recorded in target tables no longer count.

        to: where the next run begins, as `start` of `Dataset.cursor`
        returns: the cursor
        raises: as `Dataset.cursor`; CommitConflict if a run has moved the cursor meanwhile
        """
        latest, record = self._latest(), self._record()
        position, needs_snapshot = beginning(latest, to)
        commit = _commit(BranchHistory(latest), position)
        cursor_files.move(self._snapshot.main, record, position, commit, needs_snapshot=needs_snapshot, elsewhere=True)
        _check_told(latest, position, needs_snapshot=needs_snapshot)
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
        feed = self._feed(record, None, {"mode": "all", "key": self._key})
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

    def _feed(self, record: CursorRecord, until: Bound | None, options: Mapping[str, object]) -> ChangeFeed:
        """Returns the feed of changes after the position of a record."""
        latest = self._latest()
        history = BranchHistory(latest)
        self._check(history, record.position, record.commit, "the cursor stands at")
        try:
            if record.needs_snapshot:
                whole = history.snapshot_at(record.position)
                feed: ChangeFeed = SnapshotFeed(whole, key=options.get("key"))  # type: ignore[arg-type]  # as read has it
                first = 0
            else:
                if until is not None and bounds.last(history, until) < record.position:
                    raise InvalidArgument(
                        f"until={until!r} is before version {record.position}, up to which the cursor {self.name!r} of"
                        f" {latest.name} has taken the changes"
                    )
                feed = ChangeFeed(latest, end=until, since=record.position, **options)  # type: ignore[arg-type]
                first = feed.start
        except VersionNotFound as error:
            if record.position in history.files or until is not None:
                raise
            raise VersionNotFound(
                f"The cursor {self.name!r} of {latest.name} stands at version {record.position}, which was removed:"
                f" {error.message} seek('snapshot') takes all rows of the newest version first, for a new copy:"
                " rows that went meanwhile are not told of; seek of a version leaves out what is not known any more"
            ) from error
        if feed.end < feed.start:
            return feed.with_properties({}, _position_text(record.id, record.position, record.commit or ""))
        commit = feed.snapshot.token
        properties = consumed.properties(record.id, first, feed.end, commit)
        return feed.with_properties(properties, _position_text(record.id, feed.end, commit))

    def _check(self, history: BranchHistory, position: int, commit: str | None, what: str) -> None:
        """Checks that a position still refers to the same commit.

        what: describes the commit, for the message
        raises: VersionNotFound
        """
        if commit is None or (position < history.newest and position not in history.files):
            # a cleanup has removed it
            return
        if position not in history.files or _commit(history, position) != commit:
            branch = history.snapshot.branch
            cause = "the table was restored from a backup or written again" if branch is None else "the branch was"
            cause += "" if branch is None else " created again or restored from a backup"
            raise VersionNotFound(
                f"The cursor {self.name!r} of {history.snapshot.name}: version {position}, which {what}, is not the"
                f" same commit any more: {cause}. seek('snapshot') takes all rows of the newest version first, for a"
                " new copy; seek of a version goes on from there"
            )

    def _delivered(self, record: CursorRecord, position: str | None) -> CursorRecord:
        """Returns the record as of the position of a database; stores nothing."""
        if position is None:
            return record.at_origin()
        match = _POSITION.fullmatch(position)
        if match is None:
            raise InvalidArgument(f"after={position!r} is not the position of changes that a cursor has read")
        id, number, commit = match[1], int(match[2]), match[3] or None
        if id != record.id and not record.is_new:
            # the cursor was moved by seek, or created again
            return record
        self._check(BranchHistory(self._latest()), number, commit, "the database has the changes of")
        if id != record.id:
            return record
        return replace(record, position=number, commit=commit, needs_snapshot=False)

    def _behind(self, record: CursorRecord, target: object) -> CursorRecord:
        """Moves the cursor to the position recorded in a target table; returns its record."""
        config = _config(target)
        taken = None if config is None else consumed.up_to(config, record.id)
        if taken is None or (taken[0] <= record.position and not record.needs_snapshot):
            return record
        self._check(BranchHistory(self._latest()), *taken, "the target has the changes of")
        return self._move(record, *taken)

    def _move(self, record: CursorRecord, position: int, commit: str | None) -> CursorRecord:
        try:
            return cursor_files.move(self._snapshot.main, record, position, commit)
        except RetryableConflict as error:
            raise CommitConflict(
                f"The cursor {self.name!r} of {self._snapshot.name} was moved while its changes were taken: another run"
                " has taken the same ones, or somebody has put it elsewhere"
            ) from error

    def __repr__(self) -> str:
        return f"lance_sql.Cursor({shown(self._snapshot.uri)!r}, {self.name!r})"


def open_cursor(snapshot: Snapshot, name: str, start: Bound, key: str | Sequence[str] | None = None) -> Cursor:
    """Opens a cursor of the snapshot's branch, or creates it; see `Dataset.cursor`."""
    with while_there(snapshot):
        record = cursor_files.read(snapshot.main, name)
        if record is None:
            latest = snapshot.latest()
            position, needs_snapshot = beginning(latest, start)
            # raise errors of the feed now
            _ = SnapshotFeed(latest, key=key)
            commit = _commit(BranchHistory(latest), position)
            first = CursorRecord.first(name, snapshot.branch, position, commit, needs_snapshot=needs_snapshot)
            record = cursor_files.create(snapshot.main, first)
            try:
                _check_told(latest, position, needs_snapshot=needs_snapshot)
            except VersionNotFound:
                cursor_files.drop(snapshot.main, name, snapshot.name)
                raise
    cursor_files.check_branch(record, snapshot.branch, snapshot.name)
    return Cursor(snapshot, name, key)


def beginning(latest: Snapshot, start: Bound) -> tuple[int, bool]:
    """Returns the version after which a cursor begins, and whether it reads all rows of that version first.

    raises: VersionNotFound, InvalidArgument
    """
    if start == LATEST:
        return latest.version, False
    if start == SNAPSHOT:
        return latest.version, True
    history = BranchHistory(latest)
    if start != EARLIEST:
        first, _ = bounds.resolve(history, start, None, None)
        history.check_range(first, latest.version)
        return first - 1, False
    oldest = history.oldest_start
    return (oldest - 1, False) if oldest == history.beginning else (oldest - 1, True)


def _position_text(cursor_id: str, position: int, commit: str) -> str:
    """Returns the text that `_POSITION` matches."""
    return f"{cursor_id} {position} {commit}"


def _commit(history: BranchHistory, position: int) -> str | None:
    """Returns the identity of the commit at a position; None if there is no such version."""
    return history.snapshot_at(position).token if position in history.files else None


def _check_told(latest: Snapshot, position: int, *, needs_snapshot: bool) -> None:
    """Checks that no cleanup removed versions that a cursor needs before it saw the cursor.

    raises: VersionNotFound
    """
    history = BranchHistory(latest)
    if needs_snapshot:
        history.snapshot_at(position)
    else:
        history.check_range(position + 1, latest.version)


def _config(target: object) -> dict[str, str] | None:
    """Returns the current config of a table; None if there is no table."""
    snapshot = getattr(target, "snapshot", None)
    try:
        if isinstance(snapshot, Snapshot):
            return dict(snapshot.latest().manifest.config)
        return dict(open_snapshot(target).manifest.config)  # type: ignore[arg-type]  # a path, or refused there
    except TableNotFound:
        return None
