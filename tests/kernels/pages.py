"""Mini-block pages built by hand, and Hypothesis strategies for them and for ranges of their items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hypothesis import strategies as st

from lance_sql import _kernels as kernels
from lance_sql.format.encodings.tree import (
    ByteStreamSplit,
    Compression,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    Rle,
    Variable,
)
from lance_sql.format.layouts.tree import Layer, MiniBlock, PageLayout
from lance_sql.format.layouts.wire_v2_1 import layout_to_wire

from .oracles import Array, Ints

CANARY = 0xA5


class ValueCodec(IntEnum):
    """How values without parts are encoded."""

    FLAT = 0
    INLINE_BITPACKING = 1
    BYTE_STREAM_SPLIT = 2
    RLE = 3
    VARIABLE = 4
    FSST = 5

    def tree(self, bits: int, symbol_table: bytes | None = None) -> Encoding:
        """bits: of a value, a word or an offset"""
        match self:
            case ValueCodec.FLAT:
                return Flat(bits)
            case ValueCodec.INLINE_BITPACKING:
                return InlineBitpacking(bits)
            case ValueCodec.BYTE_STREAM_SPLIT:
                return ByteStreamSplit(Flat(bits))
            case ValueCodec.RLE:
                return Rle(Flat(bits), Flat(8))
            case ValueCodec.VARIABLE:
                return Variable(bits)
            case ValueCodec.FSST:
                return Fsst(symbol_table or b"", Variable(bits))


class LevelCodec(IntEnum):
    """How levels are encoded."""

    FLAT16 = 0
    PACKED = 1
    INLINE_PACKED = 2
    RLE = 3

    def tree(self, num_bits: int) -> Encoding:
        match self:
            case LevelCodec.FLAT16:
                return Flat(16)
            case LevelCodec.PACKED:
                return OutOfLineBitpacking(16, num_bits)
            case LevelCodec.INLINE_PACKED:
                return InlineBitpacking(16)
            case LevelCodec.RLE:
                return Rle(Flat(16), Flat(8))


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

    def all_items(self) -> Ints:
        return np.array([0, self.num_items])

    def reader(
        self,
        codec: ValueCodec,
        bits: int,
        format: tuple[bool, int],
        *,
        definition: tuple[LevelCodec, int] | None = None,
        symbol_table: bytes | None = None,
        items: tuple[int, int, bytes | None, bytes] | None = None,
        list_size: int | None = None,
        keeps_indices: bool = False,
        compression: Compression | None = None,
    ) -> kernels.PageReader:
        """A reader of values that are not nested.

        items: of a dictionary: their number, the bits of one or of an offset, offsets of byte strings, and their bytes
        raises: ValueError for damage, and for values that cannot have the format
        """
        values = codec.tree(bits, symbol_table)
        if list_size is not None:
            values = FixedSizeList(list_size, Flat(bits // list_size), False)
        dictionary: Encoding | None = None
        heads = [self.metadata]
        if items is not None:
            _, item_bits, offsets, data = items
            dictionary = Flat(item_bits) if offsets is None else Variable(item_bits)
            if offsets is not None:
                width = item_bits // 8
                sizes = (item_bits, 2 * width + len(offsets))
                data = b"".join(size.to_bytes(width, "little") for size in sizes) + offsets + data
            heads.append(data)
        unused = Flat(16) if self.has_def else None
        layout = MiniBlock(
            layers=(Layer.ALL_VALID_ITEM if definition is None else Layer.NULLABLE_ITEM,),
            values=values if compression is None else General(compression, values),
            # levels of no layer are skipped
            repetition=Flat(16) if self.has_rep else None,
            definition=definition[0].tree(definition[1]) if definition is not None else unused,
            dictionary=dictionary,
            num_dictionary_items=0 if items is None else items[0],
            num_buffers=self.num_buffers,
            repetition_index_depth=0,
            num_items=self.num_items,
            has_large_chunk=self.large,
        )
        index_bits = format[1] if keeps_indices else 0
        reader = stored(layout, heads, len(self.data), self.num_items, type_of(format, list_size, index_bits))
        if reader.refusal is not None:
            raise ValueError(reader.refusal[0])
        return reader

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


def type_of(
    format: tuple[bool, int],
    list_size: int | None = None,
    index_bits: int = 0,
    outer: Sequence[tuple[int, int]] = (),
    *,
    is_nested: bool = False,
) -> kernels.ColumnType:
    """The type of values of a format, or of indices to byte strings."""
    variable, bits = format if not index_bits else (True, 32)
    number: tuple[object, ...] = ("plain", variable, bits if list_size is None else bits // list_size, False)
    if number == ("plain", False, 64, False):
        # narrow decimals
        number = ("plain", False, 64, True)
    return kernels.ColumnType(
        number if list_size is None else ("lists", list_size, number),
        index_bits=index_bits,
        most_items=2 ** min(max(index_bits - 1, 0), 40),
        makes_items=False,
        outer=list(outer),
        is_nested=is_nested,
        are_places=False,
        leaf_name="the type",
        name="the type",
    )


def stored(
    layout: PageLayout, head: Sequence[bytes], num_bytes: int, num_rows: int, type: kernels.ColumnType
) -> kernels.PageReader:
    """The reader of a page at byte 0 of its file, with `num_bytes` of values; its head is behind it."""
    buffers, at = [(0, num_bytes)] if num_bytes or isinstance(layout, MiniBlock) else [], num_bytes
    for each in head:
        buffers.append((at, at + len(each)))
        at += len(each)
    if isinstance(layout, MiniBlock):
        buffers[0], buffers[1] = buffers[1], buffers[0]
    return kernels.PageReader.stored(layout_to_wire(layout), num_rows, buffers, list(map(pa.py_buffer, head)), type)


def decoded_block(encoding: Encoding, data: bytes, num_values: int) -> kernels.Items:
    """The values of one buffer: those of a dictionary.

    raises: ValueError for damage
    """
    page = build([Chunk(1, [bytes(1)])], large=True)
    layout = MiniBlock(
        layers=(Layer.ALL_VALID_ITEM,),
        values=Flat(8),
        repetition=None,
        definition=None,
        dictionary=encoding,
        num_dictionary_items=num_values,
        num_buffers=1,
        repetition_index_depth=0,
        num_items=1,
        has_large_chunk=True,
    )
    items = stored(layout, [page.metadata, data], len(page.data), 1, type_of((False, 8))).items
    assert items is not None
    return items


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
