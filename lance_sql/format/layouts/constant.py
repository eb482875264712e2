"""Constant pages: one scalar for every item, or only nulls, with any levels.

Buffers of the page: the scalar unless it is inline or absent, then repetition and definition levels, if any. All
buffers belong to the head; no data is left to read.
Source: message ConstantLayout.
"""

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, Nulls, VariableWidth
from lance_sql.format.encodings.stored import bitmap
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts import nested
from lance_sql.format.layouts.levels import encode_levels, levels_from_buffer
from lance_sql.format.layouts.matching import ValueTest
from lance_sql.format.layouts.native import NativePage, constant_page, empty_page
from lance_sql.format.layouts.nest import Chain, Levels, Slots, nest, unravel
from lance_sql.format.layouts.page import PAGE_BYTES
from lance_sql.format.layouts.reading import Reading
from lance_sql.format.layouts.shredded import Buffers, ShreddedPage
from lance_sql.format.layouts.tree import ConstantLayout, Layer, max_definition, max_repetition, max_visible
from lance_sql.store import ByteRange
from lance_sql.values import kinds, row_ranges
from lance_sql.values.row_ranges import RowRanges

MAX_INLINE_BYTES = 32


def head_ranges(layout: ConstantLayout, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns every buffer of the page."""
    if len(buffers) not in ((0, 2) if layout.inline_value is not None else (0, 1, 2, 3)):
        raise CorruptFile(f"a constant page with {len(buffers)} buffers")
    return list(buffers)


def encode(page: ShreddedPage, scalar: Sequence[bytes] | None, rules: PageRules) -> tuple[ConstantLayout, Buffers]:
    """Encodes a page of one value, or of NULLs only.

    scalar: the Arrow buffers of an array of the value, without its validity; None when no item has a value
    """
    # levels beside a scalar are never encoded, because pylance aborts the process for them
    is_inline = scalar is not None and len(scalar) == 1 and len(scalar[0]) <= MAX_INLINE_BYTES
    buffers: Buffers = ()
    if scalar is not None and not is_inline:
        header = struct.pack(f"<{len(scalar) + 1}I", len(scalar), *map(len, scalar))
        buffers = (header + b"".join(scalar),)
    levels: tuple[Levels | None, Levels | None] = (page.repetition, page.definition)
    if scalar is None and page.layers == (Layer.NULLABLE_ITEM,):
        levels = (None, None)
    encodings: list[Encoding | None] = [None, None]
    if any(given is not None for given in levels):
        for kind, given in enumerate(levels):
            if given is None:
                buffers += (b"",)
            elif scalar is None and rules.compressed_constant_levels:
                whole = np.array([0, len(given)], np.int64)
                encodings[kind], parts = encode_levels(given, whole, rules, most_bytes=2 * len(given))
                buffers += (parts.data,)
            else:
                buffers += (pa.py_buffer(np.ascontiguousarray(given)),)
    rep, defs = levels
    layout = ConstantLayout(
        layers=page.layers,
        inline_value=scalar[0] if scalar is not None and is_inline else None,
        repetition=encodings[0],
        definition=encodings[1],
        num_rep_values=len(rep) if rep is not None and encodings[0] is not None else 0,
        num_def_values=len(defs) if defs is not None and encodings[1] is not None else 0,
    )
    return layout, buffers


class ConstantPage:
    """One constant page."""

    def __init__(self, layout: ConstantLayout, num_rows: int, head: Sequence[pa.Buffer]) -> None:
        self._layout = layout
        self._num_rows = num_rows
        self._scalar = _buffers_of_scalar(head[0]) if len(head) in (1, 3) else None
        if layout.inline_value is not None:
            self._scalar = [layout.inline_value]
        self._rep = self._def = None
        if len(head) >= 2:
            self._rep = levels_from_buffer(layout.repetition, head[-2], layout.num_rep_values)
            self._def = levels_from_buffer(layout.definition, head[-1], layout.num_def_values)
        if self._rep is not None and self._def is not None and len(self._rep) != len(self._def):
            raise CorruptFile(f"{len(self._rep)} repetition and {len(self._def)} definition levels")
        if self._rep is not None:
            self._row_starts = np.flatnonzero(self._rep == max_repetition(layout.layers))
            if len(self._row_starts) != num_rows or (num_rows and self._row_starts[0] != 0):
                raise CorruptFile(f"levels of {len(self._row_starts)} rows in a page of {num_rows}")
        elif self._def is not None and len(self._def) != num_rows:
            raise CorruptFile(f"{len(self._def)} definition levels for {num_rows} rows")
        self._native: dict[pa.DataType, NativePage | None] = {}
        self.num_bytes = PAGE_BYTES + sum(buffer.size for buffer in head)

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        """See `Page.decode`; there is nothing to fetch."""
        chain.check(self._layout.layers)
        if self._rep is None and self._def is None:
            return self._without_levels(row_ranges.count(rows), chain)
        return self._with_levels(rows, chain)
        yield ()

    def _native_page(self, chain: Chain) -> NativePage | None:
        """Returns the reader of the leaf of a chain without lists, which is NULL if a struct around it is."""
        if chain.stored is not None or chain.finish is not None:
            return None
        if chain.leaf not in self._native:
            value = pa.nulls(1, chain.leaf) if self._is_null(chain) else self._without_levels(1, Chain(chain.leaf))
            self._native[chain.leaf] = constant_page(value, self._num_rows, self._validity())
        return self._native[chain.leaf]

    def _is_null(self, chain: Chain) -> bool:
        """Whether no row has a value.

        raises: CorruptFile if the layers have no NULL
        """
        if self._scalar is not None:
            return False
        if self._def is None:
            self._without_levels(1, chain)
        elif max_definition(self._layout.layers) == 0:
            raise CorruptFile("a constant page with items but without a value")
        return True

    def _validity(self) -> pa.Buffer | None:
        """Returns a bit for each row of a page without lists, or None if all have the value.

        raises: CorruptFile for levels that the layers do not have
        """
        if self._def is None:
            return None
        highest = max_definition(self._layout.layers)
        if self._def.max(initial=0) > highest:
            raise CorruptFile(f"a definition level {self._def.max()} of layers with {highest}")
        return bitmap(self._def == 0)

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[NativePage, ByteRange] | None:
        return self._nested(chain) if is_nested else self._flat(chain)

    def _flat(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """Returns the reader of values without nesting."""
        chain.check(self._layout.layers)
        if self._rep is not None or not chain.is_in_structs:
            return None
        page = self._native_page(chain)
        return (page, ByteRange(0, 0)) if page is not None and page.form is not None else None

    def _nested(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """Returns the reader of the whole chain."""
        layers = self._layout.layers
        if self._rep is None and self._def is None:
            flat = self._flat(chain) if chain.is_never_null_around(layers) else None
            return (nested.plain(flat[0], self._num_rows, layers, chain), flat[1]) if flat is not None else None
        chain.check(layers)
        has_lists = max_repetition(layers) > 0
        if has_lists != (self._rep is not None) or (self._scalar is None and max_definition(layers) == 0):
            return None
        levels = self._rep if self._rep is not None else self._def
        num_entries = len(levels) if levels is not None else 0
        if self._scalar is None:
            values = empty_page(chain.leaf, num_entries)
        else:
            values = constant_page(self._without_levels(1, Chain(chain.leaf)), num_entries)
        if values is None or values.form is None:
            return None
        page = nested.in_memory(
            values, self._num_rows, layers, chain, self._rep, self._def, are_null=self._scalar is None
        )
        return page, ByteRange(0, 0)

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """See `Page.test`; the value is tested once, and the kernels only test which rows are NULL."""
        if self._rep is not None:
            return None
        answer = self._answer(test, Chain(leaf))
        if self._def is None or self._scalar is None:
            return answer
        if test.wants_null is not None:
            return _kernels.PageTest.validity(not test.wants_null)
        return _kernels.PageTest.validity(True) if answer else False

    def _answer(self, test: ValueTest, chain: Chain) -> bool:
        """Returns the answer for rows that the levels do not make NULL."""
        if self._scalar is None:
            return bool(test.wants_null)
        if test.wants_null is not None:
            return not test.wants_null
        return bool(test.answers(self._without_levels(1, chain))[0])

    def _without_levels(self, num_rows: int, chain: Chain) -> pa.Array:
        # for a struct's member, the layers around it are left out
        layers = self._layout.layers[: len(chain.outer) + 1]
        num_items = num_rows * chain.items_per_row
        if any(layer.is_list for layer in layers):
            raise CorruptFile("a constant page of lists without levels")
        if self._scalar is None:
            if chain.is_empty_struct:
                # an empty struct stores nothing, but is present
                all_valid = [Slots(num_items, None, 0)] * len(chain.outer)
                return nest(pa.Array.from_buffers(chain.leaf, num_items, [None]), all_valid, chain)
            if not any(layer is Layer.NULLABLE_ITEM for layer in layers):
                raise CorruptFile("a constant page without a value, levels or nulls")
            return pa.nulls(num_rows, chain.type)
        slots = unravel(None, None, layers, chain, num_items)
        return nest(chain.leaf_array(self.block(num_items, chain), slots[0]), slots[1:], chain)

    def _with_levels(self, rows: RowRanges, chain: Chain) -> pa.Array:
        entries = rows * chain.items_per_row
        if self._rep is not None:
            starts = np.append(self._row_starts, len(self._rep))
            entries = starts[rows]
        index = row_ranges.expand(entries)
        rep = np.ascontiguousarray(self._rep[index]) if self._rep is not None else None
        defs = np.ascontiguousarray(self._def[index]) if self._def is not None else None
        layers = self._layout.layers
        slots = unravel(rep, defs, layers, chain, len(index))
        visible = max_visible(layers)
        num_items = len(index) if defs is None else int(np.count_nonzero(defs <= visible))
        own = slots[0]
        if self._scalar is None and own.num_slots and max_definition(layers) == 0:
            raise CorruptFile("a constant page with items but without a value")
        block = self.block(num_items, chain) if self._scalar is not None else Nulls(num_items)
        if isinstance(block, Nulls):
            own = Slots(num_items, None, 0)
        return nest(chain.leaf_array(block, own), slots[1:], chain)

    def block(self, count: int, chain: Chain) -> Block:
        """Returns the scalar, repeated."""
        scalar, type = self._scalar, kinds.storage(chain.stored or chain.leaf)
        if scalar is None:
            return Nulls(count)
        if isinstance(type, pa.DictionaryType):
            items = self._repeated(scalar, 1, type.value_type)
            indices = FixedWidth(count, 32, pa.py_buffer(np.zeros(count, np.uint32)))
            return DictionaryValues(count, indices, items)
        return self._repeated(scalar, count, type)

    def _repeated(self, scalar: list[bytes], count: int, type: pa.DataType) -> Block:
        if len(scalar) == 2:
            return _repeated_string(scalar[0], scalar[1], count)
        value = scalar[0]
        if kinds.has_offsets(type):
            # an inline string has no offsets
            return _repeated_string(None, value, count)
        if pa.types.is_boolean(type):
            if len(value) != 1:
                raise CorruptFile(f"a constant of {len(value)} bytes for {type}")
            fill = 0xFF if value[0] & 1 else 0
            return FixedWidth(count, 1, pa.py_buffer(np.full((count + 7) // 8, fill, np.uint8)))
        bits = (pa.types.is_decimal64(type) and 128) or type.bit_width
        if len(value) * 8 != bits:
            raise CorruptFile(f"a constant of {len(value)} bytes for {type}")
        data = np.tile(np.frombuffer(value, np.uint8), count)
        return FixedWidth(count, bits, pa.py_buffer(data))


def _buffers_of_scalar(data: pa.Buffer) -> list[bytes]:
    """Returns the Arrow buffers of a one-element array: u32 count, u32 length of each, the bytes."""
    raw = bytes(data)
    if len(raw) < 4:
        raise CorruptFile(f"a constant of {len(raw)} bytes has no header")
    (count,) = struct.unpack_from("<I", raw)
    if count not in (1, 2) or len(raw) < 4 + 4 * count:
        raise CorruptFile(f"a constant of {count} buffers in {len(raw)} bytes")
    lengths = struct.unpack_from(f"<{count}I", raw, 4)
    at = 4 + 4 * count
    if at + sum(lengths) != len(raw):
        raise CorruptFile(f"a constant of {sum(lengths)} bytes in {len(raw)} bytes")
    buffers = []
    for length in lengths:
        buffers.append(raw[at : at + length])
        at += length
    return buffers


def _repeated_string(offsets: bytes | None, value: bytes, count: int) -> VariableWidth:
    if offsets is not None:
        if len(offsets) not in (8, 16):
            raise CorruptFile(f"a constant string with offsets of {len(offsets)} bytes")
        start, end = struct.unpack("<II" if len(offsets) == 8 else "<QQ", offsets)
        if not start <= end <= len(value):
            raise CorruptFile(f"a constant string at [{start}, {end}) of {len(value)} bytes")
        value = value[start:end]
    bounds = np.arange(count + 1, dtype=np.int64) * len(value)
    return VariableWidth(count, 64, pa.py_buffer(bounds), pa.py_buffer(np.tile(np.frombuffer(value, np.uint8), count)))
