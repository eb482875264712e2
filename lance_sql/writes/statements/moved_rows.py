"""Rows that a change moves to new files or deletes, in compact memory even for many rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from lance_sql.table import segments
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import Segment
from lance_sql.values.arrays import U64
from lance_sql.values.bitmaps import U64Set


@dataclass
class MovedRows:
    """Ids and addresses of rows, as they are read.

    num_rows: number of rows, including duplicates
    """

    num_rows: int = 0
    _ids: list[Segment] = field(default_factory=list)
    _addresses: list[U64Set] = field(default_factory=list)

    def add(self, addresses: U64, ids: U64 | None = None) -> None:
        """Adds rows.

        ids: of rows that keep them, in the order of the rows; the array becomes read-only
        """
        self.num_rows += len(addresses)
        self._addresses.append(U64Set.of(addresses))
        if ids is not None and len(ids):
            self._ids.append(segments.smallest(ids))

    @property
    def row_ids(self) -> RowIds:
        """Row ids, in the order of arrival."""
        return RowIds(tuple(self._ids))

    @property
    def addresses(self) -> U64Set:
        """Distinct addresses."""
        return U64Set.union(self._addresses)
