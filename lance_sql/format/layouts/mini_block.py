"""Mini-block pages: small values in chunks of a few thousand, each chunk with its own levels.

Buffers of the page: chunk words, chunks, then a dictionary and a repetition index if the layout has them. The
head of the page is everything except the chunks.
Source: message MiniBlockLayout.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import LevelKind
from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.blocks import Block, to_array
from lance_sql.format.encodings.chunk_rows import ChunkRows
from lance_sql.format.encodings.codecs import decode_block, decode_mini_block
from lance_sql.format.layouts import nested
from lance_sql.format.layouts.levels import LevelEncoding, level_encoding
from lance_sql.format.layouts.matching import TestedValues, ValueTest
from lance_sql.format.layouts.native import NativePage, are_strings, fixed_width_bits, mini_block_page
from lance_sql.format.layouts.nest import Chain, Slots, nest, unravel
from lance_sql.format.layouts.page import PAGE_BYTES, cluster, concat
from lance_sql.format.layouts.reading import Reading
from lance_sql.format.layouts.tree import MiniBlock, max_definition, max_repetition, max_visible
from lance_sql.format.layouts.value_codecs import uncompressed
from lance_sql.runtime.cached_property import cached_property
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64
from lance_sql.values.row_ranges import RowRanges

ROWS_READ_OVER = 256
"""Lists are unraveled over gaps of up to this many rows, because a new start costs more."""

MAX_DICTIONARY_ITEMS = 1 << 31


def head_ranges(layout: MiniBlock, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns the buffers of the head: chunk words, dictionary, repetition index."""
    expected = 2 + (layout.dictionary is not None) + (layout.repetition_index_depth > 0)
    if len(buffers) != expected:
        raise CorruptFile(f"a mini-block page with {len(buffers)} buffers, expected {expected}")
    return [buffers[0], *buffers[2:]]


