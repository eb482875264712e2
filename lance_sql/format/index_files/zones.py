"""Zones: ranges of a fragment's rows with statistics or filters in an index. Zone maps and bloom filters have them.

Source: indices, zone map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lance_sql.errors import CorruptFile, at
from lance_sql.format.index_files import row_sets
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.values.arrays import I64

_COLUMNS = ("fragment_id", "zone_start", "zone_length")


@dataclass(frozen=True, slots=True)
class Zones:
    """Rows [starts, ends) of the fragments with these ids: int64 each, in any order.

    null_rows: addresses of all NULLs in the form of the file; None if the file lacks them
    """

    fragment_ids: I64
    starts: I64
    ends: I64
    null_rows: bytes | None

    def __len__(self) -> int:
        return len(self.fragment_ids)

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""
        return 24 * len(self) + len(self.null_rows or b"")


def read(file: IndexFile) -> Zones:
    """Reads the zones of a file.

    raises: CorruptFile for zones outside the possible rows of a fragment
    """
    numbers = []
    for array in file.read(_COLUMNS):
        with at(file=file.path):
            if array.null_count:
                raise CorruptFile("a zone without a place")
            values = array.cast("uint64").to_numpy(zero_copy_only=False)
            if len(values) and int(values.max()) > 2**32:
                raise CorruptFile(f"a zone at {int(values.max())}, which is outside of every fragment")
            numbers.append(values.astype(np.int64))
    fragment_ids, starts, lengths = numbers
    ends = starts + lengths
    with at(file=file.path):
        if len(ends) and int(ends.max()) > 2**32:
            raise CorruptFile(f"a zone that ends at row {int(ends.max())}")
    buffer_number = file.number("null_bitmap")
    null_rows = None
    if buffer_number is not None:
        content = file.buffer(buffer_number)
        with at(file=file.path):
            row_sets.check(content)
        null_rows = content
    return Zones(fragment_ids, starts, ends, null_rows)
