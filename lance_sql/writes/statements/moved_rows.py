"""The rows that a change takes from their places: to new files, or away. Of many, they take little memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from lance_sql.table import segments
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import Segment
from lance_sql.values.arrays import U64
from lance_sql.values.bitmaps import U64Set


@dataclass
class MovedRows:
    """The ids and addresses of rows, as they are read.

    num_rows: how many, such that came twice included
    """

    num_rows: int = 0
    _ids: list[Segment] = field(default_factory=list)
    _addresses: list[U64Set] = field(default_factory=list)

    def add(self, addresses: U64, ids: U64 | None = None) -> None:
        """Adds rows.

        ids: where they keep them, in the order of the rows; the array becomes read-only
        """
        self.num_rows += len(addresses)
        self._addresses.append(U64Set.of(addresses))
        if ids is not None and len(ids):
            self._ids.append(segments.smallest(ids))

    @property
    def row_ids(self) -> RowIds:
        """In the order in which they came."""
        return RowIds(tuple(self._ids))

    @property
    def addresses(self) -> U64Set:
        """Each of them once."""
        return U64Set.union(self._addresses)
