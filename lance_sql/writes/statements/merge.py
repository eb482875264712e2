"""Merges rows by key: updates or deletes matched rows, inserts new ones, deletes rows without a match.

Matched rows are rewritten with their row ids, before inserted ones; see `update`. Rows that already have the values
of the source are not rewritten, and are no change.

Source: message Transaction.Update; row lineage, what each operation does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from lance_sql.errors import ColumnNotFound, InvalidArgument
from lance_sql.format.casts.table import TableCast
from lance_sql.format.schema import Schema
from lance_sql.format.schema.primary_key import primary_key
from lance_sql.reads.scan.key_matching import Matches, match
from lance_sql.reads.scan.scanning import addresses
from lance_sql.reads.scan.take import parts
from lance_sql.runtime.progress import Work
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.bitmaps import U64Set
from lance_sql.values.keys import number, repeated
from lance_sql.writes.statements.row_changes import RowChange, commit, deleted, inserted, rewritten, write
from lance_sql.writes.statements.session import WriteSession, on_latest
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
    _check_choices(when_matched, when_not_matched, delete_unmatched)
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
            raise InvalidArgument(f"{latest.name} has a row with this key already: {row}")
        inserts = matches.unmatched if when_not_matched == "insert" else np.empty(0, np.int64)
        if len(inserts):
            _check_inserts(latest, rows.slice(int(inserts[0]), 1).select(list(keys)), present)

        def changes() -> Iterator[RowChange]:
            if when_matched == "update":
                compared = [name for name in present.names if name not in keys]
                yield from rewritten(
                    latest, rows, matches.ids, matches.addresses, numbers=matches.source, compared=compared
                )
            elif when_matched == "delete":
                yield deleted(matches.addresses)
            # new rows may be more than fit in memory twice
            for part in parts(latest, (), inserts.astype(np.uint64), more_bytes=rows.nbytes / max(rows.num_rows, 1)):
                new = selection.take(rows, pa.array(inserts[part]))
                yield inserted(latest, new, new.num_rows)
            if delete_unmatched is not False:
                unmatched = addresses(latest, None if delete_unmatched is True else delete_unmatched)
                yield deleted(unmatched - U64Set.of(matches.addresses))

        work = Work(len(matches.source) * (when_matched == "update") + len(inserts))
        written = write(latest, work.over(changes()), session.writer, in_order=True)
        return commit(session, [written], inserts_by_key=True, counts_equal=when_matched == "update")

    return on_latest(snapshot, "merge", change, properties)


def _check_choices(when_matched: object, when_not_matched: object, delete_unmatched: object) -> None:
    for name, value, choices in (
        ("when_matched", when_matched, ("update", "delete", "keep", "fail")),
        ("when_not_matched", when_not_matched, ("insert", "ignore")),
    ):
        if value not in choices:
            raise InvalidArgument(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")
    if delete_unmatched is None:
        raise InvalidArgument("delete_unmatched=None: pass True, False or a filter")


def _check_unique(rows: pa.Table, matches: Matches, keys: Sequence[str], name: str, *, inserts: bool) -> None:
    """Makes sure that no key of the source occurs twice: concurrent commits that add rows are conflicts anyway.

    raises: InvalidArgument
    """
    matched, counts = np.unique(matches.source, return_counts=True)
    if np.any(counts > 1):
        key = rows.slice(int(matched[counts > 1][0]), 1).select(list(keys)).to_pylist()[0]
        raise InvalidArgument(f"{name} has two rows with this key already: {key}")
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
            raise InvalidArgument(f"{name} has no primary key: pass key columns (on=['id'], --on id)")
        on = keys
    keys = tuple([on] if isinstance(on, str) else on)
    check_on(keys)
    for key in keys:
        table.field(key)
    return keys


def check_on(keys: Sequence[str]) -> None:
    """
    raises: InvalidArgument unless the columns can be a key
    """
    if not keys or len(set(keys)) != len(keys):
        raise InvalidArgument(f"on={list(keys)} is not a key: pass each key column once, and at least one")


def _check_inserts(snapshot: Snapshot, row: pa.Table, present: Schema) -> None:
    """Makes sure that new rows have every column that is not nullable; existing rows keep their values.

    row: the key of a new row
    raises: InvalidArgument
    """
    fields = snapshot.manifest.schema.fields
    missing = [field.name for field in fields if not field.nullable and field.name not in present.names]
    if missing:
        raise InvalidArgument(
            f"The rows do not fit {snapshot.name}: {', '.join(missing)}: missing, and may not be NULL, while"
            f" {row.to_pylist()[0]} would be inserted: add the columns, or pass when_not_matched='ignore'"
            " (--when-not-matched ignore)"
        )


def _as_rows_of(source: pa.Table, snapshot: Snapshot, keys: Sequence[str]) -> tuple[pa.Table, Schema]:
    """Converts the rows to the table's types; returns them and the fields that they have."""
    table = snapshot.manifest.schema
    for key in keys:
        if key not in source.schema.names:
            shown = ", ".join(source.schema.names[:12])
            raise ColumnNotFound(f"The source has no key column {key!r}; its columns: {shown}")
    # existing rows keep the values of missing columns
    given = frozenset(source.schema.names)
    fields = (field if field.name in given else field._replace(nullable=True) for field in table.fields)
    table = Schema(tuple(fields), table.metadata)
    to_table = TableCast(source.schema, table, snapshot.name)
    batches = [to_table(batch) for batch in source.to_batches()]
    return pa.Table.from_batches(batches, to_table.schema.arrow), to_table.schema
