"""Which rows differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql import selection
from lance_sql.arrays import BoolMask
from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.differences.columns import SharedColumns, plain, to_type
from lance_sql.differences.difference import Cell, UpdatedRow
from lance_sql.differences.pairing import Meeting, OnlyAfter, OnlyBefore, Paired, pair
from lance_sql.equal_values import same
from lance_sql.scan.system_columns import ROW_ID
from lance_sql.value_text import values

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.dataset import Dataset


@dataclass
class RowDifferences:
    """The rows that differ, as they are found.

    shown: columns that name an updated row
    max_rows: so many of the inserted, deleted and updated rows are kept; all are counted
    """

    shared: SharedColumns
    shown: tuple[str, ...]
    max_rows: int
    num_inserted: int = 0
    num_deleted: int = 0
    num_updated: int = 0
    num_rewritten: int = 0
    cells: Counter[str] = field(default_factory=Counter)
    inserted: pa.Table | None = None
    deleted: pa.Table | None = None
    updated: list[UpdatedRow] = field(default_factory=list)

    def add(self, meetings: Iterable[Meeting], *, counts_rewritten: bool) -> None:
        """Takes down what came out of pairing.

        counts_rewritten: pairs without a difference were written again all the same
        """
        for each in meetings:
            match each:
                case OnlyBefore(rows):
                    self.num_deleted += rows.num_rows
                    self.deleted = self._kept(self.deleted, rows)
                case OnlyAfter(rows):
                    self.num_inserted += rows.num_rows
                    self.inserted = self._kept(self.inserted, rows)
                case Paired(before, after):
                    differing = self._pairs(before, after)
                    self.num_updated += differing
                    self.num_rewritten += (after.num_rows - differing) * counts_rewritten

    def _kept(self, known: pa.Table | None, rows: pa.Table) -> pa.Table:
        room = self.max_rows - (known.num_rows if known is not None else 0)
        if known is not None and room <= 0:
            return known
        # copied, so that what it was taken from is not held
        first = selection.take(rows, pa.array(range(min(room, rows.num_rows)), pa.int64()))
        return first if known is None else pa.concat_tables([known, first])

    def _pairs(self, before: pa.Table, after: pa.Table) -> int:
        """How many pairs differ."""
        differs: dict[str, BoolMask] = {}
        for name, earlier in self.shared.before.items():
            found = ~same(_whole(before[earlier]), _whole(after[name]))
            if found.any():
                differs[name] = found
                self.cells[name] += int(found.sum())
        if not differs:
            return 0
        places = np.flatnonzero(np.logical_or.reduce(list(differs.values())))
        chosen = places[: max(self.max_rows - len(self.updated), 0)]
        if len(chosen):
            self.updated += self._rows(before, after, chosen, differs)
        return len(places)

    def _rows(
        self,
        before: pa.Table,
        after: pa.Table,
        places: np.ndarray[tuple[int], np.dtype[np.intp]],
        differs: Mapping[str, BoolMask],
    ) -> Iterator[UpdatedRow]:
        at = pa.array(places)
        earlier = {name: values(_whole(before[self.shared.before[name]]).take(at)) for name in differs}
        later = {name: values(_whole(after[name]).take(at)) for name in differs}
        keys = list(zip(*(values(_whole(after[name]).take(at)) for name in self.shown), strict=True))
        for number, place in enumerate(places.tolist()):
            cells = (
                Cell(name, earlier[name][number], later[name][number])
                for name, flags in differs.items()
                if flags[place]
            )
            yield UpdatedRow(keys[number], tuple(cells))


def by_row_id(feed: ChangeFeed, found: RowDifferences) -> None:
    """Rows that the commits between two versions changed: those whose images are there are not read if they were
    inserted or deleted, but for the first ones."""
    found.num_inserted = feed.count_rows(f"{CHANGE_TYPE} = '{INSERT}'")
    found.num_deleted = feed.count_rows(f"{CHANGE_TYPE} = '{DELETE}'")
    columns = [ROW_ID, *feed.schema.names[: -1 - len(feed.told_fields)]]
    found.inserted, found.deleted = (
        _adapted(feed.scan(columns, f"{CHANGE_TYPE} = '{kind}'", limit=found.max_rows).to_reader(), {}).read_all()
        for kind in (INSERT, DELETE)
    )
    compared = [ROW_ID, *dict.fromkeys([*found.shown[1:], *found.shared.types])]
    before, after = (
        _adapted(feed.scan(compared, f"{CHANGE_TYPE} = '{kind}'").to_reader(), found.shared.types)
        for kind in (PREIMAGE, POSTIMAGE)
    )
    found.add(pair(before, after, [ROW_ID]), counts_rewritten=True)


def by_changed_key(feed: ChangeFeed, found: RowDifferences, key: Sequence[str], names: tuple[str, str]) -> None:
    """Rows of fragments that differ, by their keys."""
    columns = feed.schema.names[: -1 - len(feed.told_fields)]
    before, after = (
        _adapted(feed.scan(columns, f"{CHANGE_TYPE} IN ('{kinds[0]}', '{kinds[1]}')").to_reader(), found.shared.types)
        for kinds in ((DELETE, PREIMAGE), (INSERT, POSTIMAGE))
    )
    found.add(pair(before, after, key, names=names), counts_rewritten=True)


def by_key(before: Dataset, after: Dataset, found: RowDifferences, key: Sequence[str], names: tuple[str, str]) -> None:
    """All rows of both."""
    types = found.shared.types
    renamed = {earlier: types[name] for name, earlier in found.shared.before.items()}
    system = [name for name in key if name not in after.schema.names]
    first, second = (
        _adapted(table.scan([*system, *table.schema.names]).to_reader(), chosen)
        for table, chosen in ((before, renamed), (after, types))
    )
    found.add(pair(first, second, key, names=names), counts_rewritten=False)


def _adapted(reader: pa.RecordBatchReader, types: Mapping[str, pa.DataType]) -> pa.RecordBatchReader:
    """The rows with other types for some columns, and plain ones for the others."""
    fields = [
        field.with_type(types.get(field.name) or plain(field.type)).with_nullable(True) for field in reader.schema
    ]
    schema = pa.schema([pa.field(field.name, field.type) for field in fields])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = [to_type(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
