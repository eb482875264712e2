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
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, VariableWidth, to_array
from lance_sql.format.encodings.stored import bitmap
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts import nested
from lance_sql.format.layouts.composites import repeated
from lance_sql.format.layouts.levels import encode_levels, levels_from_buffer
from lance_sql.format.layouts.matching import ValueTest
from lance_sql.format.layouts.native import NativePage, constant_page, empty_page
from lance_sql.format.layouts.nest import Chain, Levels
from lance_sql.format.layouts.page import PAGE_BYTES
from lance_sql.format.layouts.shredded import Buffers, ShreddedPage
from lance_sql.format.layouts.tree import ConstantLayout, Layer, max_definition, max_repetition
from lance_sql.store import ByteRange
from lance_sql.values import kinds

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
        chain.check(self._layout.layers)
        if is_nested:
            return self._nested(chain), ByteRange(0, 0)
        if self._rep is not None or not chain.is_in_structs:
            return None
        page = self._flat(chain.leaf)
        if page is None:
            # a value that has parts
            page = None if chain.outer else self._nested(chain)
        return (page, ByteRange(0, 0)) if page is not None else None

    def _flat(self, leaf: pa.DataType) -> NativePage | None:
        """Returns the reader of values without nesting; None for values that have parts."""
        if leaf not in self._native:
            self._check_nulls()
            self._native[leaf] = _with_form(constant_page(self._value(leaf), self._num_rows, self._validity()))
        return self._native[leaf]

    def _nested(self, chain: Chain) -> NativePage:
        """Returns the reader of the whole chain."""
        layers, num_rows = self._layout.layers, self._num_rows
        rep, defs = self._rep, self._def
        if (rep is not None) != (max_repetition(layers) > 0):
            raise CorruptFile("a constant page of lists without repetition levels, or of others with them")
        if chain.is_empty_struct and rep is None and defs is None:
            # an empty struct stores nothing, but is present
            all_valid = (Layer.ALL_VALID_ITEM,) * (len(chain.outer) + 1)
            return nested.plain(repeated(chain.leaf, num_rows, None), num_rows, all_valid, chain)
        self._check_nulls()
        if rep is None and defs is None:
            if self._scalar is not None or chain.is_never_null_around(layers):
                return nested.plain(self._values(chain.leaf, num_rows), num_rows, layers, chain)
            # all of the outermost structs are NULL
            defs = np.full(num_rows, max_definition(layers), np.uint16)
        num_entries = len(rep) if rep is not None else num_rows
        values = self._values(chain.leaf, num_entries)
        return nested.in_memory(values, num_rows, layers, chain, rep, defs, are_null=self._scalar is None)

    def _values(self, leaf: pa.DataType, count: int) -> NativePage:
        """Returns the reader of the value, for so many rows."""
        if self._scalar is None:
            is_indexed = pa.types.is_dictionary(leaf)
            nothing = constant_page(pa.nulls(1, leaf), count) if is_indexed else empty_page(leaf, count)
            return _with_form(nothing) or repeated(leaf, count, None)
        return _with_form(constant_page(self._value(leaf), count)) or repeated(leaf, count, self._scalar[0])

    def _check_nulls(self) -> None:
        """Raises CorruptFile for a page without a value whose layers have no NULL."""
        if self._scalar is not None:
            return
        if max_definition(self._layout.layers) == 0:
            raise CorruptFile("a constant page without a value, but with items that are not NULL")

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """See `Page.test`; the value is tested once, and the kernels only test which rows are NULL."""
        if self._rep is not None:
            return None
        answer = self._answer(test, leaf)
        if self._def is None or self._scalar is None:
            return answer
        if test.wants_null is not None:
            return _kernels.PageTest.validity(not test.wants_null)
        return _kernels.PageTest.validity(True) if answer else False

    def _answer(self, test: ValueTest, leaf: pa.DataType) -> bool:
        """Returns the answer for rows that the levels do not make NULL."""
        if self._scalar is None:
            return bool(test.wants_null)
        if test.wants_null is not None:
            return not test.wants_null
        return bool(test.answers(self._value(leaf))[0])

    def _value(self, leaf: pa.DataType) -> pa.Array:
        """Returns the value as an array; NULL without one.

        raises: CorruptFile for a value of another width
        """
        if self._scalar is None:
            return pa.nulls(1, leaf)
        type = kinds.storage(leaf)
        if pa.types.is_dictionary(type):
            indices = FixedWidth(1, 32, pa.py_buffer(bytes(4)))
            return to_array(DictionaryValues(1, indices, self._block(self._scalar, type.value_type)), leaf)
        return to_array(self._block(self._scalar, type), leaf)

    def _block(self, scalar: list[bytes], type: pa.DataType) -> Block:
        if len(scalar) == 2:
            return _string(scalar[0], scalar[1])
        (value,) = scalar
        if kinds.has_offsets(type):
            # an inline string has no offsets
            return _string(None, value)
        bits = 8 if pa.types.is_boolean(type) else (pa.types.is_decimal64(type) and 128) or type.bit_width
        if len(value) * 8 != bits:
            raise CorruptFile(f"a constant of {len(value)} bytes for {type}")
        return FixedWidth(1, 1 if pa.types.is_boolean(type) else bits, pa.py_buffer(value))


def _with_form(page: NativePage | None) -> NativePage | None:
    return page if page is not None and page.form is not None else None


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


def _string(offsets: bytes | None, value: bytes) -> VariableWidth:
    if offsets is not None:
        if len(offsets) not in (8, 16):
            raise CorruptFile(f"a constant string with offsets of {len(offsets)} bytes")
        start, end = struct.unpack("<II" if len(offsets) == 8 else "<QQ", offsets)
        if not start <= end <= len(value):
            raise CorruptFile(f"a constant string at [{start}, {end}) of {len(value)} bytes")
        value = value[start:end]
    return VariableWidth(1, 64, pa.py_buffer(np.array([0, len(value)], np.int64)), pa.py_buffer(value))
