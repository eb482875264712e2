"""Mini-block pages: small values in chunks of a few thousand, each chunk with its own levels.

Buffers of the page: chunk words, chunks, then a dictionary and a repetition index if the layout has them. The
head of the page is everything except the chunks.
Source: message MiniBlockLayout.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, LanceError, UnsupportedFeature
from lance_sql.format.encodings import fsst, rle
from lance_sql.format.encodings.blocks import Block, to_array
from lance_sql.format.encodings.codecs import decode_block
from lance_sql.format.encodings.tree import FixedSizeList, Flat, Fsst, General, PackedStruct, Rle, title
from lance_sql.format.layouts import composites, nested
from lance_sql.format.layouts.levels import level_encoding
from lance_sql.format.layouts.matching import TestedValues, ValueTest
from lance_sql.format.layouts.native import NativePage, are_strings, fixed_width_bits, mini_block_page
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.page import PAGE_BYTES
from lance_sql.format.layouts.tree import MiniBlock, max_definition, max_repetition
from lance_sql.format.layouts.value_codecs import uncompressed, value_codec
from lance_sql.store import ByteRange
from lance_sql.values.arrays import I64, U64

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
        chain.check(self._layout.layers)
        if not max_repetition(self._layout.layers) and self._layout.num_items < self._num_rows:
            raise CorruptFile(f"{self._layout.num_items} items for {self._num_rows} rows")
        if is_nested:
            return self._nested(chain), self._data
        return (self._flat(chain), self._data) if chain.is_in_structs else None

    def _flat(self, chain: Chain) -> NativePage:
        """Returns the reader of values without nesting."""
        page = self._native_page(chain.leaf)
        if page.form is not None:
            return page
        if chain.outer:
            return replace(page, refusal=self._refusal(chain.leaf))
        try:
            return self._around(self._composites(chain.leaf), chain, tested=page.reader)
        except LanceError as error:
            # which values are NULL can be tested even so
            return replace(page, refusal=error)

    def _nested(self, chain: Chain) -> NativePage:
        """Returns the reader of the whole chain."""
        layers = self._layout.layers
        if chain.is_never_null_around(layers):
            flat = self._native_page(chain.leaf)
            if flat.form is not None:
                return nested.plain(flat, self._num_rows, layers, chain)
        values = mini_block_page(self._table, self._layout.values, None, self._dictionary, chain.leaf)
        return self._around(values if values.form is not None else self._composites(chain.leaf), chain)

    def _around(self, values: NativePage, chain: Chain, tested: _kernels.PageReader | None = None) -> NativePage:
        rows = self._rows
        through = (rows.starts_through, rows.ends_through) if rows is not None else None
        repetition = self._rep if rows is not None else None
        layers, table = self._layout.layers, self._table
        return nested.in_chunks(
            values, self._num_rows, layers, chain, table, repetition, self._def, through, tested=tested
        )

    def _composites(self, leaf: pa.DataType) -> NativePage:
        """Returns the reader of values that have parts.

        raises: LanceError if the page has no such values
        """
        _, values = uncompressed(self._layout.values)
        if self._dictionary is not None or not isinstance(values, (Flat, FixedSizeList, PackedStruct)):
            raise self._refusal(leaf)
        return composites.chunk_values(self._table, self._layout.values, leaf)

    def _refusal(self, leaf: pa.DataType) -> LanceError:
        """Returns the error for values that have no reader."""
        _, values = uncompressed(self._layout.values)
        try:
            if self._dictionary is not None:
                to_array(self._dictionary, leaf.value_type if pa.types.is_dictionary(leaf) else leaf)
                return CorruptFile(f"dictionary indices encoded as {values}")
            match values:
                case Rle():
                    rle.value_bits(values)
                case Fsst():
                    fsst.offset_bits(values)
                case General():
                    return UnsupportedFeature(
                        "encoding General inside of General is not supported in a mini-block page"
                    )
                case _ if value_codec(values) is None:
                    name = type(values).__name__
                    return UnsupportedFeature(f"encoding {name} is not supported in a mini-block page")
        except LanceError as error:
            return error
        return CorruptFile(f"values encoded as {title(values)} cannot be {leaf}")

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        has_nulls = self._def is not None and max_definition(self._layout.layers) > 0
        _, values = uncompressed(self._layout.values)
        tested = TestedValues(fixed_width_bits(values), are_strings(values, leaf), has_nulls, self._dictionary)
        return tested.test(test, leaf)

    def _native_page(self, leaf: pa.DataType) -> NativePage:
        page = self._native.get(leaf)
        if page is None:
            # NULL are values, and those inside NULL structs
            definition = self._def if max_definition(self._layout.layers) else None
            page = mini_block_page(self._table, self._layout.values, definition, self._dictionary, leaf)
            self._native[leaf] = page
        return page


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
