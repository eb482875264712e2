"""Publishing of a branch: its net changes, committed to the branch that it began with.

    main     7 ------------------------ 8 ---- 9 = the net changes 7..10 of the branch
    load       \\ 8 -- 9 -- 10          a commit of another writer

The change feed of the branch contains its deleted, updated and inserted rows, as they are at its end. Updated rows keep
their ids, even if main has moved them meanwhile. A row that main has changed or deleted since the branch began is a
conflict. So is a key that both have given to different rows. A conflict publishes nothing.

The config records how far the branch is published (`changes.publishing.progress`). A second attempt finds the first
one, and later commits of a kept branch are published from there on. State that verbs store in the config is published
too (`changes.publishing.kept_state`). Rows of the branch that break a rule of the table are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.contracts import broken, check
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.changes.keyed import key_match
from lance_sql.changes.publishing import kept_state
from lance_sql.changes.publishing.progress import Progress, is_part, marker, progress, recorded
from lance_sql.changes.publishing.publication import Publication
from lance_sql.errors import (
    CommitConflict,
    CorruptFile,
    InvalidArgument,
    RetryableConflict,
    UnsupportedFeature,
    VersionNotFound,
)
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads.scan.scanning import numbers, scan
from lance_sql.reads.scan.system_columns import LAST_UPDATED_AT, ROW_ADDRESS, ROW_ID
from lance_sql.table import applied, versions
from lance_sql.table.commit_summary import PUBLISHED
from lance_sql.table.location import branch_store
from lance_sql.table.refs import Ref
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.version_names import unknown_name
from lance_sql.values import selection
from lance_sql.values.arrays import U64
from lance_sql.values.keys import columns_of, numbered, pairs
from lance_sql.writes.commit import clones
from lance_sql.writes.statements.row_changes import RowChange, commit, deleted, inserted, replaced, write
from lance_sql.writes.statements.session import WriteSession, on_latest, while_there

_IN_CONFLICT: Final = 1000
"""Maximum number of rows of a conflict that are shown."""


def plan(snapshot: Snapshot, name: str, key: str | Sequence[str] | None = None) -> Publication:
    """Plans `publish` without committing.

    raises: as `publish`, except for rows that both have changed
    """
    latest = snapshot.latest()
    part = _Part.of(_Branch.open(latest, name), latest)
    branch = part.branch
    kept_state.changed(part.before, branch.head, latest)
    conflicts = _conflicts(part, latest, _key(latest, key))
    counts = part.counts()
    return Publication(
        latest.name,
        name,
        branch.head.version,
        branch.ref.version,
        latest.version,
        counts.get(INSERT, 0),
        counts.get(POSTIMAGE, 0),
        counts.get(DELETE, 0),
        conflicts,
        check(branch.head, part.progress.since, rules_of=latest),
        latest.branch or "main",
    )


def publish(
    snapshot: Snapshot,
    name: str,
    *,
    key: str | Sequence[str] | None = None,
    keep: bool = False,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Commits the net changes of a branch to the branch that it began with, as one version; none without changes.

    snapshot: any version of the branch that is published to
    key: columns that identify rows: a key that both have given to different rows is a conflict; the primary key by
        default
    keep: the branch is not deleted; the next publication contains its later commits. A branch that gets another
        commit meanwhile is kept as well
    raises: ContractBroken if the rows break a rule; VersionNotFound; CommitConflict with the rows that both have
        changed, and for applied changes, views, cursors and numbered writes of both; InvalidArgument for a branch that
        began elsewhere, for one that a tag or another branch needs, and for a table without stable row ids;
        UnsupportedFeature if the branch changed columns
    """
    branch = _Branch.open(snapshot, name)
    if not keep:
        clones.check_unneeded(snapshot, name)

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        part = _Part.of(branch, latest)
        if part.is_empty:
            return latest.sibling(BranchHistory(latest).files[part.progress.onto][1])
        conflicts = _conflicts(part, latest, _key(latest, key))
        if conflicts.num_rows:
            raise _conflict(part, latest, conflicts)
        report = check(branch.head, part.progress.since, rules_of=latest)
        if not report.is_kept:
            raise broken(report, "was not published")
        return _commit(part, session, by_key=_key(latest, key) is not None)

    marked = {**(properties or {}), PUBLISHED: marker(branch.ref, branch.head.version)}
    # another publication may delete the branch while it is read
    with while_there(branch.head):
        published = on_latest(snapshot, "publish", change, marked)
    if not keep:
        # a branch with a new commit is kept, and is published from there on
        with suppress(RetryableConflict):
            clones.delete_branch(published, name, head=branch.head)
    return published