class MiniBlockPage:
    """One mini-block page with its head."""

    def __init__(
        self, layout: MiniBlock, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]
    ) -> None:
        self._layout = layout
        self._data = buffers[1]
        self._num_rows = num_rows
        self._table = _kernels.ChunkTable(
            head[0],
            layout.num_items,
            large=layout.has_large_chunk,
            num_bytes=self._data.end - self._data.start,
            has_rep=layout.repetition is not None,
            has_def=layout.definition is not None,
            num_buffers=layout.num_buffers,
        )
        self._rep = level_encoding(layout.repetition) if layout.repetition is not None else None
        self._def = level_encoding(layout.definition) if layout.definition is not None else None
        self._dictionary = self._read_dictionary(head[1]) if layout.dictionary is not None else None
        self._rows = self._read_row_index(head[-1]) if max_repetition(layout.layers) else None
        self._native: dict[pa.DataType, NativePage] = {}
        self.num_bytes = PAGE_BYTES + 32 * (self._table.num_chunks + 1) + sum(buffer.size for buffer in head)

    @cached_property
    def _item_starts(self) -> I64:
        # the kernels compute both themselves, and they alone read most pages
        return self._table.item_starts()

    @cached_property
    def _byte_offsets(self) -> I64:
        return self._table.byte_offsets()

    def _read_dictionary(self, data: pa.Buffer) -> Block:
        layout = self._layout
        if layout.dictionary is None or not 0 <= layout.num_dictionary_items <= MAX_DICTIONARY_ITEMS:
            raise CorruptFile(f"a dictionary of {layout.num_dictionary_items} items is not possible")
        return decode_block(layout.dictionary, data, layout.num_dictionary_items)

    def _read_row_index(self, data: pa.Buffer) -> "_RowIndex":
        num_chunks = self._table.num_chunks
        if self._layout.repetition_index_depth == 0:
            if num_chunks != 1:
                raise CorruptFile("a page of lists in several chunks without a repetition index")
            return _RowIndex.from_pairs(np.array([[self._num_rows, 0]], np.uint64), self._num_rows)
        if data.size != 16 * num_chunks:
            raise CorruptFile(f"a repetition index of {data.size} bytes for {num_chunks} chunks")
        return _RowIndex.from_pairs(np.frombuffer(data, "<u8").reshape(num_chunks, 2), self._num_rows)

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[NativePage, ByteRange] | None:
        return self._nested(chain) if is_nested else self._flat(chain)

    def _flat(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """Returns the reader of values without nesting."""
        chain.check(self._layout.layers)
        if not chain.is_in_structs or self._layout.num_items < self._num_rows:
            return None
        return self._native_page(chain.leaf), self._data

    def _nested(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """Returns the reader of the whole chain."""
        layers = self._layout.layers
        if chain.is_flat and chain.is_never_null_around(layers):
            flat = self._flat(chain)
            if flat is None or flat[0].form is None:
                return None
            return nested.plain(flat[0], self._num_rows, layers, chain), self._data
        chain.check(layers)
        if chain.is_flat and self._layout.num_items < self._num_rows:
            return None
        values = mini_block_page(self._table, self._layout.values, None, self._dictionary, chain.leaf)
        if values.form is None:
            return None
        rows = self._rows
        through = (rows.starts_through, rows.ends_through) if rows is not None else None
        repetition = self._rep if rows is not None else None
        page = nested.in_chunks(values, self._num_rows, layers, chain, self._table, repetition, self._def, through)
        return page, self._data

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        has_nulls = self._def is not None and max_definition(self._layout.layers) > 0
        _, values = uncompressed(self._layout.values)
        tested = TestedValues(fixed_width_bits(values), are_strings(values, leaf), has_nulls, self._dictionary)
        return tested.test(test, leaf)

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        """Decodes pages without a dictionary; the kernels alone read the others."""
        chain.check(self._layout.layers)
        if self._dictionary is not None:
            self._refuse(self._dictionary, chain)
        return (yield from self._decode_flat(rows, chain, gap) if chain.is_flat else self._decode_nested(rows, chain))

    def _refuse(self, dictionary: Block, chain: Chain) -> NoReturn:
        """Raises an error for a dictionary for which there is no reader."""
        type = chain.stored or chain.leaf
        to_array(dictionary, type.value_type if pa.types.is_dictionary(type) else type)
        raise CorruptFile(f"dictionary indices encoded as {self._layout.values}")

    def _native_page(self, leaf: pa.DataType) -> NativePage:
        page = self._native.get(leaf)
        if page is None:
            # NULL are values, and those inside NULL structs
            definition = self._def if max_definition(self._layout.layers) else None
            page = mini_block_page(self._table, self._layout.values, definition, self._dictionary, leaf)
            self._native[leaf] = page
        return page

    def _decode_flat(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        if rows[-1, 1] > self._layout.num_items:
            raise CorruptFile(f"{self._layout.num_items} items for {self._num_rows} rows")
        groups = [(part, self._byte_range(part)) for part in self._near(rows, gap)]
        buffers = yield [where for _, where in groups]
        arrays = []
        for (part, where), data in zip(groups, buffers, strict=True):
            chunk_rows = self._chunk_rows(part, data, where.start - self._data.start)
            slots = self._flat_slots(chunk_rows)
            leaf = chain.leaf_array(self._values(chunk_rows), slots[0])
            arrays.append(nest(leaf, slots[1:], chain))
        return concat(arrays)

    def _flat_slots(self, rows: ChunkRows) -> list[Slots]:
        slots = []
        base = 0
        for layer in self._layout.layers:
            if self._def is None or layer.num_levels == 0:
                slots.append(Slots(rows.num_items, None, 0))
            else:
                bitmap = pa.allocate_buffer((rows.num_items + 7) // 8)
                num_valid = _kernels.validity(
                    rows.chunks, rows.ranges, self._def.codec, self._def.num_bits, base, bitmap
                )
                nulls = rows.num_items - num_valid
                slots.append(Slots(rows.num_items, bitmap if nulls else None, nulls))
            base += layer.num_levels
        return slots

    def _decode_nested(self, rows: RowRanges, chain: Chain) -> Reading[pa.Array]:
        covering = row_ranges.coalesce(rows, ROWS_READ_OVER)
        parts = [self._part(int(start), int(end), chain) for start, end in covering]
        buffers = yield [part.where for part in parts]
        array = concat([self._decode_part(part, data, chain) for part, data in zip(parts, buffers, strict=True)])
        if row_ranges.count(covering) == row_ranges.count(rows):
            return array
        return array.take(pa.array(_positions(covering, rows)))

    def _part(self, start: int, end: int, chain: Chain) -> "_Part":
        per_row = chain.items_per_row
        if self._rows is None:
            first_item, end_item = start * per_row, end * per_row
            if end_item > self._layout.num_items:
                raise CorruptFile(f"{self._layout.num_items} items for {self._num_rows} rows")
            spans = self._chunks_of(np.array([[first_item, end_item]], np.int64))
            first, last = int(spans[0, 0]), int(spans[0, 1])
            skip = first_item - int(self._item_starts[first])
        else:
            first, last, skip = self._rows.find(start, end)
        offsets = self._byte_offsets
        where = ByteRange(self._data.start + int(offsets[first]), self._data.start + int(offsets[last]))
        return _Part(first, last, skip, (end - start) * per_row, where)

    def _decode_part(self, part: "_Part", data: pa.Buffer, chain: Chain) -> pa.Array:
        layers = self._layout.layers
        chunks = _kernels.Chunks(self._table, data, part.where.start - self._data.start)
        rep = self._levels(chunks, part, LevelKind.REPETITION, self._rep)
        defs = self._levels(chunks, part, LevelKind.DEFINITION, self._def)
        item = int(self._item_starts[part.first_chunk])
        if rep is not None and self._rows is not None:
            num_starts = int(np.count_nonzero(rep == max_repetition(layers)))
            if num_starts != self._rows.num_starts(part.first_chunk, part.end_chunk):
                raise CorruptFile(f"{num_starts} rows begin in chunks where the repetition index has another number")
        if rep is None:
            start, end, num_items = part.skip, part.skip + part.num_rows, part.num_rows
            item += part.skip
        else:
            start, end, before, num_items = _kernels.select_rows(
                rep, defs, len(rep), max_repetition(layers), max_visible(layers), part.skip, part.num_rows
            )
            item += before
            rep = rep[start:end]
        if defs is not None:
            defs = defs[start:end]
        slots = unravel(rep, defs, layers, chain, end - start)
        items = row_ranges.single(item, item + num_items)
        rows = ChunkRows(self._table, data, chunks, items, num_items, data.size)
        return nest(chain.leaf_array(self._values(rows), slots[0]), slots[1:], chain)

    def _levels(
        self, chunks: _kernels.Chunks, part: "_Part", kind: LevelKind, encoding: LevelEncoding | None
    ) -> npt.NDArray[np.uint16] | None:
        if encoding is None:
            return None
        counts = _kernels.num_levels(chunks, part.first_chunk, part.end_chunk)
        out = np.empty(int(counts.sum()), np.uint16)
        _kernels.levels(chunks, part.first_chunk, part.end_chunk, kind, encoding.codec, encoding.num_bits, out)
        return out

    def _values(self, rows: ChunkRows) -> Block:
        return decode_mini_block(self._layout.values, rows)

    def _chunk_rows(self, items: RowRanges, data: pa.Buffer, data_start: int) -> ChunkRows:
        chunks = _kernels.Chunks(self._table, data, data_start)
        items = np.ascontiguousarray(items)
        return ChunkRows(self._table, data, chunks, items, row_ranges.count(items), data.size)

    def _chunks_of(self, items: RowRanges) -> RowRanges:
        """Returns the chunks `[first, end)` of each range of items."""
        first = np.searchsorted(self._item_starts, items[:, 0], side="right") - 1
        end = np.searchsorted(self._item_starts, items[:, 1], side="left")
        return np.stack((first, end), axis=1)

    def _near(self, items: RowRanges, gap: int) -> list[RowRanges]:
        """Groups the ranges of items whose chunks are worth fetching together."""
        if gap >= self._data.end - self._data.start or len(items) == 1:
            return [items]
        spans = self._byte_offsets[self._chunks_of(items)]
        return [items[first:end] for first, end in cluster(spans, gap).tolist()]

    def _byte_range(self, items: RowRanges) -> ByteRange:
        """Returns the bytes of the chunks from the first item to the last."""
        first = int(self._item_starts.searchsorted(items[0, 0], side="right")) - 1
        end = int(self._item_starts.searchsorted(items[-1, 1], side="left"))
        start = self._data.start
        return ByteRange(start + int(self._byte_offsets[first]), start + int(self._byte_offsets[end]))


@dataclass(frozen=True, slots=True)
class _Part:
    """Adjacent rows: their chunks, and the number of rows to skip that start in these chunks before them."""

    first_chunk: int
    end_chunk: int
    skip: int
    num_rows: int
    where: ByteRange


@dataclass(frozen=True, slots=True)
class _RowIndex:
    """The chunks in which each row of a page of lists starts and ends."""

    starts_through: I64
    ends_through: I64

    @classmethod
    def from_pairs(cls, pairs: U64, num_rows: int) -> "_RowIndex":
        """Builds the index from (rows that end in the chunk, entries left over for the next) of every chunk."""
        if (pairs[:, 0] > num_rows).any():
            raise CorruptFile(f"a repetition index with more than {num_rows} rows")
        ending = pairs[:, 0].astype(np.int64)
        goes_on = (pairs[:, 1] > 0).astype(np.int64)
        started_before = np.concatenate(([0], goes_on[:-1]))
        starts = ending + goes_on - started_before
        if (starts < 0).any() or int(ending.sum()) != num_rows or goes_on[-1]:
            raise CorruptFile(f"a repetition index that does not add up to {num_rows} rows")
        return cls(np.cumsum(starts), np.cumsum(ending))

    def num_starts(self, first_chunk: int, end_chunk: int) -> int:
        """Counts the rows that start in chunks `[first_chunk, end_chunk)`."""
        before = int(self.starts_through[first_chunk - 1]) if first_chunk else 0
        return int(self.starts_through[end_chunk - 1]) - before

    def find(self, start: int, end: int) -> tuple[int, int, int]:
        """Returns for rows `[start, end)` the chunks `[first, end)`, and the rows before `start` that start in the
        first."""
        first = int(np.searchsorted(self.starts_through, start, side="right"))
        last = int(np.searchsorted(self.ends_through, end, side="left"))
        if first >= len(self.starts_through) or last >= len(self.ends_through):
            raise CorruptFile(f"row {end - 1} is not in the repetition index")
        before = int(self.starts_through[first - 1]) if first else 0
        return first, last + 1, start - before


def _positions(covering: RowRanges, rows: RowRanges) -> I64:
    """Returns the positions of the rows in the covering set."""
    lengths = covering[:, 1] - covering[:, 0]
    firsts = np.cumsum(lengths) - lengths
    wanted = row_ranges.expand(rows)
    owner = np.searchsorted(covering[:, 0], wanted, side="right") - 1
    positions: I64 = wanted - covering[owner, 0] + firsts[owner]
    return positions
