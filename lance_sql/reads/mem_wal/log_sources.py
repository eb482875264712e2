"""Sources of rows of a write-ahead log: an SSTable, or the entries of a shard that are in none. Each is read twice:
for the keys, and for the last row of each key.

Source: MemTable and WAL specification, SSTable row order, tombstone rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.casts.conversion import convert
from lance_sql.format.casts.validation import Validation
from lance_sql.format.schema import Field, arrow_field
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.scan import Scan
from lance_sql.reads.write_ahead_log import FIELD_ID, TOMBSTONE, SSTable, open_sstable, read_entry
from lance_sql.table.snapshot import Snapshot
from lance_sql.values.arrays import BoolMask


@dataclass(frozen=True, slots=True)
class OfSSTable:
    """Rows of an SSTable."""

    snapshot: Snapshot
    sstable: SSTable

    def batches(self, fields: Sequence[Field]) -> Iterator[pa.RecordBatch]:
        """Yields the rows in write order, with these fields of the table and a flag for deletions.

        raises: CorruptFile, UnsupportedFeature
        """
        with at(file=self.sstable.path):
            opened = open_sstable(self.snapshot, self.sstable)
            # its own column has an id that a column of the table may use by now
            fields_by_id = {field.id: field for field in opened.manifest.schema.fields if field.name != TOMBSTONE}
            names = _names({field.id: field.name for field in fields_by_id.values()}, fields)
            for field in fields:
                if field.id in fields_by_id and arrow_field(fields_by_id[field.id]).type != arrow_field(field).type:
                    raise UnsupportedFeature(f"column {field.name!r} has another type in the write-ahead log")
            if TOMBSTONE in opened.manifest.schema.names:
                names.append(TOMBSTONE)
            chosen = [name for name in names if name is not None]
            for batch in Scan(opened, resolve(opened, chosen), None, None, None).to_reader():
                yield _rows(batch, names, fields)


@dataclass(frozen=True, slots=True)
class OfEntries:
    """Rows of the entries of one shard, the oldest first."""

    snapshot: Snapshot
    paths: tuple[str, ...]

    def batches(self, fields: Sequence[Field]) -> Iterator[pa.RecordBatch]:
        """Yields the rows like `OfSSTable.batches`."""
        for path in self.paths:
            for batch in read_entry(self.snapshot.store, path):
                with at(file=path):
                    batch = Validation(batch.schema).check(batch)
                    names_by_id: dict[int, str] = {}
                    for column in batch.schema:
                        number = (column.metadata or {}).get(FIELD_ID, b"")
                        if number.isdigit():
                            names_by_id[int(number)] = column.name
                    names = _names(names_by_id, fields)
                    if TOMBSTONE in batch.schema.names:
                        names.append(TOMBSTONE)
                    yield _rows(batch, names, fields)


Source: TypeAlias = OfSSTable | OfEntries


def counted_rows(source: Source, fields: Sequence[Field], counted: BoolMask) -> Iterator[pa.RecordBatch]:
    """Yields the counted rows of a source.

    counted: whether each row of the source counts
    """
    first = 0
    for batch in source.batches(fields):
        mask = counted[first : first + batch.num_rows]
        first += batch.num_rows
        if mask.any():
            yield batch.filter(pa.array(mask))


def _names(names_by_id: Mapping[int, str], fields: Sequence[Field]) -> list[str | None]:
    """Returns the names of the table's columns in a source; None for a column added later."""
    return [names_by_id.get(field.id) for field in fields]


def _rows(batch: pa.RecordBatch, names: Sequence[str | None], fields: Sequence[Field]) -> pa.RecordBatch:
    """Converts rows to the table's columns and types, with a flag for deletions.

    names: of the batch's columns, one for each field, followed by that of the flag for deletions, if there is one
    """
    arrays: list[pa.Array] = []
    targets = [arrow_field(field) for field in fields]
    for name, target in zip(names, targets, strict=False):
        if name is None:
            arrays.append(pa.nulls(batch.num_rows, target.type))
            continue
        column = batch.column(name)
        try:
            arrays.append(column if column.type == target.type else convert(column, target.type))
        except (pa.ArrowException, NotImplementedError) as error:
            raise CorruptFile(f"column {target.name!r} has another type than the table's: {error}") from error
    is_deletion = pa.nulls(batch.num_rows, pa.bool_()).fill_null(False)
    if len(names) > len(fields):
        is_deletion = batch.column(TOMBSTONE)
        if is_deletion.type != pa.bool_() or is_deletion.null_count:
            raise CorruptFile(f"a column {TOMBSTONE!r} that does not mark deletions")
    # deletions have no values, even in columns that are not nullable
    schema = pa.schema([*(target.with_nullable(True) for target in targets), pa.field(TOMBSTONE, pa.bool_())])
    return pa.RecordBatch.from_arrays([*arrays, is_deletion], schema=schema)
