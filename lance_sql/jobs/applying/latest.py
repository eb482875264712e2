"""The latest row of each key: a slowly changing dimension of type 1 (SCD1).

known       key 7 up to 4, key 8 up to 9 (deleted)
events      7@5 update, 7@3 late, 8@6 late, 9@1 insert, 9@2 delete
result      7 as of 5;  8 stays deleted;  9 never existed, and events after 2 count
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.jobs.applying import state, target_rows
from lance_sql.jobs.applying.application import Application, Part
from lance_sql.jobs.applying.events import Events
from lance_sql.jobs.applying.order import (
    concat,
    differing,
    filled,
    firsts,
    lasts,
    positions_of_keys,
    ranks,
    start_of_run,
)
from lance_sql.jobs.applying.state import KeyState
from lance_sql.jobs.applying.target_rows import TargetRows
from lance_sql.jobs.distributed import ChangeJob
from lance_sql.table.applied import Applied
from lance_sql.values.arrays import I64, BoolMask
from lance_sql.values.keys import number


@dataclass(frozen=True)
class Latest(Application):
    """Application that keeps the latest row of each key.

    is_in_order: later changes are never older than the events, and earlier ones were never younger
    """

    is_in_order: bool

    @property
    def applied(self) -> Applied:
        return Applied(self.keys, self.sequence if self._is_ordered else (), 1)

    @property
    def _is_ordered(self) -> bool:
        return bool(self.sequence) and not self.is_in_order

    def part(self, job: ChangeJob, events: Events) -> Part:
        snapshot, keys = job.snapshot, list(self.keys)
        rows = target_rows.in_types_of(events.rows, snapshot)
        rows_have_sequence = set(self.sequence) <= set(rows.schema.names)
        sequence = events.sequence
        if rows_have_sequence and self.sequence:
            sequence = state.sequence_columns(rows, self.sequence)
        events = replace(events, rows=rows, sequence=sequence)
        numbers = number(rows.select(keys))
        _, first = np.unique(numbers, return_index=True)
        distinct = rows.select(keys).take(pa.array(first))
        existing = target_rows.rows_of(snapshot, distinct, rows.schema.names)
        at = _one_each(existing, distinct, snapshot.label)

        hidden = state.read(snapshot, self.applied_to(snapshot), distinct, events.with_rows(rows.select(keys)))
        rank, limit = self._ranks(events, numbers, hidden, existing, distinct, rows_have_sequence=rows_have_sequence)
        is_new = np.ones(events.num_rows, np.bool_)
        if self._is_ordered:
            is_new = rank > limit[numbers]
            is_new |= _after_ties((rank == limit[numbers]) & (at[numbers] >= 0), events.comes_after, numbers)
        order = np.flatnonzero(is_new)
        order = order[np.lexsort((rank[order], numbers[order]))]
        events, numbers, rank = events.take(order), numbers[order], rank[order]
        final, is_patch = self._folded(events, numbers, at)
        of_key = numbers[lasts(numbers)]
        positions = at[of_key]
        final = final.with_rows(_patched(final.rows, self.ignore_nulls, existing, positions, is_patch))
        changed = ~final.is_delete & differing(final.rows, existing.rows, positions)
        written = final.rows.filter(pa.array(changed))
        is_gone = np.zeros(len(existing.ids), np.bool_)
        is_gone[positions[final.is_delete & (positions >= 0)]] = True

        now = None
        # a row rewritten unchanged, at its own moment, adds nothing
        is_told = changed | final.is_delete | (rank[lasts(numbers)] > limit[of_key])
        if self._is_ordered and is_told.any():
            # a row with the sequence columns contains its own moment
            untold = final.take(is_told & (final.is_delete | (not rows_have_sequence)))
            now = KeyState(distinct.take(pa.array(of_key[is_told])), untold.with_rows(untold.rows.select(keys)))
        changes = target_rows.changes(snapshot, written, existing, positions[changed], is_gone)
        return Part(job.apply(changes), now)

    def _ranks(
        self,
        events: Events,
        numbers: I64,
        hidden: Events,
        existing: TargetRows,
        distinct: pa.Table,
        *,
        rows_have_sequence: bool,
    ) -> tuple[I64, I64]:
        """Returns the rank of each event, and for each key the rank of its last known event; -1 for none."""
        limit = np.full(distinct.num_rows, -1, np.int64)
        if not self.sequence:
            return np.zeros(events.num_rows, np.int64), limit
        parts = [events.sequence]
        keys = []
        if self._is_ordered:
            names = distinct.schema.names
            together = number(concat([distinct, hidden.rows.select(names)]))
            positions = positions_of_keys(together, distinct.num_rows)
            # nothing is known of a row that was deleted by hand, or with all others
            is_there = hidden.is_delete | np.isin(positions, existing.keys)
            keys.append(positions[is_there])
            parts.append(hidden.take(is_there).sequence)
            if rows_have_sequence:
                keys.append(existing.keys)
                parts.append(state.sequence_columns(existing.rows, self.sequence))
        rank = ranks(concat(parts, self.sequence))
        if keys:
            np.maximum.at(limit, np.concatenate(keys), rank[events.num_rows :])
        return rank[: events.num_rows], limit

    def _folded(self, events: Events, numbers: I64, at: I64) -> tuple[Events, BoolMask]:
        """Returns the last event of each key, with NULLs filled from earlier ones, and whether its other NULLs keep the
        values of the existing row."""
        is_first = firsts(numbers)
        is_anew = is_first.copy()
        is_anew[1:] |= events.is_delete[:-1]
        rows = filled(events.rows, self.ignore_nulls, is_anew) if self.ignore_nulls else events.rows
        last = np.flatnonzero(lasts(numbers))
        is_patch = start_of_run(is_anew)[last] == start_of_run(is_first)[last]
        return events.with_rows(rows).take(last), is_patch & (at[numbers[last]] >= 0)


def _after_ties(is_tie: BoolMask, comes_after: BoolMask, numbers: I64) -> BoolMask:
    """Returns a mask of the events at the moment of the existing row that come after it: one so marked, and all later
    ones."""
    first = np.full(int(numbers.max(initial=-1)) + 1, len(numbers))
    at = np.flatnonzero(is_tie & comes_after)
    np.minimum.at(first, numbers[at], at)
    after: BoolMask = is_tie & (np.arange(len(numbers)) >= first[numbers])
    return after


def _one_each(existing: TargetRows, distinct: pa.Table, table: str) -> I64:
    """Returns for each key the position of its row; -1 if there is none.

    raises: InvalidArgument if a key has several rows
    """
    at = np.full(distinct.num_rows, -1, np.int64)
    at[existing.keys] = np.arange(len(existing.keys))
    if len(np.unique(existing.keys)) < len(existing.keys):
        numbers, counts = np.unique(existing.keys, return_counts=True)
        key = distinct.slice(int(numbers[counts > 1][0]), 1).to_pylist()[0]
        raise InvalidArgument(f"{table} has several rows with the key {key}: pass keys that are unique")
    return at


def _patched(
    rows: pa.Table, names: Sequence[str], existing: TargetRows, positions: I64, is_patch: BoolMask
) -> pa.Table:
    """Replaces NULLs of rows by the values of existing rows."""
    for name in names:
        column = rows.column(name)
        if column.null_count and is_patch.any():
            old = existing.rows.column(name).take(pa.array(np.maximum(positions, 0), mask=~is_patch))
            column = pa.chunked_array([_coalesced(column.combine_chunks(), old.combine_chunks())])
            rows = rows.set_column(rows.schema.get_field_index(name), rows.field(name), column)
    return rows


def _coalesced(new: pa.Array, old: pa.Array) -> pa.Array:
    """Returns the new values, and the old ones where these are NULL; for any type."""
    both = pa.concat_arrays([new, old])
    count = len(new)
    is_null = new.is_null().to_numpy(zero_copy_only=False)
    return both.take(pa.array(np.where(is_null, np.arange(count) + count, np.arange(count))))
