"""Pages without levels: a tree of encodings over the buffers of the page, which can read any of its rows.

    SomeNull        Nullable(Stored(0, Flat(1)), Stored(1, Flat(32)))       bitmap, values
    strings         Binary(Stored(0, Flat(64)), Stored(1, Flat(8)), adj)    ends, bytes
    lists           List(Stored(0, Flat(64)), adj, num_items)               ends; the items are another column

The head of a page has the parts that must be read as a whole: compressed buffers, and the items of a dictionary.
Source: message ArrayEncoding; pages of version 0.1 are the same trees, made by `pages_v0_1`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import general
from lance_sql.format.encodings.blocks import FixedWidth, Lists, Nulls, VariableWidth
from lance_sql.format.encodings.tree import Compression, Constant, Encoding, FixedSizeList, Fsst, General, PackedStruct
from lance_sql.format.layouts.form import OpenPage
from lance_sql.format.layouts.matching import ValueTest
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.page import PAGE_BYTES, cluster
from lance_sql.format.layouts.reading import Reading, interleaved, run
from lance_sql.format.old_files import ends, stored
from lance_sql.format.old_files.arrays import to_array
from lance_sql.format.old_files.codecs import decode_stored
from lance_sql.format.old_files.ends import Bounds
from lance_sql.format.old_files.kernel_pages import array_page, array_test
from lance_sql.format.old_files.tree import (
    Binary,
    FixedSizeBinary,
    List,
    Nullable,
    OffsetBinary,
    OffsetList,
    Stored,
    StructHeader,
)
from lance_sql.format.old_files.tree import Dictionary as DictionaryEncoding
from lance_sql.format.old_files.values import (
    Values,
    check_nulls,
    expand_symbols,
    look_up,
    split_rows,
    strings_of_one_width,
    with_validity,
)
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import U64, BoolMask
from lance_sql.values.row_ranges import RowRanges

MAX_ITEMS = 1 << 48
MAX_DICTIONARY_ITEMS = 1 << 24


def head_ranges(encoding: Encoding, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns the compressed buffers, and those of dictionary items, in the order of their numbers."""
    return [buffers[number] for number in _head_numbers(encoding, len(buffers))]


@dataclass(frozen=True, slots=True)
class ListRows:
    """Some lists: `valid` (None: all), and the positions of their items."""

    bounds: Bounds
    valid: BoolMask | None


