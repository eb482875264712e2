"""Mini-block pages built by hand, and Hypothesis strategies for them and for ranges of their items."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hypothesis import strategies as st

from lance_sql import _kernels as kernels

from .oracles import Array, Ints

CANARY = 0xA5


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk: its items, encoded value buffers, and encoded levels."""

    num_items: int
    buffers: Sequence[bytes]
    rep: bytes | None = None
    def_: bytes | None = None
    num_levels: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """The two buffers of a mini-block page and its layout."""

    metadata: bytes
    data: bytes
    num_items: int
    large: bool
    has_rep: bool = False
    has_def: bool = False
    num_buffers: int = 1
    byte_offsets: Sequence[int] = field(default_factory=list)

    def table(self) -> kernels.ChunkTable:
        return kernels.ChunkTable(
            self.metadata,
            self.num_items,
            large=self.large,
            num_bytes=len(self.data),
            has_rep=self.has_rep,
            has_def=self.has_def,
            num_buffers=self.num_buffers,
        )

    def all_items(self) -> Ints:
        return np.array([0, self.num_items])

    def reader(
        self,
        codec: kernels.ValueCodec,
        bits: int,
        format: tuple[bool, int],
        *,
        definition: tuple[kernels.LevelCodec, int] | None = None,
        symbol_table: bytes | None = None,
        compression: kernels.Compression | None = None,
    ) -> kernels.PageReader:
        """A reader of values without a dictionary."""
        return kernels.PageReader.mini_block(
            self.table(),
            codec=codec,
            bits=bits,
            definition=definition,
            symbol_table=symbol_table,
            items=None,
            format=format,
            keeps_indices=False,
            compression=compression,
        )

    def read(self, reader: kernels.PageReader, ranges: Ints, type: pa.DataType) -> pa.Array:
        """The items of some ranges.

        raises: ValueError for damage
        """
        column = kernels.ColumnReader(np.array([0, self.num_items]))
        column.open(0, reader, 0, len(self.data))
        rows = np.ascontiguousarray(ranges, np.int64)
        _, arrays, failure = kernels.read_rows([], [(column, rows, [(0, self.data, 0)])], None)
        if failure is not None:
            raise ValueError(failure[3])
        array = pa.Array._import_from_c(arrays[0].address, type)
        array.validate(full=True)
        return array


def _pad(data: bytes, filler: int) -> bytes:
    return data + bytes([filler]) * (-len(data) % 8)


def build(chunks: Sequence[Chunk], *, large: bool, filler: int = 0xFE) -> Page:
    """A page of these chunks; all but the last hold a power of two of items.

    filler: what each part is filled up with
    """
    size_type = "<u4" if large else "<u2"
    words, parts, offsets = [], [], [0]
    for i, chunk in enumerate(chunks):
        header = np.array([chunk.num_levels], "<u2").tobytes()
        for levels in (chunk.rep, chunk.def_):
            if levels is not None:
                header += np.array([len(levels)], "<u2").tobytes()
        header += np.array([len(buffer) for buffer in chunk.buffers], size_type).tobytes()
        data = b"".join(_pad(part, filler) for part in (header, chunk.rep or b"", chunk.def_ or b"", *chunk.buffers))
        is_last = i + 1 == len(chunks)
        words.append((len(data) // 8 - 1) << 4 | (0 if is_last else chunk.num_items.bit_length() - 1))
        parts.append(data)
        offsets.append(offsets[-1] + len(data))
    return Page(
        metadata=np.array(words, size_type).tobytes(),
        data=b"".join(parts),
        num_items=sum(chunk.num_items for chunk in chunks),
        large=large,
        has_rep=chunks[0].rep is not None,
        has_def=chunks[0].def_ is not None,
        num_buffers=len(chunks[0].buffers),
        byte_offsets=offsets,
    )


def split(values: Array, sizes: Sequence[int]) -> list[Array]:
    """The values of each chunk."""
    return np.split(values, np.cumsum(sizes)[:-1])


class Output:
    """A writable buffer of exactly `num_bytes`, with canaries behind it."""

    def __init__(self, num_bytes: int) -> None:
        self._bytes = np.full(num_bytes + 64, CANARY, np.uint8)
        self._num_bytes = num_bytes
        self.buffer = self._bytes.data[:num_bytes]

    def array(self, dtype: npt.DTypeLike = np.uint8) -> Array:
        assert (self._bytes[self._num_bytes :] == CANARY).all(), "written behind the end"
        return self._bytes[: self._num_bytes].view(dtype)


def chunk_sizes(most_log2: int = 6, largest_last: int = 150) -> st.SearchStrategy[list[int]]:
    """Powers of two, then a ragged last chunk."""
    full = st.lists(st.integers(1, most_log2).map(lambda log2: 1 << log2), max_size=4)
    return st.builds(lambda sizes, last: [*sizes, last], full, st.integers(1, largest_last))


@st.composite
def ranges_of(draw: st.DrawFn, num_items: int) -> Ints:
    """Everything, or sorted disjoint ranges, also empty and neighbouring ones; at least one item."""
    if draw(st.booleans()):
        return np.array([0, num_items])
    bounds = sorted(draw(st.lists(st.integers(0, num_items), max_size=12)))
    ranges = np.array(bounds[: len(bounds) // 2 * 2], np.int64)
    return ranges if (np.diff(ranges.reshape(-1, 2), axis=1) > 0).any() else np.array([0, num_items])


seeds = st.integers(0, 2**32 - 1)


def random_values(seed: int, count: int, dtype: npt.DTypeLike, num_bits: int | None = None) -> Array:
    """Unsigned values of up to `num_bits` bits; the largest occurs."""
    width = np.dtype(dtype).itemsize
    words = np.random.default_rng(seed).integers(0, 256, count * width, dtype=np.uint8).view(dtype)
    if num_bits is None:
        return words
    mask = np.array([(1 << num_bits) - 1], dtype)
    words &= mask
    words[:1] = mask
    return words
