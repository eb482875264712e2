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
from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.layouts import nested
from lance_sql.format.layouts.composites import becoming, fixed_values, form_of, variable_values
from lance_sql.format.layouts.matching import TestedValues, ValueTest
from lance_sql.format.layouts.native import NativePage, full_zip_page
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.page import PAGE_BYTES
from lance_sql.format.layouts.tree import FullZip, max_definition, max_repetition
from lance_sql.store import ByteRange
from lance_sql.values.arrays import I64

_INDEX_TYPES = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}


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
        self._index = _row_index(head[0], num_rows, self._data) if head else None
        self._native: dict[pa.DataType, NativePage | None] = {}
        self.num_bytes = PAGE_BYTES + sum(buffer.size for buffer in head)

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[NativePage, ByteRange] | None:
        chain.check(self._layout.layers)
        if not is_nested and (self._max_rep or not chain.is_in_structs):
            return None
        return (self._nested(chain) if is_nested else self._flat(chain)), self._data

    def _flat(self, chain: Chain) -> NativePage:
        """Returns the reader of values without nesting."""
        page = self._plain(chain.leaf)
        if page is not None:
            return page
        tested = self._tested()
        if tested is None or not chain.outer:
            try:
                return self._in_entries(chain, tested)
            except LanceError as error:
                if tested is None:
                    raise
                # which values are NULL can be tested even so
                return NativePage(tested, None, error)
        return NativePage(tested, None)

    def _nested(self, chain: Chain) -> NativePage:
        """Returns the reader of the whole chain."""
        layers = self._layout.layers
        page = self._plain(chain.leaf) if chain.is_never_null_around(layers) else None
        if page is not None:
            return nested.plain(page, self._num_rows, layers, chain)
        return self._in_entries(chain, None)

    def _plain(self, leaf: pa.DataType) -> NativePage | None:
        """Returns the reader of values without parts, not inside lists; None for other values."""
        if leaf not in self._native and not self._max_rep:
            layout = self._layout
            self._native[leaf] = full_zip_page(
                layout.values,
                self._num_rows,
                self._index,
                leaf,
                bits_def=layout.bits_def,
                num_levels=self._num_levels,
                value_bytes=self._value_bytes,
                length_bytes=self._length_bytes,
            )
        return self._native.get(leaf)

    def _tested(self) -> _kernels.PageReader | None:
        """Returns the reader that tests which values are NULL; None for values without bytes."""
        length_bytes = self._length_bytes
        if not length_bytes and not self._value_bytes:
            return None
        return _kernels.PageReader.full_zip(
            self._num_rows,
            bits_def=self._layout.bits_def,
            num_levels=self._num_levels,
            value_bytes=self._value_bytes,
            length_bytes=length_bytes,
            row_starts=self._index if length_bytes else None,
            symbol_table=None,
            format=(True, 8 * length_bytes) if length_bytes else (False, 8 * self._value_bytes),
        )

    def _in_entries(self, chain: Chain, tested: _kernels.PageReader | None) -> NativePage:
        """Returns the reader of values between levels.

        raises: LanceError if the page has no such values
        """
        layout = self._layout
        make = variable_values if layout.bits_per_offset is not None else fixed_values
        with becoming(chain.leaf):
            return nested.in_entries(
                form_of(chain.leaf),
                make(layout.values),
                self._num_rows,
                layout.layers,
                chain,
                (layout.bits_rep, layout.bits_def, self._value_bytes, self._length_bytes),
                self._data.end - self._data.start,
                self._index,
                tested,
            )

    @property
    def _value_bytes(self) -> int:
        return (self._layout.bits_per_value or 0) // 8

    @property
    def _length_bytes(self) -> int:
        return (self._layout.bits_per_offset or 0) // 8

    @property
    def _num_levels(self) -> int:
        """Number of definition levels of values that are NULL, or inside NULL structs."""
        return max_definition(self._layout.layers) if self._layout.bits_def else 0

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        """See `Page.test`; values must be decoded for tests."""
        if not self._value_bytes and not self._length_bytes:
            return None
        return TestedValues(None, are_strings=False, has_nulls=self._num_levels > 0).test(test, leaf)


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
