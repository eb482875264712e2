"""Merges rows by key: updates or deletes matched rows, inserts new ones, deletes rows without a match.

Matched rows are rewritten with their row ids, before inserted ones; see `update`. Rows that already have the values
of the source are not rewritten, and are no change.

Source: message Transaction.Update; row lineage, what each operation does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.format.casts.table import TableCast
from lance_sql.format.schema import Schema
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads.scan.key_matching import Matches, match
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scanning import addresses
from lance_sql.reads.scan.take import parts, take
from lance_sql.runtime.progress import Work
from lance_sql.table import row_ids
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import I64, U64
from lance_sql.values.bitmaps import U64Set
from lance_sql.values.keys import number, repeated
from lance_sql.writes.commit.operations import Update
from lance_sql.writes.statements.equal_rows import differing
from lance_sql.writes.statements.removed_rows import carrying, delete_rows
from lance_sql.writes.statements.session import RowCounts, WriteSession, on_latest
from lance_sql.writes.statements.source import to_reader

WhenMatched: TypeAlias = Literal["update", "delete", "keep", "fail"]
WhenNotMatched: TypeAlias = Literal["insert", "ignore"]


def merge(
    snapshot: Snapshot,
    source: object,
    on: Sequence[str] | None,
    *,
    when_matched: WhenMatched = "update",
    when_not_matched: WhenNotMatched = "insert",
    delete_unmatched: bool | str = False,
    unique: bool = False,
    properties: Mapping[str, str] | None = None,
) -> Snapshot:
    """Merges rows into the newest version by their keys. Rows that already have these values are not rewritten.
    Creates no version if no row changes and none is new.

    source: rows, see `to_reader`, with some or all columns of the table; missing columns keep their values in
        matched rows, and are NULL in inserted ones
    on: the key columns; the table's unenforced primary key without it
    delete_unmatched: deletes rows of the table that no row of the source matches, or those of them that match a filter
    unique: requires that no key of the source occurs twice afterwards
    raises: InvalidArgument for rows that do not fit, for two rows of the source that match one row, and with
        `unique` for a duplicate key; CommitConflict
    """
    for name, value, choices in (
        ("when_matched", when_matched, ("update", "delete", "keep", "fail")),
        ("when_not_matched", when_not_matched, ("insert", "ignore")),
    ):
        if value not in choices:
            raise InvalidArgument(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")
    if delete_unmatched is None:
        raise InvalidArgument("delete_unmatched=None: pass True, False or a filter")

    read: list[pa.Table] = []

    def change(session: WriteSession) -> Snapshot:
        latest = session.snapshot
        table = latest.manifest.schema
        keys = _keys(table, on, latest.name)
        if not read:
            # a stream can be read once, but the statement may run again
            read.append(to_reader(source, table=table.arrow).read_all())
        rows, present = _as_rows_of(read[0], latest, keys)
        matches = match(latest, rows, keys, one_each=when_matched != "keep" or unique)
        if unique:
            _check_unique(rows, matches, keys, latest.name, inserts=when_not_matched == "insert")
        if when_matched == "fail" and len(matches.source):
            row = rows.slice(int(matches.source[0]), 1).select(list(keys)).to_pylist()[0]
            raise InvalidArgument(f"{latest.name} has a row of this key already: {row}")
        inserted = matches.unmatched if when_not_matched == "insert" else np.empty(0, np.int64)
        if len(inserted):
            _check_inserts(latest, rows.slice(int(inserted[0]), 1).select(list(keys)), present)
        moved = matches if when_matched == "update" else _NOTHING
        num_equal = None
        if when_matched == "update":
            names = [name for name in present.names if name not in keys]
            moved = matches.only(differing(latest, names, matches.addresses, rows, matches.source))
            num_equal = len(matches.source) - len(moved.source)
        work = Work(len(moved.source) + len(inserted))
        fragments = session.writer().write_all(work.over(_new_rows(latest, rows, moved, inserted)))
        goes = matches if when_matched == "delete" else moved
        tombstones = delete_rows(latest, _removed(latest, matches, goes.addresses, delete_unmatched))
        num_moved = len(moved.source)
        counts = RowCounts(len(inserted), num_moved, tombstones.num_rows - num_moved, equal=num_equal)
        if not fragments and not tombstones.affected:
            return session.unchanged(counts)
        operation = Update(
            removed_fragment_ids=tombstones.removed,
            updated_fragments=tombstones.updated,
            new_fragments=carrying(latest, fragments, row_ids.from_values(moved.ids)),
            fields_for_preserving_frag_bitmap=tuple(sorted(present.by_id)),
        )
        return session.commit(operation, counts, affected_rows=tombstones.affected, inserts_by_key=len(inserted) > 0)

    return on_latest(snapshot, "merge", change, properties)


_NOTHING: Final = Matches(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64))


def _check_unique(rows: pa.Table, matches: Matches, keys: Sequence[str], name: str, *, inserts: bool) -> None:
    """Makes sure that no key of the source occurs twice: concurrent commits that add rows are conflicts anyway.

    raises: InvalidArgument
    """
    matched, counts = np.unique(matches.source, return_counts=True)
    if np.any(counts > 1):
        key = rows.slice(int(matched[counts > 1][0]), 1).select(list(keys)).to_pylist()[0]
        raise InvalidArgument(f"{name} has two rows of this key already: {key}")
    if not inserts:
        return
    new = selection.take(rows.select(list(keys)), pa.array(matches.unmatched))
    again = repeated(number(new, nulls_are_equal=False))
    if len(again):
        raise InvalidArgument(f"Two rows of the source have the new key {new.slice(int(again[0]), 1).to_pylist()[0]}")


def _keys(table: Schema, on: Sequence[str] | None, name: str) -> tuple[str, ...]:
    if on is None:
        keys = primary_key(table)
        if not keys:
            raise InvalidArgument(f"{name} has no primary key: pass key columns (on=)")
        on = keys
    keys = tuple([on] if isinstance(on, str) else on)
    if not keys or len(set(keys)) != len(keys):
        raise InvalidArgument(f"on={list(keys)}: give each key column once, and at least one")
    for key in keys:
        table.field(key)
    return keys


def _check_inserts(snapshot: Snapshot, row: pa.Table, present: Schema) -> None:
    """Makes sure that new rows have every column that is not nullable; existing rows keep their values.

    row: the key of a new row
    raises: InvalidArgument
    """
    fields = snapshot.manifest.schema.fields
    missing = [field.name for field in fields if not field.nullable and field.name not in present.names]
    if missing:
        raise InvalidArgument(
            f"The rows do not fit {snapshot.name}: {', '.join(missing)}: missing, and may not be NULL, while no row"
            f" matches {row.to_pylist()[0]}, which would be inserted; when_not_matched='ignore' leaves such rows out"
            " (--when-not-matched ignore)"
        )


def _as_rows_of(source: pa.Table, snapshot: Snapshot, keys: Sequence[str]) -> tuple[pa.Table, Schema]:
    """Converts the rows to the table's types; returns them and the fields that they have."""
    table = snapshot.manifest.schema
    for key in keys:
        if key not in source.schema.names:
            shown = ", ".join(source.schema.names[:12])
            raise ColumnNotFound(f"The source has no column {key!r}, on which rows are matched; its columns: {shown}")
    # existing rows keep the values of missing columns
    given = frozenset(source.schema.names)
    fields = (field if field.name in given else field._replace(nullable=True) for field in table.fields)
    table = Schema(tuple(fields), table.metadata)
    to_table = TableCast(source.schema, table, snapshot.name)
    batches = [to_table(batch) for batch in source.to_batches()]
    return pa.Table.from_batches(batches, to_table.schema.arrow), to_table.schema