def _key(latest: Snapshot, key: str | Sequence[str] | None) -> Sequence[str] | None:
    """Returns the columns that identify rows; None if there are none."""
    wanted = key if key is not None else primary_key(latest.manifest.schema) or None
    return None if wanted is None else key_match(latest.manifest.schema, wanted, latest.label).names


@dataclass(frozen=True)
class _Branch:
    """Branch to publish.

    head: its newest version
    ref: where it began
    """

    name: str
    head: Snapshot
    ref: Ref

    @classmethod
    def open(cls, snapshot: Snapshot, name: str) -> _Branch:
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
        store = branch_store(snapshot.uri, name, snapshot.storage_options)
        file = versions.newest(store)
        if file is None and name not in snapshot.branches():
            raise VersionNotFound(unknown_name("branch", name, snapshot.name, snapshot.branches()))
        if file is None:
            raise CorruptFile(f"{snapshot.name}: the branch {name!r} has no version: delete it")
        head = Snapshot(snapshot.uri, snapshot.main, store, file, branch=name, storage_options=snapshot.storage_options)
        if not head.manifest.has_stable_row_ids:
            raise InvalidArgument(
                f"{snapshot.name} has no stable row ids, which match the rows of both branches: call"
                " enable_stable_row_ids()"
            )
        return cls(name, head, ref)


@dataclass(frozen=True)
class _Part:
    """Commits of a branch that are not published yet.

    progress: where they begin
    before: the version of the branch there
    feed: their net changes
    """

    branch: _Branch
    progress: Progress
    before: Snapshot
    feed: ChangeFeed

    @classmethod
    def of(cls, branch: _Branch, latest: Snapshot) -> _Part:
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

    def counts(self) -> dict[str, int]:
        """Counts the images of each kind."""
        kinds = self.feed.scan([CHANGE_TYPE]).to_table().column(CHANGE_TYPE)
        return {entry["values"]: entry["counts"] for entry in pc.value_counts(kinds).to_pylist()}

    def ids(self, *kinds: str) -> U64:
        """Returns the row ids of the images of these kinds."""
        return _ids(self.feed, kinds)


def _commit(part: _Part, session: WriteSession, *, by_key: bool) -> Snapshot:
    latest, branch = session.snapshot, part.branch
    before, now = (each.manifest.schema.arrow for each in (branch.head, latest))
    # a replaced column would keep the values of the old one in rows that the branch did not write
    theirs = ChangeFeed(latest, since=part.progress.onto)
    if not before.equals(now) or part.feed.range.replaced_columns != theirs.range.replaced_columns:
        raise UnsupportedFeature(
            f"The columns of {branch.head.label} differ from those of {latest.label}: change them on both, then publish"
        )
    updated, gone = part.ids(POSTIMAGE), part.ids(DELETE)
    config = dict(kept_state.changed(part.before, branch.head, latest))
    ids = np.sort(np.concatenate((updated, gone)))
    places = _addresses(latest, ids)
    if not len(ids) and not len(part.ids(INSERT)) and not config:
        return latest
    if applied.KEY in config:
        for path in kept_state.copy_applied(branch.head, latest):
            session.track([path])
    config |= recorded(branch.ref, branch.head.version, latest, latest.branches().values())

    def changes() -> Iterator[RowChange]:
        """Yields updated rows as of the end of the branch, then inserted rows, in the order of their ids there."""
        yield deleted(places[np.searchsorted(ids, gone)])
        for batch in part.feed.only(POSTIMAGE).scan([*now.names, ROW_ID]).to_reader():
            own_ids, rows = numbers(batch, ROW_ID), pa.Table.from_batches([batch.select(now.names)])
            yield replaced(now, rows, None, own_ids, places[np.searchsorted(ids, own_ids)])
        for batch in part.feed.only(INSERT).scan(now.names).to_reader():
            yield inserted(latest, pa.Table.from_batches([batch]), batch.num_rows)

    written = write(latest, changes(), session.writer, in_order=True)
    # rows of other commits can only conflict by key
    return commit(session, [written], inserts_by_key=by_key, config=config)


def _addresses(snapshot: Snapshot, ids: U64) -> U64:
    """Returns the addresses of rows.

    ids: ascending
    raises: CommitConflict for rows that no longer exist
    """
    if not len(ids):
        return ids
    rows = pa.Table.from_batches(scan(snapshot, [ROW_ID, ROW_ADDRESS], pc.field(ROW_ID).isin(pa.array(ids))))
    if rows.num_rows < len(ids):
        raise CommitConflict(
            f"{snapshot.label}: {len(ids) - rows.num_rows} rows of the branch are missing: they were changed"
            " concurrently"
        )
    return numbers(rows.sort_by(ROW_ID), ROW_ADDRESS)


