"""Full-zip pages: large values, each directly after its levels.

An entry is `[control word][length][value]`. The control word contains `repetition << bits_def | definition` in 0, 1, 2
or 4 bytes; variable values have a length. An entry without an item (a null or empty list) has only a control word.
A null item of fixed width still has its bytes; one of variable width has neither length nor bytes. A repetition
index (buffer 1) contains the start of each row, unless every entry has the same size.
Source: message FullZipLayout.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile
from lance_sql.format.encodings.blocks import Block, VariableWidth
from lance_sql.format.encodings.codecs import decode_fixed_values, decode_variable_values
from lance_sql.format.layouts import nested
from lance_sql.format.layouts.matching import TestedValues, ValueTest
from lance_sql.format.layouts.native import NativePage, full_zip_page
from lance_sql.format.layouts.nest import Chain, Levels, Slots, nest, unravel
from lance_sql.format.layouts.page import PAGE_BYTES, cluster, concat
from lance_sql.format.layouts.reading import Reading
from lance_sql.format.layouts.tree import FullZip, max_definition, max_repetition, max_visible
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64
from lance_sql.values.row_ranges import RowRanges

_INDEX_TYPES = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
_ALIGNMENT = 8


def head_ranges(layout: FullZip, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns the repetition index, if the page has one."""
    has_index = max_repetition(layout.layers) > 0 or layout.bits_per_offset is not None
    if len(buffers) != 1 + has_index:
        raise CorruptFile(f"a full-zip page with {len(buffers)} buffers, expected {1 + has_index}")
    return list(buffers[1:])


