"""Checksums of rows that a move reads, and of the rows of the table that it has written.

A checksum is the sum of the hashes of the rows, so it does not depend on their order. Columns are compared as the table
stores them; those that the table converts in other ways than Arrow, such as JSON, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset

_WRAP: Final = 2**64


def compared(schema: pa.Schema, names: Iterable[str]) -> dict[str, pa.DataType]:
    """Returns the columns to compare, and their types in the table.

    names: of the columns that are moved
    """
    types = {name: schema.field(name).type for name in names if name in schema.names}
    return {name: type for name, type in types.items() if not isinstance(type, pa.BaseExtensionType)}


class Checksum:
    """Sum of the hashes of rows.

    types: of the columns, as `compared`
    """

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        self._types = types
        self.total = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds the rows of a batch."""
        import numpy as np

        from lance_sql.values import hashes

        columns = [batch.column(name).cast(type) for name, type in self._types.items()]
        if columns:
            found = hashes.of_rows(columns, batch.num_rows)
            self.total = (self.total + int(found.sum(dtype=np.uint64))) % _WRAP


def of_files(dataset: Dataset, prefix: str, types: Mapping[str, pa.DataType], passing: Any) -> int:
    """Returns the checksum of the rows of some files of a table.

    prefix: of the names of the files
    passing: called with the number of rows of each batch
    """
    new = [each.id for each in dataset.snapshot.manifest.fragments if each.files[0].path.startswith(prefix)]
    checksum = Checksum(types)
    if new:
        where = f"_rowaddr >= {min(new) << 32} AND _rowaddr < {(max(new) + 1) << 32}"
        for batch in dataset.scan(list(types), where).to_reader():
            checksum.add(batch)
            passing(batch.num_rows)
    return checksum.total