def _new_rows(snapshot: Snapshot, rows: pa.Table, moved: Matches, inserted: I64) -> Iterator[pa.RecordBatch]:
    """Yields rewritten rows in the table's order, then the inserted ones in the source's."""
    target = snapshot.manifest.schema.arrow
    missing = resolve(snapshot, [name for name in target.names if name not in rows.schema.names])
    given_bytes = rows.nbytes / max(rows.num_rows, 1)
    for part in parts(snapshot, missing, moved.ids, more_bytes=given_bytes):
        new = selection.take(rows, pa.array(moved.source[part]))
        old = take(snapshot, missing, moved.ids[part]) if missing else None
        yield from _assembled(target, new, old)
    for part in parts(snapshot, (), inserted.astype(np.uint64), more_bytes=given_bytes):
        new = selection.take(rows, pa.array(inserted[part]))
        yield from _assembled(target, new, None)


def _assembled(target: pa.Schema, new: pa.Table, old: pa.Table | None) -> list[pa.RecordBatch]:
    columns = []
    for field in target:
        if field.name in new.schema.names:
            columns.append(new.column(field.name))
        elif old is not None:
            columns.append(old.column(field.name))
        else:
            columns.append(pa.chunked_array([pa.nulls(new.num_rows, field.type)]))
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=target).combine_chunks().to_batches()
    return batches


def _removed(snapshot: Snapshot, matches: Matches, matched: U64, delete_unmatched: bool | str) -> U64Set:
    """Returns the addresses of rows to be removed.

    matched: addresses of the matched rows to be removed
    """
    removed = [U64Set.of(matched)]
    if delete_unmatched is not False:
        unmatched = addresses(snapshot, None if delete_unmatched is True else delete_unmatched)
        removed.append(unmatched - U64Set.of(matches.addresses))
    return U64Set.union(removed)