class ArrayPage:
    """One page with its head.

    has_null_key: in a dictionary of this page, index 0 is NULL, and k is item k - 1
    """

    def __init__(
        self,
        encoding: Encoding,
        buffers: Sequence[ByteRange],
        num_rows: int,
        head: Sequence[pa.Buffer],
        *,
        has_null_key: bool,
    ) -> None:
        self._encoding = encoding
        self._has_null_key = has_null_key
        self._num_rows = num_rows
        self._buffers: list[ByteRange | pa.Buffer] = list(buffers)
        numbers = _head_numbers(encoding, len(buffers))
        compressed = dict(_compressed(encoding))
        for number, data in zip(numbers, head, strict=True):
            scheme = compressed.get(number)
            self._buffers[number] = data if scheme is None else general.decompress(scheme, data)
        self._items: dict[Encoding, Values] = {}
        self._check(encoding, num_rows)
        self.num_bytes = PAGE_BYTES + sum(data.size for data in self._buffers if isinstance(data, pa.Buffer))

    def reader(self, chain: Chain, *, is_nested: bool) -> tuple[OpenPage, ByteRange] | None:
        """See `Page.reader`; in structs, which are never NULL in these file versions."""
        opened = self._reader(chain)
        if opened is None or not is_nested:
            return opened
        page, where = opened
        reader = _kernels.PageReader.in_structs(page.reader, len(chain.outer), self._num_rows)
        return OpenPage(reader, page.form), where

    def _reader(self, chain: Chain) -> tuple[OpenPage, ByteRange] | None:
        """Returns the reader of values without nesting."""
        if chain.stored is not None or chain.finish is not None or not chain.is_flat:
            return None
        items, has_null_key = self._known_items(), self._has_null_key
        return array_page(self._encoding, self._buffers, self._num_rows, chain.leaf, items, has_null_key=has_null_key)

    def test(self, test: ValueTest, leaf: pa.DataType) -> _kernels.PageTest | bool | None:
        return array_test(self._encoding, self._known_items(), leaf, test, has_null_key=self._has_null_key)

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        """See `Page.decode`; the array is that of the chain's leaf."""
        type = chain.stored or chain.leaf
        values = yield from self._values(self._encoding, rows, gap)
        if isinstance(self._encoding, StructHeader) and pa.types.is_struct(type) and type.num_fields == 0:
            return pa.Array.from_buffers(type, values.block.num_values, [None])
        check_nulls(values.block, type)
        array = to_array(values.block, type, values.validity, -1 if values.validity is not None else 0)
        return chain.finish(array) if chain.finish else array

    def lists(self, rows: RowRanges, gap: int) -> Reading[ListRows]:
        """Reads the positions of the items of the lists at `rows`, relative to the items of this page."""
        rows = row_ranges.coalesce(rows, 0)
        match self._encoding:
            case List(encoded, adjustment, num_items):
                return (yield from self._ended(encoded, adjustment, rows, num_items, gap))
            case OffsetList(offsets, num_items):
                positions = yield from self._integers(offsets, ends.rows_of_offsets(rows), gap)
                return ListRows(ends.bounds(positions.astype(np.int64), rows, num_items), None)
        raise CorruptFile(f"a page of {type(self._encoding).__name__} cannot hold lists")

    def _values(self, encoding: Encoding, rows: RowRanges, gap: int) -> Reading[Values]:
        match encoding:
            case Stored():
                return Values((yield from self._stored(encoding, rows, gap)))
            case Nullable(validity, inner):
                bits, values = yield from interleaved(
                    [self._values(validity, rows, gap), self._values(inner, rows, gap)]
                )
                return with_validity(values, bits)
            case Constant(value=None) | StructHeader():
                return Values(Nulls(row_ranges.count(rows)))
            case FixedSizeList(dimension, inner):
                items = yield from self._values(inner, rows * dimension, gap)
                return Values(Lists(items.block.num_values // dimension, dimension, items.block, items.validity))
            case Binary() | OffsetBinary():
                return (yield from self._strings(encoding, row_ranges.coalesce(rows, 0), gap))
            case Fsst(table, inner):
                return expand_symbols((yield from self._values(inner, rows, gap)), table)
            case FixedSizeBinary(num_bytes, inner):
                fixed = yield from self._values(inner, rows, gap)
                return strings_of_one_width(fixed, num_bytes)
            case PackedStruct(field_bits, inner):
                packed = yield from self._values(inner, rows, gap)
                if not isinstance(packed.block, FixedWidth):
                    raise CorruptFile(f"packed structs encoded as {inner}")
                return Values(split_rows(packed.block, field_bits))
            case DictionaryEncoding(indices):
                keys = yield from self._values(indices, rows, gap)
                return look_up(keys, self._dictionary_items(encoding), has_null_key=self._has_null_key)
        raise UnsupportedFeature(f"encoding {type(encoding).__name__} is not supported in a page without levels")

    def _stored(self, encoding: Stored, rows: RowRanges, gap: int) -> Reading[FixedWidth]:
        values = _uncompressed(encoding.values)
        if len(rows) == 0:
            return decode_stored(values, pa.py_buffer(b""), 0)
        per_unit, unit_bytes = stored.unit(values)
        if len(rows) == 1:
            return (yield from self._stored_range(encoding.buffer_index, values, rows))
        units = np.stack((rows[:, 0] // per_unit, -(-rows[:, 1] // per_unit)), axis=1)
        spans = units * unit_bytes
        source = self._buffers[encoding.buffer_index]
        if isinstance(source, pa.Buffer):
            groups = [[0, len(rows)]]
            start, size = int(spans[0, 0]), source.size
            buffers: Sequence[pa.Buffer] = [source.slice(start, min(int(spans[-1, 1]), size) - start)]
        else:
            size = source.end - source.start
            groups = cluster(spans, gap).tolist()
            ranges = [
                ByteRange(source.start + int(spans[first, 0]), source.start + min(int(spans[end - 1, 1]), size))
                for first, end in groups
            ]
            buffers = yield ranges
        blocks = []
        for (first, end), data in zip(groups, buffers, strict=True):
            part = rows[first:end] - units[first, 0] * per_unit
            blocks.append(stored.select(decode_stored(values, data, int(part[-1, 1])), part))
        return stored.join(blocks)

    def _stored_range(self, buffer_index: int, values: Encoding, rows: RowRanges) -> Reading[FixedWidth]:
        """Reads adjacent rows, the common case of `_stored`."""
        per_unit, unit_bytes = stored.unit(values)
        start, end = rows[0].tolist()
        unit = start // per_unit
        source = self._buffers[buffer_index]
        size = self._size(buffer_index)
        first, last = unit * unit_bytes, min(-(-end // per_unit) * unit_bytes, size)
        if isinstance(source, pa.Buffer):
            data = source.slice(first, last - first)
        else:
            (data,) = yield [ByteRange(source.start + first, source.start + last)]
        block = decode_stored(values, data, end - unit * per_unit)
        return stored.select(block, rows - unit * per_unit if unit else rows)

    def _integers(self, encoding: Encoding, rows: RowRanges, gap: int) -> Reading[U64]:
        values = yield from self._values(encoding, rows, gap)
        if not isinstance(values.block, FixedWidth) or values.validity is not None:
            raise CorruptFile(f"ends or indices encoded as {encoding}")
        return stored.integers(values.block)

    def _ended(
        self, encoding: Encoding, adjustment: int, rows: RowRanges, num_items: int, gap: int
    ) -> Reading[ListRows]:
        stored_ends = yield from self._integers(encoding, ends.rows_of_ends(rows), gap)
        plain, valid = ends.without_nulls(stored_ends, adjustment, rows)
        return ListRows(ends.bounds(ends.positions_of_ends(plain, rows), rows, num_items), valid)

    def _strings(self, encoding: Binary | OffsetBinary, rows: RowRanges, gap: int) -> Reading[Values]:
        if len(rows) == 0:
            return Values(VariableWidth(0, 64, pa.py_buffer(bytes(8)), pa.py_buffer(b"")))
        assert isinstance(encoding.bytes, Stored)
        num_bytes = stored.max_values(_uncompressed(encoding.bytes.values), self._size(encoding.bytes.buffer_index))
        if isinstance(encoding, Binary):
            list_rows = yield from self._ended(encoding.ends, encoding.null_adjustment, rows, num_bytes, gap)
            bounds, valid = list_rows.bounds, list_rows.valid
        else:
            positions = yield from self._integers(encoding.offsets, ends.rows_of_offsets(rows), gap)
            bounds = ends.bounds(positions.astype(np.int64), rows, num_bytes)
            valid = bounds.lengths > 0 if encoding.empty_is_null else None
        data = yield from self._stored(encoding.bytes, bounds.items, gap)
        offsets = np.zeros(len(bounds.lengths) + 1, np.int64)
        np.cumsum(bounds.lengths, out=offsets[1:])
        block = VariableWidth(len(bounds.lengths), 64, pa.py_buffer(offsets), data.data)
        return Values(block, stored.bitmap(valid) if valid is not None and not valid.all() else None)

    def _known_items(self) -> Values | None:
        """Returns the items of the page's dictionary, if it has one."""
        return self._dictionary_items(self._encoding) if isinstance(self._encoding, DictionaryEncoding) else None

    def _dictionary_items(self, encoding: DictionaryEncoding) -> Values:
        """Returns the items, decoded once; their buffers belong to the head."""
        if encoding not in self._items:
            rows = row_ranges.single(0, encoding.num_items)
            self._items[encoding] = run(self._values(encoding.items, rows, 0), _no_fetch)
        return self._items[encoding]

    def _size(self, buffer_index: int) -> int:
        source = self._buffers[buffer_index]
        return source.size if isinstance(source, pa.Buffer) else source.end - source.start

    def _check(self, encoding: Encoding, num_values: int) -> None:
        """Raises CorruptFile if a buffer is too small for this many values."""
        if num_values > MAX_ITEMS:
            raise CorruptFile(f"{num_values} values in a page")
        match encoding:
            case Stored(number, values):
                values = _uncompressed(values)
                needed, size = stored.num_bytes(values, num_values), self._size(number)
                if needed > size:
                    raise CorruptFile(f"{num_values} values of {values} need {needed} bytes, found {size}")
            case Nullable(validity, inner):
                self._check(validity, num_values)
                self._check(inner, num_values)
            case FixedSizeList(dimension, inner):
                self._check(inner, num_values * dimension)
            case Binary(ends=inner) | List(ends=inner):
                self._check(inner, num_values)
            case Fsst(values=inner) | PackedStruct(values=inner) | FixedSizeBinary(values=inner):
                self._check(inner, num_values)
            case OffsetBinary(offsets=inner) | OffsetList(offsets=inner):
                self._check(inner, num_values + 1 if num_values else 0)
            case DictionaryEncoding(indices, items, num_items):
                if num_items > MAX_DICTIONARY_ITEMS:
                    raise CorruptFile(f"a dictionary of {num_items} items")
                self._check(indices, num_values)
                self._check(items, num_items)


def _nodes(encoding: Encoding) -> Iterator[Encoding]:
    """Yields the nodes of the tree, from the root."""
    yield encoding
    for field in fields(encoding):
        inner = getattr(encoding, field.name)
        if isinstance(inner, Encoding):
            yield from _nodes(inner)


def _compressed(encoding: Encoding) -> Iterator[tuple[int, Compression]]:
    """Yields the compressed buffers, and their compression."""
    for node in _nodes(encoding):
        if isinstance(node, Stored) and isinstance(node.values, General):
            yield node.buffer_index, node.values.compression


def _head_numbers(encoding: Encoding, num_buffers: int) -> list[int]:
    """Returns the buffers that are read as a whole.

    raises: CorruptFile if the tree refers to a buffer that the page does not have
    """
    numbers = {number for number, _ in _compressed(encoding)}
    for node in _nodes(encoding):
        if isinstance(node, Stored) and node.buffer_index >= num_buffers:
            raise CorruptFile(f"buffer {node.buffer_index} of a page of {num_buffers} buffers")
        if isinstance(node, DictionaryEncoding):
            numbers.update(leaf.buffer_index for leaf in _nodes(node.items) if isinstance(leaf, Stored))
    return sorted(numbers)


def _uncompressed(encoding: Encoding) -> Encoding:
    return encoding.values if isinstance(encoding, General) else encoding


def _no_fetch(ranges: Sequence[ByteRange]) -> Sequence[pa.Buffer]:
    raise CorruptFile("dictionary items outside of their buffers")
