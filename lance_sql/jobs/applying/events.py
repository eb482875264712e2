"""Changes as events: for each its key, its time, and the row that exists from then on, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.images import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETE,
    NAMES,
    ORIGIN_NAMES,
    PREIMAGE,
)
from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.format.casts.common_type import joinable, plain
from lance_sql.format.schema.from_arrow import logical_type
from lance_sql.format.schema.primary_key import nullable
from lance_sql.jobs.applying.order import SEQUENCE, concat, in_schema
from lance_sql.reads.scan.predicates import evaluate, from_sql
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values import selection
from lance_sql.values.arrays import I64, BoolMask
from lance_sql.values.keys import check, number
from lance_sql.writes.statements.source import to_reader


@dataclass(frozen=True)
class Events:
    """Events in the order of arrival.

    rows: the columns of the target; for a deletion only the key counts
    sequence: columns that order the events of a key
    is_delete: no row exists from then on
    comes_after: it happened after the known events of its moment. Deletions of a change feed are like that: their
        image has the moment of the deleted row
    """

    rows: pa.Table
    sequence: pa.Table
    is_delete: BoolMask
    comes_after: BoolMask

    @property
    def num_rows(self) -> int:
        return len(self.is_delete)

    def take(self, positions: I64 | BoolMask) -> Events:
        """Returns the events at these positions, or where the flags are set."""
        if positions.dtype == np.bool_:
            positions = np.flatnonzero(positions)
        indices = pa.array(positions)
        return Events(
            selection.take(self.rows, indices),
            selection.take(self.sequence, indices),
            self.is_delete[positions],
            self.comes_after[positions],
        )

    def with_rows(self, rows: pa.Table) -> Events:
        """Returns these events with other rows."""
        return replace(self, rows=rows)

    @classmethod
    def concat(cls, parts: Sequence[Events], sequence_names: Sequence[str] = ()) -> Events:
        """Concatenates events: rows in the types of the first part, sequence columns in common types.

        raises: InvalidArgument if there is no common type
        """
        rows = pa.concat_tables([in_schema(part.rows, parts[0].rows.schema) for part in parts]).combine_chunks()
        sequence = concat([part.sequence for part in parts], sequence_names).combine_chunks()
        flags = [np.concatenate([each[i] for each in ((p.is_delete, p.comes_after) for p in parts)]) for i in range(2)]
        return cls(rows, sequence, *flags)


@dataclass(frozen=True)
class EventSource:
    """Events with the checked arguments of `apply_changes`.

    keys, sequence: names of columns
    has_commit_times: the order is that of the commits of a change feed, whose times are known
    """

    events: Events
    keys: tuple[str, ...]
    sequence: tuple[str, ...]
    has_commit_times: bool = False


def read(
    changes: object,
    *,
    table: pa.Schema | None = None,
    keys: str | Sequence[str] | None,
    sequence_by: str | Sequence[str] | None,
    delete_when: str | None,
    columns: Sequence[str] | None,
    except_columns: Sequence[str] | None,
    with_commit_times: bool = False,
) -> EventSource:
    """Converts changes to events.

    table: schema of the target, for values without Arrow types
    with_commit_times: if the changes are ordered by commits, add the times of the commits to the order
    raises: ColumnNotFound, InvalidArgument
    """
    feed = changes if isinstance(changes, ChangeFeed) else None
    given = feed.scan().to_table() if feed is not None else to_reader(changes, table=table).read_all()
    rows = joinable(given)
    names = rows.schema.names
    # rows of a feed that passed through an engine count as a feed
    is_feed = {CHANGE_TYPE, COMMIT_VERSION} <= set(names)
    if feed is not None and keys is None:
        keys = feed.primary_key
    if not keys:
        raise InvalidArgument("The changes have no key: pass keys=['id']")
    chosen_keys = _names(keys, names, "keys")
    for name in chosen_keys:
        field = given.schema.field(name)
        check(name, rows.schema.field(name).type, is_json=logical_type(field) == "json")
    sequence = _names(sequence_by or (), names, "sequence_by")
    is_by_commit = is_feed and not sequence
    has_commit_times = is_by_commit and with_commit_times and COMMIT_TIMESTAMP in names
    if is_by_commit:
        # versions order commits of one moment, and those of clocks that went back
        sequence = (COMMIT_VERSION, COMMIT_TIMESTAMP) if has_commit_times else (COMMIT_VERSION,)
    feed_columns = {*NAMES, ROW_ID} if is_feed else set()
    if is_feed and (feed.range.with_origin if feed is not None else set(ORIGIN_NAMES) <= set(names)):
        feed_columns |= set(ORIGIN_NAMES)
    wanted = _columns(names, feed_columns, columns, except_columns)
    if missing := [name for name in chosen_keys if name not in wanted]:
        raise InvalidArgument(
            f"The key column {missing[0]!r} is not among the columns of the target: add it to columns="
        )
    is_delete = np.zeros(rows.num_rows, np.bool_)
    is_feed_delete = is_delete
    if is_feed:
        kinds = rows.column(CHANGE_TYPE)
        is_feed_delete = is_delete = np.isin(kinds.to_numpy(zero_copy_only=False).astype(str), (DELETE, PREIMAGE))
    if delete_when is not None:
        predicate = from_sql(delete_when, rows.schema, table="the changes")
        answers = [evaluate(predicate, batch).fill_null(False) for batch in rows.to_batches()]
        if answers:
            is_delete = is_delete | np.concatenate([each.to_numpy(zero_copy_only=False) for each in answers])
    _check_sequence(rows, sequence, chosen_keys)
    ordered = rows.select(list(sequence)).rename_columns([f"{SEQUENCE}{i}" for i in range(len(sequence))])
    comes_after = is_feed_delete if not is_by_commit else np.zeros(rows.num_rows, np.bool_)
    events = Events(_nullable(rows.select(wanted)), _nullable(ordered), is_delete, comes_after)
    if is_feed:
        events = events.take(_feed_order(rows, chosen_keys, is_feed_delete))
    return EventSource(events, chosen_keys, sequence, has_commit_times)


def _check_sequence(rows: pa.Table, sequence: Sequence[str], keys: Sequence[str]) -> None:
    """
    raises: InvalidArgument for columns without an order, and for NULL
    """
    for name in sequence:
        type = plain(rows.schema.field(name).type)
        if pa.types.is_nested(type) or pa.types.is_interval(type):
            raise InvalidArgument(
                f"sequence_by: the column {name!r} of type {type} has no order: pass columns of plain values"
            )
        if rows.column(name).null_count:
            at = int(np.flatnonzero(rows.column(name).is_null().to_numpy(zero_copy_only=False))[0])
            key = rows.slice(at, 1).select(list(keys)).to_pylist()[0]
            raise InvalidArgument(f"sequence_by: the column {name!r} is NULL in the change of {key}")


def _feed_order(rows: pa.Table, keys: Sequence[str], is_delete: BoolMask) -> I64:
    """Returns the numbers of the rows of a feed that are events: commits in order, and in each the removed rows first,
    without those that others of the same commit replace."""
    versions = rows.column(COMMIT_VERSION).to_numpy().astype(np.int64)
    order = np.lexsort((~is_delete, versions))
    of_commit = number(rows.select(list(keys))) * (int(versions.max(initial=0)) + 1) + versions
    is_replaced = is_delete & np.isin(of_commit, of_commit[~is_delete])
    return order[~is_replaced[order]]


def _nullable(table: pa.Table) -> pa.Table:
    """Returns the table with nullable columns: a deletion has only a key."""
    schema = pa.schema(map(nullable, table.schema), table.schema.metadata)
    return pa.Table.from_arrays(table.columns, schema=schema)


def _columns(
    names: Sequence[str], feed_columns: set[str], columns: Sequence[str] | None, except_columns: Sequence[str] | None
) -> list[str]:
    """Returns the columns to write to the target."""
    if columns is not None and except_columns is not None:
        raise InvalidArgument("Pass either columns or except_columns, not both")
    if columns is not None:
        return list(_names(columns, names, "columns"))
    left_out = set(_names(except_columns or (), names, "except_columns"))
    return [name for name in names if name not in feed_columns and name not in left_out]


def _names(given: str | Sequence[str], existing: Sequence[str], argument: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in existing:
            shown = ", ".join(existing[:12])
            raise ColumnNotFound(f"{argument}: the changes have no column {name!r}; their columns: {shown}")
    if len(set(names)) < len(names):
        raise InvalidArgument(f"{argument}={list(names)} names a column twice")
    return names
