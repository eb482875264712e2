"""History of all rows of each key: a slowly changing dimension of type 2 (SCD2).

    events      7@1 a    7@4 b    7@6 deleted            valid_from    valid_to    is_current
    rows        a                                        1             4           false
                b                                        4             6           false
    late        7@3 c    a then ends at 3, and c lasts from 3 to 4

Every application reads all rows of the keys of its events. These rows become events again and are merged with the new
ones. The rows that follow from all events are compared with the existing rows.

If commits order the changes, their versions do, and `valid_from` and `valid_to` have their times:

    valid_from_version    valid_to_version    valid_from             valid_to               is_current
    1                     4                   2026-11-24 03:00:01    2026-11-25 03:00:02    false
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.common_type import column_to_type
from lance_sql.jobs.applying import state, target_rows
from lance_sql.jobs.applying.application import HISTORY_COLUMNS, HISTORY_VERSIONS, Application, Part
from lance_sql.jobs.applying.events import Events, EventSource
from lance_sql.jobs.applying.order import (
    SEQUENCE,
    concat,
    differing,
    equal_rows,
    filled,
    firsts,
    lasts,
    positions_of_keys,
    ranks,
)
from lance_sql.jobs.applying.state import KeyState
from lance_sql.jobs.applying.target_rows import TargetRows
from lance_sql.jobs.distributed import ChangeJob
from lance_sql.table.applied import Applied
from lance_sql.values.arrays import I64
from lance_sql.values.keys import number

VALID_FROM, VALID_TO, IS_CURRENT = HISTORY_COLUMNS


def has_commit_times(target: Dataset | None) -> bool:
    """Whether a history that commits order has their times. An existing one without versions keeps its columns.

    target: None for a new table
    """
    names = () if target is None else target.schema.names
    return VALID_FROM not in names or set(HISTORY_VERSIONS) <= set(names)


def schema(source: EventSource) -> pa.Schema:
    """Returns the schema of a target.

    raises: InvalidArgument for changes with columns of the same names as the history's own
    """
    rows = source.events.rows.schema
    times = _Times(source.sequence, source.has_commit_times)
    for name in times.columns:
        if name in rows.names:
            raise InvalidArgument(
                f"The changes have a column {name!r}, and so does the history: leave it out with except_columns="
            )
    moments = source.events.sequence.schema.empty_table()
    fields = dict(zip(times.begin + times.end, (*times.arrays(moments), *times.arrays(moments)), strict=True))
    types = {name: array.type for name, array in fields.items()} | {IS_CURRENT: pa.bool_()}
    return pa.schema([*rows, *(pa.field(name, types[name]) for name in times.columns)], rows.metadata)


@dataclass(frozen=True)
class _Times:
    """Columns of a history with the moments of events: in each row where it begins and where it ends.

    sequence: names of the columns that order the events. The values of several are a struct
    has_commit_times: the two columns of the order are the version and the time of a commit, and lie side by side
    """

    sequence: tuple[str, ...]
    has_commit_times: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the history besides those of the changes."""
        return (*HISTORY_VERSIONS, *HISTORY_COLUMNS) if self.has_commit_times else HISTORY_COLUMNS

    @property
    def begin(self) -> tuple[str, ...]:
        """Columns with the moment where a row begins."""
        return (HISTORY_VERSIONS[0], VALID_FROM) if self.has_commit_times else (VALID_FROM,)

    @property
    def end(self) -> tuple[str, ...]:
        """Columns with the moment where a row ends; NULL for a current row."""
        return (HISTORY_VERSIONS[1], VALID_TO) if self.has_commit_times else (VALID_TO,)

    def arrays(self, moments: pa.Table) -> list[pa.Array]:
        """Returns the columns for the moments of events."""
        columns = [column.combine_chunks() for column in moments.columns]
        if self.has_commit_times or len(columns) == 1:
            return columns
        return [pa.StructArray.from_arrays(columns, list(self.sequence))]

    def moments(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """Returns the moments in these columns of rows, as events have them."""
        arrays = [rows.column(name).combine_chunks() for name in names]
        if not self.has_commit_times and len(self.sequence) > 1:
            arrays = arrays[0].flatten()
        return pa.table({f"{SEQUENCE}{i}": array for i, array in enumerate(arrays)})


@dataclass(frozen=True)
class AppliedHistory(Application):
    """Application that keeps all rows of each key.

    tracked: columns whose changes begin another row; other columns are changed in the existing row
    has_commit_times: the order is that of commits, and the history has their times
    """

    tracked: tuple[str, ...]
    has_commit_times: bool

    @property
    def own_columns(self) -> tuple[str, ...]:
        return self._times.columns

    @property
    def _times(self) -> _Times:
        return _Times(self.sequence, self.has_commit_times)

    @property
    def applied(self) -> Applied:
        return Applied(self.keys, self.sequence, 2)

    def part(self, job: ChangeJob, events: Events) -> Part:
        snapshot, keys = job.snapshot, list(self.keys)
        target_rows.check_names(job.dataset, self.own_columns)
        rows = target_rows.in_types_of(events.rows, snapshot)
        events = replace(events, rows=rows)
        numbers = number(rows.select(keys))
        _, first = np.unique(numbers, return_index=True)
        distinct = rows.select(keys).take(pa.array(first))
        existing = target_rows.rows_of(snapshot, distinct, [*rows.schema.names, *self.own_columns])
        hidden = state.read(snapshot, self.applied_to(snapshot), distinct, events)
        parts = [hidden, *_events_of(existing, rows.schema, self._times), events.take(np.arange(events.num_rows)[::-1])]
        together = Events.concat(parts, self.sequence)
        of_key = number(concat([distinct, together.rows.select(keys)]))
        of_key = positions_of_keys(of_key, distinct.num_rows)
        rank = ranks(together.sequence)
        moment = of_key * (int(rank.max(initial=0)) + 1) + rank
        # of several events at one moment the first one counts: known events, then the last new one; new events that
        # come after known ones precede them here
        is_known = np.arange(together.num_rows) < together.num_rows - events.num_rows
        is_later = ~is_known & np.isin(moment, moment[together.comes_after])
        order = np.lexsort((np.arange(together.num_rows), ~is_later, moment))
        order = order[firsts(moment[order])]
        story = _Story(together.take(order), of_key[order], self.ignore_nulls, self.tracked)

        fresh = story.intervals(self._times)
        fresh_rows = _in_types_of(existing.rows, fresh.rows, self._times)
        begun, old_begun = (self._times.moments(rows, self._times.begin) for rows in (fresh_rows, existing.rows))
        positions = _positions_of_existing(fresh.keys, begun, existing.keys, old_begun, snapshot.label)
        changed = differing(fresh_rows, existing.rows, positions)
        is_gone = np.ones(len(existing.ids), np.bool_)
        is_gone[positions[positions >= 0]] = False
        untold = story.untold()
        now = None if _are_equal(untold, hidden, keys) else KeyState(distinct, untold)
        written = fresh_rows.filter(pa.array(changed))
        changes = target_rows.changes(snapshot, written, existing, positions[changed], is_gone)
        return Part(job.apply(changes), now)


@dataclass(frozen=True)
class _Intervals:
    """Rows with their validity, and the number of the key of each."""

    rows: pa.Table
    keys: I64


class _Story:
    """All events of some keys, ordered by key and time.

    keys: the number of the key of each
    """

    def __init__(self, events: Events, keys: I64, ignore_nulls: Sequence[str], tracked: Sequence[str]) -> None:
        self._events = events
        self._keys = keys
        is_first = firsts(keys)
        after_row = ~is_first
        after_row[1:] &= ~events.is_delete[:-1]
        is_row = ~events.is_delete
        self._rows = filled(events.rows, ignore_nulls, ~after_row) if ignore_nulls else events.rows
        self._is_filled = np.zeros(events.num_rows, np.bool_)
        if ignore_nulls:
            self._is_filled = is_row & ~equal_rows(events.rows, self._rows, ignore_nulls)
        goes_on = np.zeros(events.num_rows, np.bool_)
        later = np.flatnonzero(is_row & after_row)
        if len(later):
            # without tracked columns no change begins another row
            goes_on[later] = True
        if len(later) and tracked:
            new, old = (self._rows.select(list(tracked)).take(pa.array(at)) for at in (later, later - 1))
            goes_on[later] = equal_rows(new, old, tracked)
        self._is_start = is_row & ~goes_on
        self._goes_on = goes_on
        self._is_idle = events.is_delete & ~after_row

    def intervals(self, times: _Times) -> _Intervals:
        """Returns the rows that follow from the events."""
        starts = np.flatnonzero(self._is_start)
        # the last event of the run that begins there
        run: I64 = np.cumsum(self._is_start | self._events.is_delete)
        ends = np.flatnonzero(lasts(run))
        ends = ends[~self._events.is_delete[ends]]
        following = ends + 1
        is_last = (following >= len(self._keys)) | (
            self._keys[np.minimum(following, len(self._keys) - 1)] != self._keys[ends]
        )
        begin, end = pa.array(starts), pa.array(np.where(is_last, 0, following), mask=is_last)
        moments = times.arrays(self._events.sequence)
        rows = self._rows.take(pa.array(ends))
        for names, positions in ((times.begin, begin), (times.end, end)):
            for name, moment in zip(names, moments, strict=True):
                rows = rows.append_column(name, moment.take(positions))
        return _Intervals(rows.append_column(IS_CURRENT, pa.array(is_last)), self._keys[starts])

    def untold(self) -> Events:
        """Returns the events that cannot be derived from these rows."""
        in_run = self._goes_on.copy()
        in_run[:-1] |= self._goes_on[1:]
        return self._events.take(in_run | self._is_idle | self._is_filled)


def _events_of(existing: TargetRows, rows: pa.Schema, columns: _Times) -> list[Events]:
    """Derives events from rows: the beginning of each, and the end of each that no other row follows."""
    values = existing.rows.select(rows.names)
    begun, ended = (columns.moments(existing.rows, names) for names in (columns.begin, columns.end))
    has_end = existing.rows.column(VALID_TO).is_valid().to_numpy(zero_copy_only=False)
    count = len(existing.ids)
    times = ranks(concat([begun, ended.filter(pa.array(has_end))]))
    scale = int(times.max(initial=0)) + 1
    beginnings = existing.keys * scale + times[:count]
    ends = existing.keys[has_end] * scale + times[count:]
    is_deletion = np.zeros(count, np.bool_)
    is_deletion[has_end] = ~np.isin(ends, beginnings)
    no, yes = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    return [Events(values, begun, no, no), Events(values, ended, yes, no).take(is_deletion)]


def _in_types_of(existing: pa.Table, rows: pa.Table, times: _Times) -> pa.Table:
    """Casts the moments of rows to the types that the history has.

    raises: InvalidArgument for moments that these types do not hold
    """
    for name in (*times.begin, *times.end):
        type = existing.schema.field(name).type
        index = rows.schema.get_field_index(name)
        rows = rows.set_column(index, pa.field(name, type), column_to_type(rows.column(name), type, name))
    return rows


def _positions_of_existing(keys: I64, begun: pa.Table, old_keys: I64, old_begun: pa.Table, table: str) -> I64:
    """Returns for each row the position of the existing one with the same key and beginning; -1 for none.

    raises: InvalidArgument if two existing rows have the same key and beginning
    """
    times = ranks(pa.concat_tables([begun, old_begun]))
    scale = int(times.max(initial=0)) + 1
    moments = np.concatenate((keys, old_keys)) * scale + times
    new, old = moments[: len(keys)], moments[len(keys) :]
    order = np.argsort(old)
    if np.any(old[order][1:] == old[order][:-1]):
        raise InvalidArgument(f"{table} has two rows with one key and one {VALID_FROM}")
    if not len(old):
        return np.full(len(new), -1, np.int64)
    at = np.minimum(np.searchsorted(old[order], new), len(old) - 1)
    return np.where(old[order][at] == new, order[at], -1)


def _are_equal(a: Events, b: Events, keys: Sequence[str]) -> bool:
    """Whether both are the same events, in any order. Each of them has one event for a key and a moment.

    keys: all columns of the key
    """
    if a.num_rows != b.num_rows:
        return False
    if not a.num_rows:
        return True
    names = a.rows.schema.names
    both = Events.concat([a, b])
    of_key, times = number(both.rows.select(list(keys))), ranks(both.sequence)
    first, second = (
        np.lexsort((times[part], of_key[part])) for part in (slice(0, a.num_rows), slice(a.num_rows, None))
    )
    x, y = both.take(first), both.take(second + a.num_rows)
    return bool(
        equal_rows(x.rows, y.rows, names).all()
        and equal_rows(x.sequence, y.sequence, x.sequence.schema.names).all()
        and (x.is_delete == y.is_delete).all()
    )
