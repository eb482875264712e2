"""LABEL_LIST: the set of rows of each distinct list item, in a file like that of a BITMAP.

    keys   bitmaps

NULL lists and empty lists are in no set.

Source: indices, label list.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lance_sql.format.index_files import bitmap
from lance_sql.format.index_files.bitmap import Bitmaps
from lance_sql.format.index_files.index_file import IndexFile

FILE = bitmap.FILE


@dataclass(frozen=True, slots=True)
class Labels:
    """The sets of rows by item, read on demand."""

    items: Bitmaps

    @property
    def type(self) -> pa.DataType:
        """The type of the items."""
        return self.items.type

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""
        return self.items.num_bytes


def read(file: IndexFile) -> Labels:
    """Opens the sets of a file.

    raises: as `bitmap.read`
    """
    return Labels(bitmap.read(file))
