"""BITMAP: the set of rows of each distinct value. LABEL_LIST uses the same file for the items of lists.

    keys   bitmaps

Source: indices, bitmap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.index_files import row_sets
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.format.index_files.row_sets import RowSet
from lance_sql.values import kinds, row_ranges
from lance_sql.values.arrays import I64, U64

FILE: Final = "bitmap_page_lookup.lance"
_KEYS_AT_ONCE: Final = 1 << 16
_BITMAP_BYTES_AT_ONCE: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Bitmaps:
    """The sets of a file, read on demand.

    type: of the keys
    """

    file: IndexFile
    type: pa.DataType

    @property
    def num_keys(self) -> int:
        """Distinct values, NULL among them."""
        return self.file.num_rows

    @property
    def num_bytes(self) -> int:
        """Approximate memory: the part of the file that the reader caches."""
        return 1 << 16

    def key_parts(self) -> Iterator[pa.Array]:
        """Yields the distinct values in the order of the file, in parts of bounded size.

        raises: CorruptFile
        """
        for start in range(0, self.num_keys, _KEYS_AT_ONCE):
            rows = row_ranges.single(start, min(start + _KEYS_AT_ONCE, self.num_keys))
            yield self.file.read(["keys"], rows)[0]

    def sets(self, positions: I64, *, upper_halves: U64 | None = None, most_rows: int) -> Iterator[RowSet | None]:
        """Yields the sets of the keys at these positions, ascending; None for one with too many rows.

        upper_halves: return only these
        raises: CorruptFile
        """
        at_once = max(1, int(_BITMAP_BYTES_AT_ONCE / max(self.file.row_bytes(["bitmaps"]), 1)))
        for start in range(0, len(positions), at_once):
            rows = row_ranges.from_sorted(positions[start : start + at_once])
            (serialized,) = self.file.read(["bitmaps"], rows)
            with at(file=self.file.path, column="bitmaps"):
                if serialized.null_count:
                    raise CorruptFile("a key without a set of rows")
                for each in serialized:
                    yield row_sets.parse(each.as_buffer(), keys=upper_halves, most=most_rows)


def read(file: IndexFile) -> Bitmaps:
    """Opens the sets of a file.

    raises: CorruptFile; UnsupportedFeature for a file that cannot distinguish NULL from other keys
    """
    type = file.type_of("bitmaps")
    if not (kinds.is_bytes(type) and kinds.has_offsets(type)):
        with at(file=file.path):
            raise CorruptFile(f"sets of rows of type {type}")
    if file.loses_nulls:
        with at(file=file.path):
            raise UnsupportedFeature("a BITMAP in a file of version 0.1, which stores no NULLs, is not supported")
    return Bitmaps(file, file.type_of("keys"))
