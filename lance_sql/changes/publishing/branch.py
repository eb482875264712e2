"""Publishing of a branch: its net changes, committed to the branch that it began with.

    main     7 ------------------------ 8 ---- 9 = the net changes 7..10 of the branch
    load       \\ 8 -- 9 -- 10          a commit of another writer

The change feed of the branch contains its deleted, updated and inserted rows, as they are at its end. Updated rows keep
their ids, even if main has moved them meanwhile. A row that main has changed or deleted since the branch began is a
conflict, unless both made it the same. So is a key that both have given to different rows. A conflict publishes
nothing.

The config records how far the branch is published (`changes.publishing.progress`). A second attempt finds the first
one, and later commits of a kept branch are published from there on. State that verbs store in the config is published
too (`changes.publishing.kept_state`). Rows of the branch that break a rule of the table are not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.contracts import ContractReport, broken, check
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.images import DELETE, INSERT, POSTIMAGE
from lance_sql.changes.keyed import key_match
from lance_sql.changes.publishing import conflicts, kept_state
from lance_sql.changes.publishing.parts import Branch, Part
from lance_sql.changes.publishing.progress import Published, last_publication, marker, recorded
from lance_sql.changes.publishing.publication import Publication
from lance_sql.errors import CommitConflict, RetryableConflict, UnsupportedFeature, VersionNotFound
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads.scan.scanning import numbers, scan
from lance_sql.reads.scan.system_columns import ROW_ADDRESS, ROW_ID
from lance_sql.table import applied
from lance_sql.table.commit_summary import PUBLISHED
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import U64
from lance_sql.writes.commit import clones
from lance_sql.writes.statements import row_changes
from lance_sql.writes.statements.row_changes import RowChange
from lance_sql.writes.statements.session import WriteSession, on_latest, while_there

_KINDS: Final = (INSERT, POSTIMAGE, DELETE)


def plan(snapshot: Snapshot, name: str, key: str | Sequence[str] | None = None) -> Publication:
    """Plans `publish` without committing.

    raises: as `publish`, except for rows that both have changed
    """
    latest = snapshot.latest()
    try:
        part = Part.of(Branch.open(latest, name), latest)
    except VersionNotFound:
        if (made := _made_before(latest, name)) is None:
            raise
        return _published_already(latest, name, made)
    branch, own_key = part.branch, _key(latest, key)
    if part.is_empty:
        version = BranchHistory(latest).files[part.progress.onto][1].version
        return _published_already(latest, name, Published(version, branch.ref.version, branch.head.version))
    kept_state.changed(part.before, branch.head, latest)
    found = conflicts.find(part, latest, own_key)
    inserted, updated, deleted = (part.count(kind, found.agreed) for kind in _KINDS)
    return Publication(
        latest.name,
        name,
        branch.head.version,
        branch.ref.version,
        latest.version,
        inserted,
        updated,
        deleted,
        found.rows,
        check(branch.head, part.progress.since, rules_of=latest),
        latest.branch or "main",
        feed=part.feed,
        key=tuple(own_key or ()),
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
    try:
        return _publish(snapshot, name, key, properties, keep=keep)
    except VersionNotFound:
        # an earlier attempt, or one of another job, has published the branch and removed it
        latest = snapshot.latest()
        if (made := _made_before(latest, name)) is None:
            raise
        return latest.sibling(BranchHistory(latest).files[made.by][1])


def _publish(
    snapshot: Snapshot,
    name: str,
    key: str | Sequence[str] | None,
    properties: Mapping[str, str] | None,
    *,
    keep: bool,
) -> Snapshot:
    branch = Branch.open(snapshot, name)
    if not keep:
        clones.check_unneeded(snapshot, name)

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        part = Part.of(branch, latest)
        if part.is_empty:
            return latest.sibling(BranchHistory(latest).files[part.progress.onto][1])
        found = conflicts.find(part, latest, _key(latest, key))
        if found.rows.num_rows:
            raise found.error(part, latest)
        report = check(branch.head, part.progress.since, rules_of=latest)
        if not report.is_kept:
            raise broken(report, "was not published")
        return _commit(part, session, found.agreed, by_key=_key(latest, key) is not None)

    marked = {**(properties or {}), PUBLISHED: marker(branch.ref, branch.head.version)}
    # another publication may delete the branch while it is read
    with while_there(branch.head):
        published = on_latest(snapshot, "publish", change, marked)
    if not keep:
        # a branch with a new commit is kept, and is published from there on
        with suppress(RetryableConflict):
            clones.delete_branch(published, name, head=branch.head)
    return published


def _made_before(latest: Snapshot, name: str) -> Published | None:
    """Returns the publication of a branch that was removed since; None if the branch exists, or was never published."""
    return None if not isinstance(name, str) or name in latest.branches() else last_publication(name, latest)


def _published_already(latest: Snapshot, name: str, made: Published) -> Publication:
    return Publication(
        latest.name,
        name,
        made.head,
        made.base,
        latest.version,
        0,
        0,
        0,
        selection.empty(pa.schema([*ChangeFeed(latest).schema, pa.field("side", pa.string())])),
        ContractReport(latest.label, None, ()),
        latest.branch or "main",
        published=made.by,
    )


def _key(latest: Snapshot, key: str | Sequence[str] | None) -> Sequence[str] | None:
    """Returns the columns that identify rows; None if there are none."""
    wanted = key if key is not None else primary_key(latest.manifest.schema) or None
    return None if wanted is None else key_match(latest.manifest.schema, wanted, latest.label).names


def _commit(part: Part, session: WriteSession, agreed: U64, *, by_key: bool) -> Snapshot:
    """
    agreed: ids of rows that need no publication
    """
    latest, branch = session.snapshot, part.branch
    before, now = (each.manifest.schema.arrow for each in (branch.head, latest))
    # a replaced column would keep the values of the old one in rows that the branch did not write
    theirs = ChangeFeed(latest, since=part.progress.onto)
    if not before.equals(now) or part.feed.range.replaced_columns != theirs.range.replaced_columns:
        raise UnsupportedFeature(
            f"The columns of {branch.head.label} differ from those of {latest.label}: change them on both, then publish"
        )
    new, updated, gone = (np.setdiff1d(part.ids(kind), agreed) for kind in _KINDS)
    config = dict(kept_state.changed(part.before, branch.head, latest))
    ids = np.sort(np.concatenate((updated, gone)))
    places = _addresses(latest, ids)
    if not len(ids) and not len(new) and not config:
        return latest
    if applied.KEY in config:
        for path in kept_state.copy_applied(branch.head, latest):
            session.track([path])
    config |= recorded(branch.ref, branch.head.version, latest, latest.branches().values())

    def changes() -> Iterator[RowChange]:
        """Yields updated rows as of the end of the branch, then inserted rows, in the order of their ids there."""
        yield row_changes.deleted(places[np.searchsorted(ids, gone)])
        for batch in part.feed.only(POSTIMAGE).scan([*now.names, ROW_ID]).to_reader():
            own_ids = numbers(batch := _without(batch, agreed), ROW_ID)
            rows = pa.Table.from_batches([batch.select(now.names)])
            yield row_changes.replaced(now, rows, None, own_ids, places[np.searchsorted(ids, own_ids)])
        for batch in part.feed.only(INSERT).scan([*now.names, ROW_ID]).to_reader():
            batch = _without(batch, agreed)
            yield row_changes.inserted(latest, pa.Table.from_batches([batch.select(now.names)]), batch.num_rows)

    written = row_changes.write(latest, changes(), session.writer, in_order=True)
    # rows of other commits can only conflict by key
    return row_changes.commit(session, [written], inserts_by_key=by_key, config=config)


def _without(rows: pa.RecordBatch, ids: U64) -> pa.RecordBatch:
    """Returns the rows that do not have one of these row ids."""
    if not len(ids):
        return rows
    return selection.matching(rows, pa.array(~np.isin(rows.column(ROW_ID).to_numpy(), ids)))


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
