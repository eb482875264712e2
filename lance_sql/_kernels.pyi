"""Kernels: pure functions on contiguous buffers.

Buffers are any objects with the buffer protocol (pyarrow.Buffer, bytes, memoryview, C-contiguous NumPy arrays);
inputs are only read, outputs belong to the caller, must be writable and may be longer than needed. Nothing
outside of a buffer is read or written. Integers are little endian; bitmaps and sub-byte values are packed least
significant bit first. All functions are thread-safe and release the GIL.

raises: ValueError when sizes, counts or offsets do not fit together (a damaged file), or a count is negative or
above 2**48; TypeError when an argument is no buffer, or an output is read-only
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

class _HasBuffer(Protocol):
    def __buffer__(self, flags: int, /) -> memoryview: ...

Buffer: TypeAlias = bytes | bytearray | memoryview | pa.Buffer | npt.NDArray[np.generic] | _HasBuffer
"""What the kernels take; a name of this stub only."""

@final
class ChunkTable:
    """Where the chunks of a mini-block page begin: in bytes and in items.

    metadata: one word per chunk, u32 if `large` else u16: low 4 bits log2 of the items, the rest 8-byte units - 1
    num_items: of the page; the last chunk has what the others leave
    num_bytes: length of the page's chunk buffer
    has_rep, has_def: whether chunks have a repetition, a definition buffer
    num_buffers: value buffers of each chunk
    raises: ValueError when the chunks hold more than `num_items` or `num_bytes`, or a chunk but the last holds one item
    source: file format 2.1, MiniBlockLayout, chunk metadata
    """

    def __init__(
        self,
        metadata: Buffer,
        num_items: int,
        *,
        large: bool,
        num_bytes: int,
        has_rep: bool,
        has_def: bool,
        num_buffers: int,
    ) -> None: ...
    @property
    def num_chunks(self) -> int: ...
    @property
    def num_items(self) -> int: ...
    def item_starts(self) -> npt.NDArray[np.int64]:
        """First item of each chunk, then num_items: int64[num_chunks + 1], a new array."""
    def byte_offsets(self) -> npt.NDArray[np.int64]:
        """First byte of each chunk in the chunk buffer, then the end of the last: int64[num_chunks + 1], a new array."""
    def chunk_of(self, item: int) -> int:
        """The chunk that holds `item`."""

@final
class Chunks:
    """The chunks of one mini-block page of which some bytes are in memory.

    data: bytes [data_start, data_start + len(data)) of the page's chunk buffer, kept alive by this object
    A kernel that needs a chunk that is not completely inside raises ValueError.
    """

    def __init__(self, table: ChunkTable, data: Buffer, data_start: int = 0) -> None: ...

# Values of a mini-block page. `ranges`: int64[k, 2], sorted disjoint half-open item ranges of the page; the output
# holds their items one after the other.

def flat(c: Chunks, ranges: Buffer, buffer_index: int, bits_per_value: int, out: Buffer) -> None:
    """The plain values in value buffer `buffer_index` of each chunk.

    out: items * bits_per_value / 8 bytes, rounded up; values that are not whole bytes are packed from bit 0 on and
    the bits after the last are zero
    source: message Flat
    """
