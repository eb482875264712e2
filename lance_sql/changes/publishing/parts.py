"""Unpublished part of a branch: its commits since it began, or since it was last published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.images import CHANGE_TYPE, DELETE, PREIMAGE
from lance_sql.changes.publishing.progress import Progress, progress
from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature, VersionNotFound
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.table import versions
from lance_sql.table.location import branch_store
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import unknown_name
from lance_sql.values.arrays import U64


@dataclass(frozen=True)
class Branch:
    """Branch to publish.

    head: its newest version
    ref: where it began
    """

    name: str
    head: Snapshot
    ref: Ref

    @classmethod
    def open(cls, snapshot: Snapshot, name: str) -> Branch:
        """raises: VersionNotFound, InvalidArgument, UnsupportedFeature"""
        branches = snapshot.branches()
        ref = branches.get(name) if isinstance(name, str) else None
        if ref is None:
            raise VersionNotFound(unknown_name("branch", name, snapshot.name, branches))
        if ref.branch != snapshot.branch:
            began, onto = ref.branch or "main", snapshot.branch or "main"
            raise InvalidArgument(
                f"The branch {name!r} was created from {began!r}, not {onto!r}: publish it to {began!r}"
            )
        store = branch_store(snapshot.uri, name, snapshot.access)
        file = versions.newest(store)
        if file is None and name not in snapshot.branches():
            raise VersionNotFound(unknown_name("branch", name, snapshot.name, snapshot.branches()))
        if file is None:
            raise CorruptFile(f"{snapshot.name}: the branch {name!r} has no version: delete it")
        head = Snapshot(snapshot.uri, snapshot.main, store, file, branch=name, access=snapshot.access)
        if not head.manifest.has_stable_row_ids:
            raise InvalidArgument(
                f"{snapshot.name} has no stable row ids, which match the rows of both branches: call"
                " maintenance.enable_stable_row_ids()"
            )
        return cls(name, head, ref)


@dataclass(frozen=True)
class Part:
    """Commits of a branch that are not published yet.

    progress: where they begin
    before: the version of the branch there
    feed: their net changes
    """

    branch: Branch
    progress: Progress
    before: Snapshot
    feed: ChangeFeed

    @classmethod
    def of(cls, branch: Branch, latest: Snapshot) -> Part:
        """
        raises: UnsupportedFeature for changes of rows that were inserted and published before: they have other ids in
            the other branch; VersionNotFound
        """
        begins = progress(branch.ref, latest)
        history = BranchHistory(branch.head)
        if begins.since > branch.head.version:
            raise VersionNotFound(
                f"The branch {branch.name!r} is published up to version {begins.since}, but is at version"
                f" {branch.head.version} now: it was restored from a backup. Make the load again on a new branch"
            )
        before, base = history.snapshot_at(begins.since), history.snapshot_at(branch.ref.version)
        feed = ChangeFeed(branch.head, since=begins.since, mode="net", drop_unchanged=True)
        part = cls(branch, begins, before, feed)
        if begins.since > branch.ref.version:
            changed = part.ids(PREIMAGE, DELETE)
            if len(changed) and int(changed.max()) >= base.manifest.next_row_id:
                raise UnsupportedFeature(
                    f"{branch.head.label} changed rows that were inserted on the branch and published with version"
                    f" {begins.since}: apply these changes with apply_changes, or repeat the load on a new branch"
                )
        return part

    @property
    def is_empty(self) -> bool:
        """Whether the branch is fully published."""
        return self.progress.since == self.branch.head.version and self.progress.since > self.branch.ref.version

    def count(self, kind: str, without: U64) -> int:
        """Counts the images of a kind.

        without: ids of rows that do not count
        """
        return len(np.setdiff1d(self.ids(kind), without))

    def ids(self, *kinds: str) -> U64:
        """Returns the row ids of the images of these kinds."""
        return ids_of(self.feed, kinds)


def ids_of(feed: ChangeFeed, kinds: Sequence[str]) -> U64:
    if feed.end < feed.start:
        return np.empty(0, np.uint64)
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    table = feed.scan([ROW_ID], f"{CHANGE_TYPE} IN ({listed})").to_table()
    ids: U64 = table.column(ROW_ID).to_numpy()
    return ids
