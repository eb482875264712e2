"""The items of some rows of a mini-block page: what a codec decodes in the mini-block context.

A chunk is a header (the number of levels, the sizes of its buffers) and the buffers, each padded to 8 bytes:
`u16 num_levels [u16 rep_bytes] [u16 def_bytes] (u16 | u32) value_bytes[num_buffers]`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.row_ranges import RowRanges


@dataclass(frozen=True, slots=True)
class ChunkForm:
    """What the header of every chunk of a page contains."""

    has_rep: bool
    has_def: bool
    num_buffers: int
    large: bool

    @property
    def header(self) -> struct.Struct:
        return struct.Struct(
            f"<H{int(self.has_rep) + int(self.has_def)}H{self.num_buffers}{'I' if self.large else 'H'}"
        )


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """`ranges` of items of a page, and the bytes of the chunks that hold them.

    ranges: sorted, disjoint, relative to the page's first item; `num_items` is their total
    data: bytes of the page's chunk buffer from `data_start` on
    """

    form: ChunkForm
    table: _kernels.ChunkTable
    data: pa.Buffer
    data_start: int
    chunks: _kernels.Chunks
    ranges: RowRanges
    num_items: int

    def touched_chunks(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """The chunks that hold at least one of the items, ascending."""
        starts = self.table.item_starts()
        first = np.searchsorted(starts, self.ranges[:, 0], side="right") - 1
        end = np.searchsorted(starts, self.ranges[:, 1], side="left")
        marks = np.zeros(len(starts) + 1, np.int64)
        np.add.at(marks, first, 1)
        np.add.at(marks, end, -1)
        return np.flatnonzero(np.cumsum(marks) > 0)

    def value_buffers(self, start: int, end: int) -> list[pa.Buffer]:
        """The value buffers of the chunk in bytes `[start, end)` of the page's chunk buffer."""
        at, end = start - self.data_start, end - self.data_start
        header = self.form.header
        if at < 0 or end > self.data.size or end - at < header.size:
            raise CorruptFile(f"a chunk of {end - at} bytes is not in the bytes that were read")
        sizes = header.unpack_from(self.data, at)
        levels = int(self.form.has_rep) + int(self.form.has_def)
        at += _padded(header.size)
        for size in sizes[1 : 1 + levels]:
            at += _padded(size)
        buffers = []
        for size in sizes[1 + levels :]:
            if at + size > end:
                raise CorruptFile(f"a chunk buffer of {size} bytes passes the end of its chunk")
            buffers.append(self.data.slice(at, size))
            at += _padded(size)
        return buffers


def without_levels(counts: Sequence[int], buffers: Sequence[Sequence[pa.Buffer]]) -> tuple[_kernels.ChunkTable, bytes]:
    """Chunks of `counts` items made of the given value buffers: the table and the bytes."""
    form = ChunkForm(False, False, len(buffers[0]), True)
    words, pieces = [], []
    for count, parts in zip(counts, buffers, strict=True):
        header = form.header.pack(0, *(part.size for part in parts))
        pieces.append(header.ljust(_padded(len(header)), b"\0"))
        length = _padded(len(header))
        for part in parts:
            pieces += (part, b"\0" * (-part.size % 8))
            length += _padded(part.size)
        words.append((length // 8 - 1) << 4 | (count.bit_length() - 1))
    data = b"".join(pieces)
    table = _kernels.ChunkTable(
        np.array(words, np.uint32),
        sum(counts),
        large=True,
        num_bytes=len(data),
        has_rep=False,
        has_def=False,
        num_buffers=form.num_buffers,
    )
    return table, data


def _padded(size: int) -> int:
    return -(-size // 8) * 8
