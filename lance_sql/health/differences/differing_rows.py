"""Search for rows that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.format.casts.common_type import plain, to_type
from lance_sql.health.differences.compared_columns import SharedColumns
from lance_sql.health.differences.difference import Cell, UpdatedRow
from lance_sql.health.differences.pairing import Meeting, OnlyAfter, OnlyBefore, Paired, pair
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values import selection
from lance_sql.values.arrays import BoolMask
from lance_sql.values.equal_values import same
from lance_sql.values.value_text import values

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.dataset import Dataset


@dataclass
class RowDifferences:
    """Collector of rows that differ.

    shown: columns that name an updated row
    max_rows: the maximum number of inserted, deleted and updated rows to store; all are counted
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
        """Records the result of pairing.

        counts_rewritten: pairs without a difference count as rewritten
        """
        for each in meetings:
            match each:
                case OnlyBefore(rows):
                    self.num_deleted += rows.num_rows
                    self.deleted = self._with_first(self.deleted, rows)
                case OnlyAfter(rows):
                    self.num_inserted += rows.num_rows
                    self.inserted = self._with_first(self.inserted, rows)
                case Paired(before, after):
                    differing = self._pairs(before, after)
                    self.num_updated += differing
                    self.num_rewritten += (after.num_rows - differing) * counts_rewritten

    def _with_first(self, collected: pa.Table | None, rows: pa.Table) -> pa.Table:
        room = self.max_rows - (collected.num_rows if collected is not None else 0)
        if collected is not None and room <= 0:
            return collected
        # copied, so that the source can be freed
        first = selection.take(rows, pa.array(range(min(room, rows.num_rows)), pa.int64()))
        return first if collected is None else pa.concat_tables([collected, first])

    def _pairs(self, before: pa.Table, after: pa.Table) -> int:
        """Counts the pairs that differ, and records them."""
        differs: dict[str, BoolMask] = {}
        for name, earlier in self.shared.before.items():
            differing = ~same(_whole(before[earlier]), _whole(after[name]))
            if differing.any():
                differs[name] = differing
                self.cells[name] += int(differing.sum())
        if not differs:
            return 0
        positions = np.flatnonzero(np.logical_or.reduce(list(differs.values())))
        chosen = positions[: max(self.max_rows - len(self.updated), 0)]
        if len(chosen):
            self.updated += self._rows(before, after, chosen, differs)
        return len(positions)

    def _rows(
        self,
        before: pa.Table,
        after: pa.Table,
        positions: np.ndarray[tuple[int], np.dtype[np.intp]],
        differs: Mapping[str, BoolMask],
    ) -> Iterator[UpdatedRow]:
        at = pa.array(positions)
        earlier = {name: values(_whole(before[self.shared.before[name]]).take(at)) for name in differs}
        later = {name: values(_whole(after[name]).take(at)) for name in differs}
        keys = list(zip(*(values(_whole(after[name]).take(at)) for name in self.shown), strict=True))
        for number, position in enumerate(positions.tolist()):
            cells = (
                Cell(name, earlier[name][number], later[name][number])
                for name, flags in differs.items()
                if flags[position]
            )
            yield UpdatedRow(keys[number], tuple(cells))


def by_row_id(feed: ChangeFeed, differences: RowDifferences) -> None:
    """Compares the rows that the commits between two versions changed. Inserted and deleted rows are only counted,
    except for the first ones."""
    differences.num_inserted = feed.count_rows(f"{CHANGE_TYPE} = '{INSERT}'")
    differences.num_deleted = feed.count_rows(f"{CHANGE_TYPE} = '{DELETE}'")
    columns = [ROW_ID, *feed.schema.names[: -1 - len(feed.feed_fields)]]
    differences.inserted, differences.deleted = (
        _adapted(feed.scan(columns, f"{CHANGE_TYPE} = '{kind}'", limit=differences.max_rows).to_reader(), {}).read_all()
        for kind in (INSERT, DELETE)
    )
    compared = [ROW_ID, *dict.fromkeys([*differences.shown[1:], *differences.shared.types])]
    before, after = (
        _adapted(feed.scan(compared, f"{CHANGE_TYPE} = '{kind}'").to_reader(), differences.shared.types)
        for kind in (PREIMAGE, POSTIMAGE)
    )
    differences.add(pair(before, after, [ROW_ID]), counts_rewritten=True)


def by_changed_key(feed: ChangeFeed, differences: RowDifferences, key: Sequence[str], names: tuple[str, str]) -> None:
    """Compares rows of changed fragments, by their keys."""
    columns = feed.schema.names[: -1 - len(feed.feed_fields)]
    before, after = (
        _adapted(
            feed.scan(columns, f"{CHANGE_TYPE} IN ('{kinds[0]}', '{kinds[1]}')").to_reader(), differences.shared.types
        )
        for kinds in ((DELETE, PREIMAGE), (INSERT, POSTIMAGE))
    )
    differences.add(pair(before, after, key, names=names), counts_rewritten=True)


def by_key(
    before: Dataset, after: Dataset, differences: RowDifferences, key: Sequence[str], names: tuple[str, str]
) -> None:
    """Compares all rows of both tables."""
    types = differences.shared.types
    renamed = {earlier: types[name] for name, earlier in differences.shared.before.items()}
    system = [name for name in key if name not in after.schema.names]
    first, second = (
        _adapted(table.scan([*system, *table.schema.names]).to_reader(), chosen)
        for table, chosen in ((before, renamed), (after, types))
    )
    differences.add(pair(first, second, key, names=names), counts_rewritten=False)


def _adapted(reader: pa.RecordBatchReader, types: Mapping[str, pa.DataType]) -> pa.RecordBatchReader:
    """Returns the rows with other types for some columns, and plain ones for the others."""
    fields = [
        field.with_type(types.get(field.name) or plain(field.type)).with_nullable(True) for field in reader.schema
    ]
    schema = pa.schema([pa.field(field.name, field.type) for field in fields])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            columns = [
                to_type(column, field.type, field.name) for column, field in zip(batch.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
