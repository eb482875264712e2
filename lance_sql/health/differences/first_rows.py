"""The first of many rows, collected within bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.values import selection


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
