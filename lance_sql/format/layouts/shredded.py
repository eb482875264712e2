"""One page of a leaf column before it is written: rows split into values and levels, then buffers."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.format.layouts.tree import Layers

Buffers: TypeAlias = tuple[pa.Buffer | bytes, ...]
"""The buffers of a page, in the order of its layout."""


@dataclass(frozen=True, slots=True)
class ShreddedPage:
    """Rows of one leaf column, before encoding.

    values: one slot for each visible item, in order, NULLs with them; of the storage type of the leaf (stored JSON is
        large_binary, fixed-size lists of primitives and packed structs are leaves, dictionary arrays stay such)
    layers: inner to outer, only those that this page needs
    repetition, definition: uint16, one for each entry; None without list layers, and if nothing is NULL or empty
    """

    values: pa.Array
    layers: Layers
    repetition: npt.NDArray[np.uint16] | None
    definition: npt.NDArray[np.uint16] | None
    num_rows: int

    @property
    def num_entries(self) -> int:
        """Number of entries of the page, with or without an item."""
        for levels in (self.repetition, self.definition):
            if levels is not None:
                return len(levels)
        return len(self.values)


@dataclass(frozen=True, slots=True)
class EncodedPage:
    """One page in the form of a data file.

    layout: the serialized message with the layout, wrapped for the metadata of a column
    """

    layout: bytes
    buffers: Buffers
    num_rows: int

    @property
    def num_bytes(self) -> int:
        """Bytes of all buffers."""
        return sum(buffer.size if isinstance(buffer, pa.Buffer) else len(buffer) for buffer in self.buffers)
