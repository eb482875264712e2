"""Search for rows that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.changes.images import CHANGE_TYPE, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.format.casts.common_type import plain, to_type
from lance_sql.health.differences.compared_columns import SharedColumns
from lance_sql.health.differences.difference import Cell, UpdatedRow
from lance_sql.health.differences.pairing import LeftOnly, Pair, Paired, RightOnly, UniqueKey, pair
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.values import selection
from lance_sql.values.arrays import BoolMask
from lance_sql.values.equal_values import Comparison, same
from lance_sql.values.value_text import values

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed
    from lance_sql.dataset import Dataset


@dataclass
class FirstRows:
    """Collector of the first rows.

    max_rows: the number of rows to keep
    position: a column with the positions of rows, which the first ones are chosen by; None for the order of adding
    """

    max_rows: int
    position: str | None = None
    _held: list[tuple[pa.Table, ...]] = field(default_factory=list)
    _num_held: int = 0

    def add(self, *tables: pa.Table) -> None:
        """Adds rows.

        tables: parallel parts of the rows, the first of which has the position
        """
        room = self.max_rows if self.position is not None else self.max_rows - self._num_held
        if self._held and room <= 0:
            return
        self._held.append(self._first(tables, room))
        self._num_held += self._held[-1][0].num_rows
        if self._num_held > 2 * self.max_rows + 1024:
            self._held = [self._together()]
            self._num_held = self._held[0][0].num_rows

    def tables(self) -> tuple[pa.Table, ...] | None:
        """Returns the first rows as parallel tables; None if no rows were added."""
        return self._together() if self._held else None

    def table(self) -> pa.Table:
        """Returns the first rows of rows in one part; without columns if no rows were added."""
        return self._together()[0] if self._held else pa.table({})

    def _together(self) -> tuple[pa.Table, ...]:
        return self._first(tuple(pa.concat_tables(parts) for parts in zip(*self._held, strict=True)), self.max_rows)

    def _first(self, tables: tuple[pa.Table, ...], count: int) -> tuple[pa.Table, ...]:
        # copied, so that the source can be freed
        if self.position is None:
            rows = pa.array(range(min(count, tables[0].num_rows)), pa.int64())
        else:
            rows = pc.sort_indices(tables[0][self.position])[:count]
        return tuple(selection.take(table, rows) for table in tables)


@dataclass
class RowDifferences:
    """Collector of rows that differ.

    shown: columns that name an updated row
    max_rows: the maximum number of inserted, deleted and updated rows to store; all are counted
    comparisons: by column, how its values are compared; bitwise by default
    position: a column of both sides with the positions of rows, the first of which are stored
    """

    shared: SharedColumns
    shown: tuple[str, ...]
    max_rows: int
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    position: str | None = None
    num_inserted: int = 0
    num_deleted: int = 0
    num_updated: int = 0
    num_rewritten: int = 0
    cells: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.inserted, self.deleted, self._updated = (FirstRows(self.max_rows, self.position) for _ in range(3))

    @property
    def num_rows(self) -> int:
        """Number of inserted, deleted and updated rows."""
        return self.num_inserted + self.num_deleted + self.num_updated

    def add(self, meetings: Iterable[Pair], *, counts_rewritten: bool) -> None:
        """Records the result of pairing.

        counts_rewritten: pairs without a difference count as rewritten
        """
        for each in meetings:
            match each:
                case LeftOnly(rows):
                    self.num_deleted += rows.num_rows
                    self.deleted.add(rows)
                case RightOnly(rows):
                    self.num_inserted += rows.num_rows
                    self.inserted.add(rows)
                case Paired(before, after):
                    differing = self._pairs(before, after)
                    self.num_updated += differing
                    self.num_rewritten += (after.num_rows - differing) * counts_rewritten

    def _pairs(self, before: pa.Table, after: pa.Table) -> int:
        """Counts the pairs that differ, and records them."""
        differs: dict[str, BoolMask] = {}
        for name, earlier in self.shared.before.items():
            columns = (selection.whole(rows[of]) for rows, of in ((before, earlier), (after, name)))
            differs[name] = ~self.comparisons.get(name, same)(*columns)
            if differs[name].any():
                self.cells[name] += int(differs[name].sum())
        if not self.cells:
            return 0
        positions = np.flatnonzero(np.logical_or.reduce(list(differs.values())))
        if len(positions):
            chosen = pa.array(positions)
            self._updated.add(
                selection.take(before, chosen), selection.take(after, chosen), pa.table(differs).take(chosen)
            )
        return len(positions)

    def updated(self) -> Iterator[DifferingPair]:
        """Yields the first rows that differ."""
        before, after, differs = self._updated.tables() or (pa.table({}),) * 3
        flags = differs.to_pydict()
        for row in range(before.num_rows):
            yield DifferingPair(
                before.slice(row, 1),
                after.slice(row, 1),
                tuple(name for name in self.shared.before if flags[name][row]),
            )


@dataclass(frozen=True)
class DifferingPair:
    """A row that both tables have, with other values.

    before, after: tables of one row
    columns: the columns that differ, by their names in `after`
    """

    before: pa.Table
    after: pa.Table
    columns: tuple[str, ...]


def updated_rows(differences: RowDifferences) -> Iterator[UpdatedRow]:
    """Yields the first rows that differ, as values for people."""
    earlier = differences.shared.before
    for each in differences.updated():
        cells = (Cell(name, _value(each.before, earlier[name]), _value(each.after, name)) for name in each.columns)
        yield UpdatedRow(tuple(_value(each.after, name) for name in differences.shown), tuple(cells))


def _value(row: pa.Table, name: str) -> Any:
    return values(selection.whole(row[name]))[0]


def by_row_id(feed: ChangeFeed, differences: RowDifferences) -> None:
    """Compares the rows that the commits between two versions changed. Inserted and deleted rows are only counted,
    except for the first ones."""
    differences.num_inserted = feed.count_rows(f"{CHANGE_TYPE} = '{INSERT}'")
    differences.num_deleted = feed.count_rows(f"{CHANGE_TYPE} = '{DELETE}'")
    columns = [ROW_ID, *feed.schema.names[: -1 - len(feed.feed_fields)]]
    for rows, kind in ((differences.inserted, INSERT), (differences.deleted, DELETE)):
        first = feed.scan(columns, f"{CHANGE_TYPE} = '{kind}'", limit=differences.max_rows)
        rows.add(adapted(first.to_reader(), {}).read_all())
    compared = [ROW_ID, *dict.fromkeys([*differences.shown[1:], *differences.shared.types])]
    before, after = (
        adapted(feed.scan(compared, f"{CHANGE_TYPE} = '{kind}'").to_reader(), differences.shared.types)
        for kind in (PREIMAGE, POSTIMAGE)
    )
    differences.add(pair(before, after, UniqueKey([ROW_ID])), counts_rewritten=True)


def by_changed_key(feed: ChangeFeed, differences: RowDifferences, key: Sequence[str], names: tuple[str, str]) -> None:
    """Compares rows of changed fragments, by their keys."""
    columns = feed.schema.names[: -1 - len(feed.feed_fields)]
    before, after = (
        adapted(
            feed.scan(columns, f"{CHANGE_TYPE} IN ('{kinds[0]}', '{kinds[1]}')").to_reader(), differences.shared.types
        )
        for kinds in ((DELETE, PREIMAGE), (INSERT, POSTIMAGE))
    )
    differences.add(pair(before, after, UniqueKey(key, names)), counts_rewritten=True)


def by_key(
    before: Dataset, after: Dataset, differences: RowDifferences, key: Sequence[str], names: tuple[str, str]
) -> None:
    """Compares all rows of both tables."""
    types = differences.shared.types
    renamed = {earlier: types[name] for name, earlier in differences.shared.before.items()}
    system = [name for name in key if name not in after.schema.names]
    first, second = (
        adapted(table.scan([*system, *table.schema.names]).to_reader(), chosen)
        for table, chosen in ((before, renamed), (after, types))
    )
    differences.add(pair(first, second, UniqueKey(key, names)), counts_rewritten=False)


def adapted(reader: pa.RecordBatchReader, types: Mapping[str, pa.DataType]) -> pa.RecordBatchReader:
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
