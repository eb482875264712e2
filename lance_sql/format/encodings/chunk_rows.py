"""The items of some rows of a mini-block page: the input of codecs in the mini-block context."""

from dataclasses import dataclass

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.values.row_ranges import RowRanges


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """`ranges` of items of a page, and their chunks.

    ranges: sorted, disjoint, relative to the page's first item; `num_items` is their total
    data: bytes of the page's chunk buffer that `chunks` refers to
    num_bytes: of the chunks, including decompressed data
    """

    table: _kernels.ChunkTable
    data: pa.Buffer
    chunks: _kernels.Chunks
    ranges: RowRanges
    num_items: int
    num_bytes: int

    def allocate(self, bits_per_value: int) -> pa.Buffer:
        """Allocates the items as plain values of `bits_per_value` bits.

        raises: CorruptFile if the chunks have fewer bytes than that, before anything is allocated
        """
        needed = (self.num_items * bits_per_value + 7) // 8
        if needed > self.num_bytes:
            raise CorruptFile(f"{self.num_items} values of {bits_per_value} bits in chunks of {self.num_bytes} bytes")
        return pa.allocate_buffer(needed)
