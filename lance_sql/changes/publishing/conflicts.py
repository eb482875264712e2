"""Rows that a branch and its parent have both changed.

both changed row 7, or gave one key to two rows     a conflict, which publishes nothing
and row 7 is the same in both now                   no conflict: the branch has nothing to publish there
and both deleted it, or inserted equal rows         no conflict either
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory
from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.changes.publishing.parts import Part, ids_of
from lance_sql.changes.publishing.progress import is_part
from lance_sql.errors import CommitConflict
from lance_sql.reads.scan.scanning import numbers, scan
from lance_sql.reads.scan.system_columns import LAST_UPDATED_AT, ROW_ID
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.equal_values import same
from lance_sql.values.keys import columns_of, numbered, pairs

_SHOWN: Final = 1000
"""Maximum number of rows of a conflict that are shown."""
_AT_ONCE: Final = 65_536
"""Number of rows that are compared at once."""


@dataclass(frozen=True, slots=True)
class Conflicts:
    """
    rows: the images of both sides; see `Publication.conflicts`
    agreed: ids of changed rows of the branch that its parent has already, ascending
    """

    rows: pa.Table
    agreed: U64

    def error(self, part: Part, latest: Snapshot) -> CommitConflict:
        """Returns the error for rows in conflict."""
        count = pc.count_distinct(self.rows.column(ROW_ID)).as_py()
        first = self.rows.slice(0, 1).drop_columns([CHANGE_TYPE, "side"]).to_pylist()[0]
        return CommitConflict(
            f"{count} {'row was' if count == 1 else 'rows were'} changed on {part.branch.head.label} and since version"
            f" {part.branch.ref.version} on {latest.label}, such as {first}. Nothing was published: see"
            f" branches.plan({part.branch.name!r}).conflicts, give these rows the same values on both, and publish"
            " again"
        )


def find(part: Part, latest: Snapshot, key: Sequence[str] | None) -> Conflicts:
    """Returns the rows that both have changed.

    key: columns whose values both may not give to different rows
    """
    theirs = ChangeFeed(latest, since=part.progress.onto, mode="net", drop_unchanged=True)
    earlier, of_key = _changed_before(part, latest, key)
    both = earlier
    if theirs.end >= theirs.start:
        both = np.union1d(both, np.intersect1d(part.ids(PREIMAGE, DELETE), ids_of(theirs, (PREIMAGE, DELETE))))
        if key is not None:
            of_key = np.unique(np.concatenate((of_key, _with_equal_keys(part.feed, _keyed(theirs, key), key))), axis=0)
    if len(earlier):
        theirs = ChangeFeed(latest, since=part.branch.ref.version, mode="net", drop_unchanged=True)
    schema = pa.schema([*theirs.schema, pa.field("side", pa.string())])
    agreed = np.empty(0, np.uint64)
    if _can_compare(part.branch.head, latest):
        equal = both[_are_equal(part.branch.head, latest, both, both)]
        agreed, both = equal, np.setdiff1d(both, equal)
        of_key = of_key[~((of_key[:, 0] == of_key[:, 1]) & np.isin(of_key[:, 0], equal))]
        twins = _equal_inserts(part, latest, theirs, of_key)
        agreed, of_key = np.union1d(agreed, of_key[twins, 0]), of_key[~twins]
    both = np.union1d(both, of_key.reshape(-1))
    if not len(both):
        return Conflicts(schema.empty_table(), agreed)
    chosen = both[:_SHOWN]
    sides = []
    for side, feed in (("branch", part.feed), ("other", theirs)):
        rows = feed.scan(filter=None).to_table()
        rows = selection.filter(rows, pc.is_in(rows.column(ROW_ID), pa.array(chosen)))
        sides.append(rows.append_column("side", pa.repeat(pa.scalar(side), rows.num_rows)))
    return Conflicts(pa.concat_tables(sides, promote_options="permissive"), agreed)


def _changed_before(part: Part, latest: Snapshot, key: Sequence[str] | None) -> tuple[U64, U64]:
    """Finds rows that others changed before an earlier part of the branch was published. Changes since that
    publication do not contain them.

    returns: the ids of those that this part changes too; and pairs of ids uint64[k, 2] as of `_with_equal_keys`
    """
    begins, onto = part.branch.ref.version, part.progress.onto
    mine = part.ids(PREIMAGE, DELETE)
    none = np.empty((0, 2), np.uint64)
    if part.progress.since == begins:
        return mine[:0], none
    version, names = pc.field(LAST_UPDATED_AT), [*(key or ()), ROW_ID, LAST_UPDATED_AT]
    batches = list(scan(latest, names, (version > begins) & (version <= onto)))
    there = [numbers(batch, ROW_ID) for batch in scan(latest, [ROW_ID], pc.field(ROW_ID).isin(pa.array(mine)))]
    gone = np.setdiff1d(mine, np.concatenate([*there, mine[:0]]))
    if not batches:
        return gone, none
    rows, history = pa.Table.from_batches(batches), BranchHistory(latest)
    made = pc.unique(rows.column(LAST_UPDATED_AT)).to_pylist()
    parts = [each for each in made if each in history.files and is_part(part.branch.ref, history.snapshot_at(each))]
    rows = selection.filter(rows, pc.invert(pc.is_in(rows.column(LAST_UPDATED_AT), pa.array(parts, pa.uint64()))))
    both = np.union1d(gone, np.intersect1d(mine, rows.column(ROW_ID).to_numpy()))
    return both, none if key is None else _with_equal_keys(part.feed, rows, key)


def _keyed(feed: ChangeFeed, key: Sequence[str]) -> pa.Table:
    """Returns the keys and ids of rows after the changes."""
    return feed.scan([*key, ROW_ID], f"{CHANGE_TYPE} IN ('{INSERT}', '{POSTIMAGE}')").to_table()


def _with_equal_keys(feed: ChangeFeed, theirs: pa.Table, names: Sequence[str]) -> U64:
    """Returns pairs of the ids of rows, uint64[k, 2], of the branch and its parent, that have the same key."""
    sides = [side.combine_chunks() for side in (_keyed(feed, names), theirs)]
    my_keys, their_keys = numbered([columns_of(side, names) for side in sides], nulls_are_equal=False)
    at_mine, at_theirs = pairs(my_keys, their_keys)
    ids = [side.column(ROW_ID).to_numpy() for side in sides]
    found: U64 = np.stack((ids[0][at_mine], ids[1][at_theirs]), axis=1)
    return found


def _equal_inserts(part: Part, latest: Snapshot, theirs: ChangeFeed, of_key: U64) -> BoolMask:
    """Returns which pairs are one row that both have inserted."""
    if not len(of_key):
        return np.zeros(0, np.bool_)
    mine, others = of_key[:, 0], of_key[:, 1]
    once = [np.isin(side, ids[counts == 1]) for side in (mine, others) for ids, counts in (_counted(side),)]
    inserted = np.isin(mine, part.ids(INSERT)) & np.isin(others, ids_of(theirs, (INSERT,)))
    alike: BoolMask = inserted & once[0] & once[1]
    alike[alike] = _are_equal(part.branch.head, latest, mine[alike], others[alike])
    return alike


def _counted(ids: U64) -> tuple[U64, I64]:
    found, counts = np.unique(ids, return_counts=True)
    return found, counts


def _can_compare(head: Snapshot, latest: Snapshot) -> bool:
    """Whether both have the same columns, and none whose scan returns places of values."""
    schema = head.manifest.schema
    return schema.arrow.equals(latest.manifest.schema.arrow) and not any(
        field.is_blob_v1 or field.is_blob_v2 for field in schema.by_id.values()
    )


def _are_equal(head: Snapshot, latest: Snapshot, mine: U64, theirs: U64) -> BoolMask:
    """Returns which rows are the same in both versions, or in neither.

    mine, theirs: ids of the rows
    """
    equal: BoolMask = np.zeros(len(mine), np.bool_)
    for start in range(0, len(mine), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        (my_rows, at_mine), (their_rows, at_theirs) = _rows(head, mine[part]), _rows(latest, theirs[part])
        found, gone = (at_mine >= 0) & (at_theirs >= 0), (at_mine < 0) & (at_theirs < 0)
        alike = found.copy()
        for name in head.manifest.schema.names:
            columns = (
                selection.whole(rows.column(name)).take(pa.array(at[found]))
                for rows, at in ((my_rows, at_mine), (their_rows, at_theirs))
            )
            alike[found] &= same(*columns)
        equal[part] = alike | gone
    return equal


def _rows(snapshot: Snapshot, ids: U64) -> tuple[pa.Table, I64]:
    """Returns the existing rows of these ids, and the position of each id among them; -1 if it does not exist."""
    names = [*snapshot.manifest.schema.names, ROW_ID]
    batches = list(scan(snapshot, names, pc.field(ROW_ID).isin(pa.array(ids))))
    if not batches:
        return selection.empty(pa.schema([*snapshot.manifest.schema.arrow])), np.full(len(ids), -1)
    rows = pa.Table.from_batches(batches)
    there = numbers(rows, ROW_ID)
    order = np.argsort(there)
    at = np.minimum(np.searchsorted(there, ids, sorter=order), len(there) - 1)
    return rows, np.where(there[order[at]] == ids, order[at], -1)
