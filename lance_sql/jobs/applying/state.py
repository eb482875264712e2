"""Events that the rows of a table do not contain: deletions, and events before or between rows.

A file contains all such events for each of its keys; a key that no longer has any has one line that records this. The
last file that contains a key counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, at
from lance_sql.format.casts.common_type import column_to_type
from lance_sql.jobs.applying.events import Events
from lance_sql.jobs.applying.order import SEQUENCE, concat, in_schema
from lance_sql.store.put_once import put_once
from lance_sql.table import applied
from lance_sql.table.applied import Applied
from lance_sql.table.paths import APPLIED
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.keys import number

_KIND: Final = "__event"
_ROW, _DELETE, _NONE = 0, 1, 2
_MAX_FILES: Final = 8
"""Maximum number of files of a table; at this number, they are merged into one."""


@dataclass(frozen=True)
class KeyState:
    """State of some keys that the rows do not contain.

    keys: one row for each key
    events: of these keys
    """

    keys: pa.Table
    events: Events

    @classmethod
    def concat(cls, parts: Sequence[KeyState]) -> KeyState:
        """Concatenates states; no key may be in two of them."""
        if len(parts) == 1:
            return parts[0]
        schema = parts[0].keys.schema
        return cls(
            pa.concat_tables([part.keys.cast(schema) for part in parts]).combine_chunks(),
            Events.concat([part.events for part in parts]),
        )


def read(snapshot: Snapshot, applied: Applied, keys: pa.Table, like: Events) -> Events:
    """Reads the stored events of some keys.

    keys: one row for each of them
    like: events with the wanted types
    raises: CorruptFile
    """
    if not applied.files:
        return like.take(np.empty(0, np.int64))
    lines = _chosen_lines(snapshot, applied, keys, are_wanted=True)
    return _events(lines, like)


def write(snapshot: Snapshot, applied: Applied, now: KeyState) -> Applied:
    """Writes the new state of some keys, and returns the config entry of the next version.

    raises: CorruptFile
    """
    keys, lines = now.keys, _lines(now.events)
    numbers = number(concat([keys, now.events.rows.select(keys.schema.names)]))
    without = ~np.isin(numbers[: keys.num_rows], numbers[keys.num_rows :])
    files = applied.files
    parts = [lines]
    if len(files) >= _MAX_FILES:
        # one file gets the events of all files for other keys
        parts.append(_chosen_lines(snapshot, applied, keys, are_wanted=False))
        files = ()
    elif files and without.any():
        without_state = selection.filter(keys, pa.array(without))
        parts.append(without_state.append_column(_KIND, pa.array(np.full(without_state.num_rows, _NONE, np.uint8))))
    table = concat(parts, applied.sequence)
    if not table.num_rows:
        return replace(applied, files=files)
    path = f"{APPLIED}/{uuid4().hex}.arrow"
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    put_once(snapshot.store, path, sink.getvalue())
    return replace(applied, files=(*files, path))


def _chosen_lines(snapshot: Snapshot, applied: Applied, keys: pa.Table, *, are_wanted: bool) -> pa.Table:
    """Returns the stored events of these keys, or of all others."""
    names = keys.schema.names
    tables = [_read(snapshot, path) for path in applied.files]
    with at(table=snapshot.label):
        together = _newest(tables, names, applied.sequence)
    numbers = number(concat([together.select(names), keys]))
    is_of_keys = np.isin(numbers[: together.num_rows], numbers[together.num_rows :])
    is_event = together.column(_KIND).to_numpy() != _NONE
    return together.filter(pa.array((is_of_keys == are_wanted) & is_event))


def _lines(events: Events) -> pa.Table:
    table = events.rows
    for name in events.sequence.schema.names:
        table = table.append_column(name, events.sequence.column(name))
    kinds = np.where(events.is_delete, _DELETE, _ROW).astype(np.uint8)
    return table.append_column(_KIND, pa.array(kinds))


def _events(table: pa.Table, like: Events) -> Events:
    """raises: CorruptFile"""
    columns = []
    for field in like.rows.schema:
        # the target may have got the column later
        has_column = table.schema.get_field_index(field.name) >= 0
        column = table.column(field.name) if has_column else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        columns.append(column_to_type(column, field.type, field.name))
    rows = pa.Table.from_arrays(columns, schema=pa.schema([field.with_nullable(True) for field in like.rows.schema]))
    sequence = table.select(like.sequence.schema.names)
    is_delete = table.column(_KIND).to_numpy() == _DELETE
    return Events(in_schema(rows, like.rows.schema), sequence, is_delete, np.zeros(len(is_delete), np.bool_))


def _newest(tables: Sequence[pa.Table], keys: Sequence[str], sequence: Sequence[str]) -> pa.Table:
    """Returns for each key the lines of the last file that contains it."""
    together = concat(tables, sequence).combine_chunks()
    file = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    numbers = number(together.select(list(keys)))
    last = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int64)
    np.maximum.at(last, numbers, file)
    return together.filter(pa.array(last[numbers] == file))


def _read(snapshot: Snapshot, path: str) -> pa.Table:
    with at(table=snapshot.label, file=path):
        table = pa.ipc.open_file(applied.file_content(snapshot, path)).read_all()
        table.validate(full=True)
        if _KIND not in table.schema.names or table.schema.field(_KIND).type != pa.uint8():
            raise CorruptFile("not a file of applied changes")
        return table


def sequence_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Returns columns of a table as the sequence of events."""
    return table.select(list(names)).rename_columns([f"{SEQUENCE}{i}" for i in range(len(names))])
