"""The latest row of each key: a slowly changing dimension of type 1.

known       key 7 up to 4, key 8 up to 9 (deleted)
events      7@5 update, 7@3 late, 8@6 late, 9@1 insert, 9@2 delete
left        7 as of 5;  8 stays deleted;  9 was never there, and what came after 2 counts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from lance_sql.applying import state, target_rows
from lance_sql.applying.events import Events, Source
from lance_sql.applying.order import I64, Flags, equal_rows, filled, firsts, key_numbers, lasts, ranks, start_of_run
from lance_sql.applying.target_rows import TargetRows
from lance_sql.commit.committer import Expected
from lance_sql.distributed import ChangeJob, Written
from lance_sql.errors import InvalidArgument
from lance_sql.table import applied
from lance_sql.table.applied import Applied


class Latest:
    """One application of events; an attempt is computed from the version that it is committed on.

    is_in_order: nothing that is older than these events can come later, and nothing younger was there before
    ignore_nulls: columns in which NULL leaves the value as it is
    """

    def __init__(self, source: Source, ignore_nulls: Sequence[str], *, is_in_order: bool) -> None:
        self._source = source
        self._ignore_nulls = ignore_nulls
        self._is_ordered = bool(source.sequence) and not is_in_order
        self.config: Mapping[str, Expected] = {}
        """What the commit sets in the config."""

    def __call__(self, job: ChangeJob) -> Iterable[Written]:
        """Writes the rows of one attempt."""
        snapshot, keys = job.snapshot, list(self._source.keys)
        before = applied.of(snapshot.manifest.config, snapshot.label)
        now = Applied(self._source.keys, self._source.sequence if self._is_ordered else (), 1)
        now = checked(before, now, snapshot.label)
        rows = target_rows.in_types_of(self._source.events.rows, snapshot)
        is_told = set(self._source.sequence) <= set(rows.schema.names)
        sequence = self._source.events.sequence
        if is_told and self._source.sequence:
            sequence = state.sequence_columns(rows, self._source.sequence)
        events = Events(rows, sequence, self._source.events.is_delete)
        numbers = key_numbers(rows.select(keys))
        _, first = np.unique(numbers, return_index=True)
        distinct = rows.select(keys).take(pa.array(first))
        existing = target_rows.rows_of(snapshot, distinct)
        at = _one_each(existing, distinct, snapshot.label)

        hidden = state.read(snapshot, now, distinct, events.with_rows(rows.select(keys)))
        rank, limit = self._known(events, numbers, hidden.events, existing, distinct, is_told=is_told)
        is_new = rank > limit[numbers] if self._is_ordered else np.ones(events.num_rows, np.bool_)
        order = np.flatnonzero(is_new)
        order = order[np.lexsort((rank[order], numbers[order]))]
        events, numbers = events.take(order), numbers[order]
        final, is_patch = self._folded(events, numbers, at)
        of_key = numbers[lasts(numbers)]
        place = at[of_key]
        final = final.with_rows(_patched(final.rows, self._ignore_nulls, existing, place, is_patch))
        changed = _changed(final, existing, place)
        written = final.rows.filter(pa.array(changed))
        is_gone = np.zeros(len(existing.ids), np.bool_)
        is_gone[place[final.is_delete & (place >= 0)]] = True

        if self._is_ordered and len(of_key):
            # a row tells of itself when it has the columns of the sequence
            untold = final if not is_told else final.take(final.is_delete)
            told_keys = distinct.take(pa.array(of_key))
            now = state.write(
                snapshot.store, now, told_keys, untold.with_rows(untold.rows.select(keys)), hidden.everything
            )
        self.config = swap(before, now)
        schema = snapshot.manifest.schema.arrow
        return [job.write(target_rows.batches(schema, written, existing, place[changed], is_gone))]

    def _known(
        self,
        events: Events,
        numbers: I64,
        hidden: Events,
        existing: TargetRows,
        distinct: pa.Table,
        *,
        is_told: bool,
    ) -> tuple[I64, I64]:
        """The rank of each event, and for each key the rank of what is known of it; -1 for nothing."""
        limit = np.full(distinct.num_rows, -1, np.int64)
        if not self._source.sequence:
            return np.zeros(events.num_rows, np.int64), limit
        parts = [events.sequence]
        keys = []
        if self._is_ordered:
            names = distinct.schema.names
            together = key_numbers(pa.concat_tables([distinct, hidden.rows.select(names).cast(distinct.schema)]))
            keys.append(_positions(together, distinct.num_rows))
            parts.append(hidden.sequence)
            if is_told:
                keys.append(existing.keys)
                parts.append(state.sequence_columns(existing.rows, self._source.sequence).cast(events.sequence.schema))
        rank = ranks(pa.concat_tables(parts))
        if keys:
            np.maximum.at(limit, np.concatenate(keys), rank[events.num_rows :])
        return rank[: events.num_rows], limit

    def _folded(self, events: Events, numbers: I64, at: I64) -> tuple[Events, Flags]:
        """The last event of each key, with what earlier ones say where it says nothing, and whether it leaves the rest
        to the row that is there."""
        is_first = firsts(numbers)
        is_anew = is_first.copy()
        is_anew[1:] |= events.is_delete[:-1]
        rows = filled(events.rows, self._ignore_nulls, is_anew) if self._ignore_nulls else events.rows
        last = np.flatnonzero(lasts(numbers))
        is_patch = start_of_run(is_anew)[last] == start_of_run(is_first)[last]
        return events.with_rows(rows).take(last), is_patch & (at[numbers[last]] >= 0)


def checked(before: Applied | None, now: Applied, table: str) -> Applied:
    """How changes are applied from now on.

    raises: InvalidArgument where they were applied otherwise before
    """
    if before is None:
        return now
    for what, old, new in (
        ("keys", before.keys, now.keys),
        ("scd", before.scd, now.scd),
        ("sequence_by", before.sequence, now.sequence),
    ):
        if old != new:
            raise InvalidArgument(f"{table}: changes were applied with {what}={_shown(old)} before, not {_shown(new)}")
    return before


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def swap(before: Applied | None, now: Applied) -> Mapping[str, Expected]:
    """What the commit sets in the config; also where that is as before, for it must still be so."""
    return {applied.KEY: Expected(now.to_json(), None if before is None else before.to_json())}


def _one_each(existing: TargetRows, distinct: pa.Table, table: str) -> I64:
    """For each key the position of its row; -1 where there is none.

    raises: InvalidArgument where a key has several rows
    """
    at = np.full(distinct.num_rows, -1, np.int64)
    at[existing.keys] = np.arange(len(existing.keys))
    if len(np.unique(existing.keys)) < len(existing.keys):
        numbers, counts = np.unique(existing.keys, return_counts=True)
        key = distinct.slice(int(numbers[counts > 1][0]), 1).to_pylist()[0]
        raise InvalidArgument(f"{table} has several rows of the key {key}: changes are applied to one row of each")
    return at


def _positions(numbers: I64, num_keys: int) -> I64:
    """Which of the first `num_keys` rows has the same number, for each of the others."""
    of_number = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int64)
    of_number[numbers[:num_keys]] = np.arange(num_keys)
    found: I64 = of_number[numbers[num_keys:]]
    return found


def _patched(rows: pa.Table, names: Sequence[str], existing: TargetRows, place: I64, is_patch: Flags) -> pa.Table:
    """The rows with the values of those that are there in the place of NULL."""
    for name in names:
        column = rows.column(name)
        if column.null_count and is_patch.any():
            old = existing.rows.column(name).take(pa.array(np.maximum(place, 0), mask=~is_patch))
            column = pa.chunked_array([_coalesced(column.combine_chunks(), old.combine_chunks())])
            rows = rows.set_column(rows.schema.get_field_index(name), rows.field(name), column)
    return rows


def _coalesced(new: pa.Array, old: pa.Array) -> pa.Array:
    """The new values, and the old ones where these are NULL; of any type."""
    both = pa.concat_arrays([new, old])
    count = len(new)
    is_null = new.is_null().to_numpy(zero_copy_only=False)
    return both.take(pa.array(np.where(is_null, np.arange(count) + count, np.arange(count))))


def _changed(final: Events, existing: TargetRows, place: I64) -> Flags:
    """Which events put a row into the table, or another one in its place."""
    is_there = place >= 0
    same = np.zeros(final.num_rows, np.bool_)
    if is_there.any():
        names = final.rows.schema.names
        at = np.flatnonzero(is_there)
        old = existing.rows.select(names).take(pa.array(place[at]))
        same[at] = equal_rows(final.rows.take(pa.array(at)), old, names)
    return ~final.is_delete & ~same