def _ids(feed: ChangeFeed, kinds: Sequence[str]) -> U64:
    if feed.end < feed.start:
        return np.empty(0, np.uint64)
    listed = ", ".join(f"'{kind}'" for kind in kinds)
    table = feed.scan([ROW_ID], f"{CHANGE_TYPE} IN ({listed})").to_table()
    ids: U64 = table.column(ROW_ID).to_numpy()
    return ids


def _conflicts(part: _Part, latest: Snapshot, key: Sequence[str] | None) -> pa.Table:
    """Returns rows that both have changed, and new rows with the same key; see `Publication`."""
    theirs = ChangeFeed(latest, since=part.progress.onto, mode="net", drop_unchanged=True)
    schema = pa.schema([*theirs.schema, pa.field("side", pa.string())])
    earlier = both = _changed_before(part, latest, key)
    if theirs.end >= theirs.start:
        both = np.union1d(both, np.intersect1d(part.ids(PREIMAGE, DELETE), _ids(theirs, (PREIMAGE, DELETE))))
        if key is not None:
            both = np.union1d(both, _with_equal_keys(_keyed(part.feed, key), _keyed(theirs, key), key))
    if len(earlier):
        theirs = ChangeFeed(latest, since=part.branch.ref.version, mode="net", drop_unchanged=True)
    if not len(both):
        return schema.empty_table()
    chosen = both[:_IN_CONFLICT]
    sides = []
    for side, feed in (("branch", part.feed), ("other", theirs)):
        rows = feed.scan(filter=None).to_table()
        rows = selection.filter(rows, pc.is_in(rows.column(ROW_ID), pa.array(chosen)))
        sides.append(rows.append_column("side", pa.repeat(pa.scalar(side), rows.num_rows)))
    return pa.concat_tables(sides, promote_options="permissive")


def _changed_before(part: _Part, latest: Snapshot, key: Sequence[str] | None) -> U64:
    """Returns the ids of rows that others changed before an earlier part of the branch was published, and that this
    part changes too, or whose keys it gives to other rows. Changes since that publication do not contain them."""
    begins, onto = part.branch.ref.version, part.progress.onto
    mine = part.ids(PREIMAGE, DELETE)
    if part.progress.since == begins:
        return mine[:0]
    version, names = pc.field(LAST_UPDATED_AT), [*(key or ()), ROW_ID, LAST_UPDATED_AT]
    batches = list(scan(latest, names, (version > begins) & (version <= onto)))
    there = [numbers(batch, ROW_ID) for batch in scan(latest, [ROW_ID], pc.field(ROW_ID).isin(pa.array(mine)))]
    gone = np.setdiff1d(mine, np.concatenate([*there, mine[:0]]))
    if not batches:
        return gone
    rows, history = pa.Table.from_batches(batches), BranchHistory(latest)
    made = pc.unique(rows.column(LAST_UPDATED_AT)).to_pylist()
    parts = [each for each in made if each in history.files and is_part(part.branch.ref, history.snapshot_at(each))]
    rows = selection.filter(rows, pc.invert(pc.is_in(rows.column(LAST_UPDATED_AT), pa.array(parts, pa.uint64()))))
    both = np.union1d(gone, np.intersect1d(mine, rows.column(ROW_ID).to_numpy()))
    return both if key is None else np.union1d(both, _with_equal_keys(_keyed(part.feed, key), rows, key))


def _keyed(feed: ChangeFeed, key: Sequence[str]) -> pa.Table:
    """Returns the keys and ids of rows after the changes."""
    return feed.scan([*key, ROW_ID], f"{CHANGE_TYPE} IN ('{INSERT}', '{POSTIMAGE}')").to_table()


def _with_equal_keys(mine: pa.Table, theirs: pa.Table, names: Sequence[str]) -> U64:
    """Returns the ids of rows with keys that both have given to different rows."""
    sides = [side.combine_chunks() for side in (mine, theirs)]
    my_keys, their_keys = numbered([columns_of(side, names) for side in sides], nulls_are_equal=False)
    at_mine, at_theirs = pairs(my_keys, their_keys)
    ids = [side.column(ROW_ID).to_numpy() for side in sides]
    equal: U64 = np.union1d(ids[0][at_mine], ids[1][at_theirs])
    return equal


def _conflict(part: _Part, latest: Snapshot, conflicts: pa.Table) -> CommitConflict:
    ids = pc.unique(conflicts.column(ROW_ID))
    first = conflicts.slice(0, 1).drop_columns([CHANGE_TYPE, "side"]).to_pylist()[0]
    return CommitConflict(
        f"{len(ids)} rows were changed on {part.branch.head.label} and since version {part.branch.ref.version} on"
        f" {latest.label}, such as {first}. Nothing was published: see plan_publish({part.branch.name!r}).conflicts"
    )
