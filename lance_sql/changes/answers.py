"""Differences of a query result between two versions: new, changed and removed rows.

version 41     7: 0.1     3: 0.4     9: 0.5
version 42     7: 0.1     5: 0.2     3: 0.3        5 is new, 3 changed, 9 is gone

An unchanged row may enter or leave the result, because other rows left or entered it. The change feed records whether
the row itself changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lance_sql.changes import answer_scan
from lance_sql.changes.answer_scan import CHANGE, PREVIOUS, ROW_CHANGE
from lance_sql.changes.bounds import Bound
from lance_sql.changes.earlier_columns import ColumnSource
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, POSTIMAGE
from lance_sql.errors import InvalidArgument, at
from lance_sql.format.schema.primary_key import nullable
from lance_sql.reads.scan.filters import Filter, bound
from lance_sql.reads.scan.projection import OutputColumn, resolve
from lance_sql.reads.scan.relation import PlainRows
from lance_sql.reads.scan.system_columns import ROW_ID, field
from lance_sql.reads.scan.take import take_at
from lance_sql.reads.search import Ranker, SearchRows, search_rows
from lance_sql.runtime.cached_property import cached_property
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import I64, U64

NEW: Final = "new"
CHANGED: Final = "changed"
GONE: Final = "gone"
_ROW_CHANGES: Final = {INSERT: "insert", POSTIMAGE: "update", DELETE: "delete"}


def answer_changes(
    snapshot: Snapshot,
    asked: Callable[[Snapshot], Ranker],
    since: Bound | None,
    filter: Filter | None = None,
) -> AnswerChanges:
    """Returns the changes of a query result since a version.

    asked: returns the query for a version
    filter: only these rows of each version take part
    raises: as `Dataset.search_changes`
    """
    if since is None:
        raise InvalidArgument("Pass since=: the earlier version, tag or time whose result is compared")
    if not snapshot.manifest.has_stable_row_ids:
        raise InvalidArgument(
            f"{snapshot.name} was created without stable row ids, so its rows cannot be matched across versions: enable"
            " them from now on with maintenance.enable_stable_row_ids()"
        )
    feed = ChangeFeed(snapshot, since=since, end=snapshot.version, mode="net")
    history = feed.range.history
    before = None
    if feed.start <= feed.end and feed.start - 1 in history.files:
        earlier = history.snapshot_at(feed.start - 1)
        if not earlier.manifest.has_stable_row_ids:
            raise InvalidArgument(f"{earlier.label} had no stable row ids yet: compare with a later version")
        before = search_rows(earlier, asked(earlier), filter)
    return AnswerChanges(before, search_rows(snapshot, asked(snapshot), filter), feed)


@dataclass(frozen=True)
class ChangedRows:
    """Rows of one of the two versions.

    is_before: of the version before
    addresses: row addresses in that version, in output order
    changes: their changes in the result
    now, previous: their positions in the two rankings, -1 if absent
    """

    is_before: bool
    addresses: U64
    ids: U64
    changes: Sequence[str]
    now: I64
    previous: I64


@dataclass(frozen=True, repr=False)
class AnswerChanges(PlainRows):
    """New and changed rows, best first, then removed rows. The columns are those of the later version, then
    `_change`, `_row_change`, the scores of the query now and before, and `_rowid`.

    before: None if the table did not exist, or nothing was committed since
    """

    before: SearchRows | None
    after: SearchRows
    feed: ChangeFeed

    def __post_init__(self) -> None:
        if self.after.ranker.leading:
            raise InvalidArgument("Changes of results are supported for one query at a time: pass one vector")
        taken = set(self.after.snapshot.manifest.schema.names)
        for name in self.own:
            if name in taken:
                raise InvalidArgument(
                    f"{self.after.snapshot.label} has a column {name!r}, and so do the changes: rename it"
                )

    @property
    def snapshot(self) -> Snapshot:
        """Later version."""
        return self.after.snapshot

    @cached_property
    def own(self) -> Mapping[str, pa.Field]:
        """Columns of the changes that the table does not store."""
        now = [each.with_nullable(True) for each in self.after.ranker.fields]
        previous = [each.with_name(PREVIOUS + each.name) for each in now]
        own_fields = [pa.field(CHANGE, pa.string(), nullable=False), pa.field(ROW_CHANGE, pa.string()), *now, *previous]
        return {each.name: each for each in [*own_fields, field(ROW_ID)]}

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the table, then the columns of the change."""
        stored = self.snapshot.manifest.schema.arrow
        # a column that an earlier version did not have is NULL in its rows
        return pa.schema([*map(nullable, stored), *self.own.values()], stored.metadata)

    def with_numbers(self, names: Sequence[str]) -> list[str]:
        """Returns the names, and the columns of the change that are not among them."""
        return [*names, *(name for name in self.own if name not in names and name != ROW_ID)]

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filter | None = None,
        *,
        limit: int | None = None,
        batch_size: int | None = None,
    ) -> answer_scan.AnswerScan:
        """Returns a scan of some columns and rows; the searches run when it is first read.

        filter: a condition on stored columns and on columns of the change
        raises: as `Dataset.scan`
        """
        chosen = self.resolve(self.schema.names if columns is None else columns)
        return answer_scan.AnswerScan(
            self,
            columns=chosen,
            condition=bound(filter, self.schema, (), self.snapshot.label),
            limit=limit,
            batch_size=batch_size,
        )

    @cached_property
    def row_changes(self) -> Mapping[int, str]:
        """Changes of the rows themselves since the earlier version, by row id."""
        images = self.feed.scan([CHANGE_TYPE, ROW_ID]).to_table()
        pairs = zip(images[ROW_ID].to_pylist(), images[CHANGE_TYPE].to_pylist(), strict=True)
        return {row_id: _ROW_CHANGES[kind] for row_id, kind in pairs if kind in _ROW_CHANGES}

    @cached_property
    def changed_rows(self) -> tuple[ChangedRows, ...]:
        """Rows of the result, from both versions."""
        if self.feed.end < self.feed.start:
            return ()
        with at(table=self.snapshot.label):
            later, now_ids = self.after.ranking, _row_ids(self.after)
            if self.before is None:
                earlier, previous_ids = None, np.empty(0, np.uint64)
            else:
                earlier, previous_ids = self.before.ranking, _row_ids(self.before)
        previous_positions = {row_id: position for position, row_id in enumerate(previous_ids.tolist())}
        previous = np.array([previous_positions.get(row_id, -1) for row_id in now_ids.tolist()], np.int64)
        updated = np.array([self.row_changes.get(row_id) == "update" for row_id in now_ids.tolist()], np.bool_)
        positions = np.flatnonzero((previous < 0) | updated)
        changes = [CHANGED if each >= 0 else NEW for each in previous[positions].tolist()]
        changed_rows = [
            ChangedRows(False, later.addresses[positions], now_ids[positions], changes, positions, previous[positions])
        ]
        if earlier is not None:
            positions = np.flatnonzero(~np.isin(previous_ids, now_ids))
            nowhere = np.full(len(positions), -1, np.int64)
            changes = [GONE] * len(positions)
            changed_rows.append(
                ChangedRows(True, earlier.addresses[positions], previous_ids[positions], changes, nowhere, positions)
            )
        return tuple(each for each in changed_rows if len(each.ids))

    def sources_before(self) -> Mapping[str, ColumnSource]:
        """Returns the columns of the later version as the earlier version stores them, by name."""
        return {source.column.name: source for source in self.feed.range.sources(self.feed.start - 1)}

    def resolve(self, names: Sequence[str]) -> tuple[OutputColumn, ...]:
        """Resolves names to columns.

        raises: as `scan`
        """
        own = self.own
        for name in names:
            if list(names).count(name) > 1:
                raise InvalidArgument(f"Column {name!r} is selected twice: name it once")
        stored = iter(resolve(self.snapshot, [name for name in names if name not in own]))
        return tuple(
            OutputColumn(name, None, (), own[name])
            if name in own
            else replace(each := next(stored), arrow=nullable(each.arrow))
            for name in names
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # without the changed rows, which are computed again
        return AnswerChanges, (self.before, self.after, self.feed)

    def __repr__(self) -> str:
        return f"AnswerChanges({self.snapshot.label!r}, since {self.feed.start - 1}, {self.after.ranker.describe()!r})"


def _row_ids(rows: SearchRows) -> U64:
    """Returns the row ids of search results."""
    addresses = rows.ranking.addresses
    columns = resolve(rows.snapshot, [ROW_ID])
    ids: U64 = take_at(rows.snapshot, columns, addresses)[ROW_ID].to_numpy() if len(addresses) else addresses
    return ids