class FullZipPage:
    """One full-zip page with its repetition index."""

    def __init__(self, layout: FullZip, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]) -> None:
        self._layout = layout
        self._data = buffers[0]
        self._num_rows = num_rows
        self._max_rep = max_repetition(layout.layers)
        if (layout.bits_rep > 0) != (self._max_rep > 0):
            raise CorruptFile(f"repetition levels of {layout.bits_rep} bits for layers {layout.layers}")
        self._control_bytes = _control_bytes(layout.bits_rep + layout.bits_def)
        self._index = _row_index(head[0], num_rows, self._data) if head else None
        self._native: dict[pa.DataType, NativePage | None] = {}
        self.num_bytes = PAGE_BYTES + sum(buffer.size for buffer in head)

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[NativePage, ByteRange] | None:
        """See `Page.reader`; None inside lists, and for the whole chain inside structs that may be NULL."""
        if not is_nested:
            return self._reader(chain)
        native = self._reader(chain) if chain.is_never_null_around(self._layout.layers) else None
        if native is None:
            return None
        return nested.plain(native[0], self._num_rows, self._layout.layers, chain), native[1]

    def _reader(self, chain: Chain) -> tuple[NativePage, ByteRange] | None:
        """Returns the reader of values without nesting."""
        chain.check(self._layout.layers)
        if self._max_rep or not chain.is_in_structs:
            return None
        leaf = chain.leaf
        if leaf not in self._native:
            layout = self._layout
            self._native[leaf] = full_zip_page(
                layout.values,
                self._num_rows,
                self._index,
                leaf,
                bits_def=layout.bits_def,
                num_levels=self._num_levels,
                value_bytes=(layout.bits_per_value or 0) // 8,
                length_bytes=(layout.bits_per_offset or 0) // 8,
            )
        page = self._native[leaf]
        return (page, self._data) if page is not None else None

    @property
    def _num_levels(self) -> int:
        """Number of definition levels of values that are NULL, or inside NULL structs."""
        return max_definition(self._layout.layers) if self._layout.bits_def else 0

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """See `Page.test`; values must be decoded for tests."""
        return TestedValues(None, are_strings=False, has_nulls=self._num_levels > 0).test(test, leaf)

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        chain.check(self._layout.layers)
        entries = rows * chain.items_per_row
        if entries[-1, 1] > self._num_rows:
            raise CorruptFile(f"row {entries[-1, 1]} of a page of {self._num_rows}")
        spans = self._spans(entries)
        groups = [
            (entries[first:end], ByteRange(int(spans[first, 0]), int(spans[end - 1, 1])))
            for first, end in cluster(spans, gap).tolist()
        ]

        buffers = yield [where for _, where in groups]
        arrays = [
            self._decode(part, data, where.start - self._data.start, chain)
            for (part, where), data in zip(groups, buffers, strict=True)
        ]
        return concat(arrays)

    def _spans(self, entries: RowRanges) -> RowRanges:
        """Returns the absolute bytes of each range of entries, checked to lie in the page."""
        if self._index is not None:
            return self._index[entries] + self._data.start
        spans = entries * self._stride + self._data.start
        if int(spans[-1, 1]) > self._data.end:
            raise CorruptFile(
                f"{self._num_rows} entries of {self._stride} bytes in {self._data.end - self._data.start}"
            )
        return spans

    @property
    def _stride(self) -> int:
        assert self._layout.bits_per_value is not None
        return self._control_bytes + self._layout.bits_per_value // 8

    def _decode(self, entries: RowRanges, data: pa.Buffer, data_start: int, chain: Chain) -> pa.Array:
        if self._max_rep:
            return self._decode_lists(entries, data, data_start, chain)
        if self._layout.bits_per_value is not None:
            definition, block = self._fixed(entries, data, data_start)
        else:
            definition, block = self._variable(entries, data, data_start)
        slots = unravel(None, definition, self._layout.layers, chain, row_ranges.count(entries))
        return self._nest(block, slots, chain)

    def _fixed(self, entries: RowRanges, data: pa.Buffer, data_start: int) -> tuple[Levels | None, Block]:
        assert self._layout.bits_per_value is not None
        count, value_bytes = row_ranges.count(entries), self._layout.bits_per_value // 8
        encoding = self._layout.values
        if self._control_bytes == 0 and len(entries) == 1:
            first = int(entries[0, 0]) * value_bytes - data_start
            values = data.slice(first, count * value_bytes)
            if values.address % _ALIGNMENT == 0:
                return None, decode_fixed_values(encoding, values, count)
        values = pa.allocate_buffer(count * value_bytes)
        definition = np.empty(count, np.uint16) if self._layout.bits_def else None
        ranges = np.ascontiguousarray(entries)
        _kernels.unzip_fixed(
            data, data_start, ranges, self._num_rows, self._layout.bits_def, value_bytes, values, definition
        )
        return definition, decode_fixed_values(encoding, values, count)

    def _variable(self, entries: RowRanges, data: pa.Buffer, data_start: int) -> tuple[Levels | None, Block]:
        assert self._index is not None
        assert self._layout.bits_per_offset is not None
        bits = self._layout.bits_per_offset
        numbers = row_ranges.expand(entries)
        starts = self._index[numbers] - data_start
        count, bits_def = len(starts), self._layout.bits_def
        definition = np.empty(count, np.uint16) if bits_def else None
        offsets = pa.allocate_buffer((count + 1) * bits // 8)
        total = _kernels.unzip_row_offsets(data, starts, count, bits_def, bits // 8, definition, offsets, bits)
        self._check_entries(self._index[numbers + 1] - self._index[numbers], definition, offsets)
        values = pa.allocate_buffer(total)
        _kernels.unzip_row_bytes(data, starts, count, bits_def, bits // 8, values)
        return definition, decode_variable_values(self._layout.values, VariableWidth(count, bits, offsets, values))

    def _check_entries(self, sizes: I64, definition: Levels | None, offsets: pa.Buffer) -> None:
        """Raises CorruptFile unless each entry of a page without lists ends where the next one begins."""
        bits = self._layout.bits_per_offset
        lengths = np.diff(np.frombuffer(offsets, f"<i{(bits or 32) // 8}", len(sizes) + 1)) + (bits or 0) // 8
        if definition is not None:
            lengths[definition > 0] = 0
        if not np.array_equal(lengths + self._control_bytes, sizes):
            raise CorruptFile("an entry that does not end where the repetition index ends it")

    def _decode_lists(self, rows: RowRanges, data: pa.Buffer, data_start: int, chain: Chain) -> pa.Array:
        assert self._index is not None
        parts = []
        for start, end in (self._index[row_ranges.coalesce(rows, 0)] - data_start).tolist():
            rep, definition, block = self._walk(data, start, end)
            slots = unravel(rep, definition, self._layout.layers, chain, len(rep))
            parts.append(self._nest(block, slots, chain))
        array = concat(parts)
        if len(array) != row_ranges.count(rows):
            raise CorruptFile(f"{len(array)} rows where the repetition index has {row_ranges.count(rows)}")
        return array

    def _walk(self, data: pa.Buffer, start: int, end: int) -> tuple[Levels, Levels | None, Block]:
        """Returns levels and values of the entries in bytes `[start, end)` of `data`."""
        layout = self._layout
        bits = layout.bits_per_offset or 0
        value_bytes = (layout.bits_per_value or 0) // 8
        shape = (layout.bits_rep, layout.bits_def, max_visible(layout.layers), value_bytes, bits // 8)
        num_entries, num_visible, num_bytes = _kernels.unzip_scan(data, start, end, *shape)
        rep = np.empty(num_entries, np.uint16)
        definition = np.empty(num_entries, np.uint16) if layout.bits_def else None
        offsets = pa.allocate_buffer((num_visible + 1) * bits // 8) if bits else None
        values = pa.allocate_buffer(num_bytes)
        _kernels.unzip(data, start, end, *shape, rep, definition, offsets, bits or 32, values)
        if offsets is None:
            return rep, definition, decode_fixed_values(layout.values, values, num_visible)
        strings = VariableWidth(num_visible, bits, offsets, values)
        return rep, definition, decode_variable_values(layout.values, strings)

    def _nest(self, block: Block, slots: list[Slots], chain: Chain) -> pa.Array:
        return nest(chain.leaf_array(block, slots[0]), slots[1:], chain)


def _control_bytes(num_bits: int) -> int:
    if num_bits == 0:
        return 0
    return 1 if num_bits <= 8 else 2 if num_bits <= 16 else 4


def _row_index(data: pa.Buffer, num_rows: int, values: ByteRange) -> I64:
    """Returns the byte offset of each row, then the end of the last: int64[num_rows + 1], ascending, inside the
    page."""
    width, rest = divmod(data.size, num_rows + 1)
    if rest or width not in _INDEX_TYPES:
        raise CorruptFile(f"a repetition index of {data.size} bytes for {num_rows} rows")
    offsets = np.frombuffer(data, _INDEX_TYPES[width])
    if (offsets[1:] < offsets[:-1]).any() or int(offsets[-1]) > values.end - values.start:
        raise CorruptFile("a repetition index that descends or leaves the page")
    return offsets.astype(np.int64)
