"""Values of new columns by the addresses of rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.reads.scan.system_columns import ROW_ADDRESS


class LookedUp:
    """Expressions whose values are those of a table's rows, by `_rowaddr`; NULL for other rows.

    raises: InvalidArgument for addresses that are NULL, and for one that occurs twice
    """

    def __init__(self, rows: pa.Table) -> None:
        addresses = rows[ROW_ADDRESS].cast(pa.uint64()).combine_chunks()
        if addresses.null_count or pc.count_distinct(addresses).as_py() < len(addresses):
            raise InvalidArgument(f"The values of new columns have a {ROW_ADDRESS} that is NULL, or occurs twice")
        self._addresses = addresses
        self._values = rows.drop_columns([ROW_ADDRESS])
        self._num_found = 0
        self.columns = (ROW_ADDRESS,)
        self.types = {field.name: field.type for field in self._values.schema}

    def __call__(self, rows: pa.Table) -> dict[str, pa.Array]:
        found = pc.index_in(rows[ROW_ADDRESS].combine_chunks(), value_set=self._addresses)
        self._num_found += len(found) - found.null_count
        taken = self._values.take(found).combine_chunks()
        return {name: pa.concat_arrays(taken[name].chunks or [pa.array([], self.types[name])]) for name in self.types}

    def check_all_found(self) -> None:
        """Raises InvalidArgument if there were values for rows that the table does not have."""
        missing = len(self._addresses) - self._num_found
        if missing:
            raise InvalidArgument(f"{missing} values are for rows that the table does not have: read them anew")
