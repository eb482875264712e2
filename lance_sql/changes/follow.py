"""Following a table: its commits one by one, as they arrive.

    for commit in orders.changes(since=41).follow(poll=1.0):
        commit.version, commit.changes.scan().to_table()

Existing commits come first. Each poll lists the newest versions, which is one request to an object store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lance_sql.errors import InvalidArgument
from lance_sql.table import identity, versions
from lance_sql.table.snapshot import Snapshot

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed

_LEAST_WAIT: Final = 0.01


@dataclass(frozen=True)
class FollowedCommit:
    """One commit of a followed table.

    version: the version that it created
    timestamp: the time of the commit, in UTC
    operation: the operation, such as "append"; None if it is not recorded
    changes: its changes; none of commits such as a compaction
    """

    version: int
    timestamp: datetime
    operation: str | None
    changes: ChangeFeed


class Follow:
    """Synchronous and asynchronous iterator over the commits of a feed and later ones.

    A step that fails, or that Ctrl-C interrupts, loses nothing: the next step continues with the same commit.
    """

    def __init__(self, feed: ChangeFeed, snapshot: Snapshot, *, poll: float, timeout: float | None) -> None:
        """
        poll: seconds between two polls of the table
        timeout: seconds without a commit after which the iteration ends; None for never
        raises: InvalidArgument
        """
        if not poll > 0 or (timeout is not None and not timeout >= 0):
            raise InvalidArgument(f"poll={poll!r} and timeout={timeout!r} are not numbers of seconds")
        self._feed = feed
        self._latest = snapshot
        self._poll = max(poll, _LEAST_WAIT)
        self._timeout = timeout
        self._next = feed.start
        self._quiet_since = time.monotonic()
        self.version = feed.start - 1
        """Last version whose commit was returned."""

    def __iter__(self) -> Iterator[FollowedCommit]:
        return self

    def __next__(self) -> FollowedCommit:
        """
        raises: StopIteration after a timeout; as `Dataset.changes`, of commits that were removed meanwhile as well
        """
        while True:
            commit = self._step()
            if commit is not None:
                return commit
            wait = self._wait()
            if wait is None:
                raise StopIteration
            time.sleep(wait)

    def __aiter__(self) -> AsyncIterator[FollowedCommit]:
        return self

    async def __anext__(self) -> FollowedCommit:
        """
        raises: StopAsyncIteration after a timeout; as `__next__`
        """
        while True:
            commit = await asyncio.to_thread(self._step)
            if commit is not None:
                return commit
            wait = self._wait()
            if wait is None:
                raise StopAsyncIteration
            await asyncio.sleep(wait)

    def _step(self) -> FollowedCommit | None:
        """Returns the next commit; None if there is none yet."""
        if self._next > self._latest.version:
            latest = self._latest.latest()
            if latest is not self._latest:
                _check_follows(self._latest, latest)
            self._latest = latest
        if self._next > self._latest.version:
            return None
        changes = self._feed.of_version(self._latest, self._next)
        commit = changes.range.history.commit(self._next)
        self.version = self._next
        self._next += 1
        self._quiet_since = time.monotonic()
        return FollowedCommit(commit.version, commit.timestamp, commit.operation, changes)

    def _wait(self) -> float | None:
        """Returns the seconds until the next poll; None after the timeout."""
        if self._timeout is None:
            return self._poll
        left = self._quiet_since + self._timeout - time.monotonic()
        return None if left <= 0 else min(self._poll, left)


def _check_follows(before: Snapshot, latest: Snapshot) -> None:
    """Checks that the newest version succeeds the version seen before, in the same table and branch.

    raises: VersionNotFound
    """
    file = versions.find_version(before.store, before.version)
    if latest.version < before.version or (file is not None and not before.is_still(file)):
        raise identity.replaced(before.label, before.branch, "was followed")
