"""Pages of file version 2.3 without a form in 2.2: new encodings of levels or values, or sparse layers.

A sparse page has sets of NULL or nonempty slots for each layer, as positions in buffers after those of the
values. It stores all values, even those of NULLs. Such pages are read as a whole.
Source: pages that pylance 14 wrote.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.encodings import fsst, numbers
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, VariableWidth
from lance_sql.format.encodings.chunk_rows import ChunkRows
from lance_sql.format.encodings.codecs import decode_block, decode_mini_block
from lance_sql.format.encodings.stored import bitmap
from lance_sql.format.encodings.tree import Encoding, Fsst, OffsetVariable, Rle, Variable
from lance_sql.format.encodings.wire_v2_3 import is_of_v2_2
from lance_sql.format.layouts import constant, full_zip, mini_block
from lance_sql.format.layouts.matching import ValueTest
from lance_sql.format.layouts.nest import Chain, Levels, Slots, nest, unravel
from lance_sql.format.layouts.page import PAGE_BYTES
from lance_sql.format.layouts.reading import Reading, run
from lance_sql.format.layouts.tree import (
    ConstantLayout,
    FullZip,
    MiniBlock,
    Planar,
    Positions,
    SparseLayer,
    SparseLists,
    max_repetition,
    max_visible,
)
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, ascend
from lance_sql.values.row_ranges import RowRanges

_ALIGNMENT = 8
_BITS = 64


def head_ranges(layout: Planar, buffers: Sequence[ByteRange]) -> list[ByteRange]:
    """Returns every buffer of the page."""
    expected = _num_value_buffers(layout) + sum(map(_num_buffers, layout.sparse or ()))
    if len(buffers) != expected:
        raise CorruptFile(f"a planar page with {len(buffers)} buffers, expected {expected}")
    return list(buffers)


def _num_value_buffers(layout: Planar) -> int:
    match layout.values:
        case MiniBlock(dictionary=dictionary, repetition_index_depth=depth):
            return 2 + (dictionary is not None) + (depth > 0)
        case FullZip(bits_per_offset=bits):
            return 1 + (bits is not None)
    return 0


def _num_buffers(layer: SparseLayer) -> int:
    sets = [layer.validity.encoding]
    if layer.lists is not None:
        sets += [layer.lists.non_empty.encoding, layer.lists.counts]
    return sum(map(numbers.has_buffer, sets))


class PlanarPage:
    """One planar page, in memory."""

    def __init__(self, layout: Planar, buffers: Sequence[ByteRange], num_rows: int, head: Sequence[pa.Buffer]) -> None:
        self._layout = layout
        self._ranges = buffers
        self._num_rows = num_rows
        self._head = list(head)
        self._cached: tuple[Chain, pa.Array] | None = None
        self.num_bytes = PAGE_BYTES + sum(buffer.size for buffer in head)

    def reader(self, chain: Chain, *, is_nested: bool) -> None:
        """See `Page.reader`."""

    def test(self, test: ValueTest, leaf: pa.DataType) -> None:
        """See `Page.test`."""

    def decode(self, rows: RowRanges, chain: Chain, gap: int) -> Reading[pa.Array]:
        """See `Page.decode`; there is nothing left to fetch."""
        chain.check(self._layout.layers)
        array = self._array(chain)
        # slices would share the values of lists, which are joined with those of other columns
        is_whole = row_ranges.count(rows) == len(array)
        return array if is_whole else array.take(pa.array(row_ranges.expand(rows)))
        yield ()

    def _array(self, chain: Chain) -> pa.Array:
        """Returns all rows, cached between batches."""
        cached = self._cached
        if cached is not None and cached[0] == chain:
            return cached[1]
        if chain.items_per_row != 1:
            raise UnsupportedFeature("fixed-size lists of structs in a page of version 2.3 are not supported")
        array = self._sparse(chain) if self._layout.sparse is not None else self._dense(chain)
        if len(array) != self._num_rows:
            raise CorruptFile(f"{self._num_rows} rows became {len(array)}")
        self._cached = (chain, array)
        return array

    def _dense(self, chain: Chain) -> pa.Array:
        layout, values = self._layout, self._layout.values
        if not isinstance(values, MiniBlock):
            raise AssertionError(values)
        chunks = _Chunks(values, self._head)
        rep, defs = chunks.levels()
        levels = rep if rep is not None else defs
        num_entries = len(levels) if levels is not None else values.num_items
        if rep is not None:
            if num_entries == 0 or int(rep[0]) != max_repetition(layout.layers):
                raise CorruptFile("levels that do not begin with a row")
            if defs is not None and len(defs) != num_entries:
                raise CorruptFile(f"{num_entries} repetition and {len(defs)} definition levels")
        num_items = num_entries if defs is None else int(np.count_nonzero(defs <= max_visible(layout.layers)))
        if num_items != values.num_items:
            raise CorruptFile(f"{values.num_items} items for {num_items} levels")
        slots = unravel(rep, defs, layout.layers, chain, num_entries)
        return nest(chain.leaf_array(chunks.block(), slots[0]), slots[1:], chain)

    def _sparse(self, chain: Chain) -> pa.Array:
        sparse = self._layout.sparse or ()
        rest = iter(self._head[_num_value_buffers(self._layout) :])
        count = self._num_rows
        slots: list[Slots] = []
        types = [*reversed(chain.outer), chain.leaf]
        for layer, type in zip(sparse, types, strict=True):
            if layer.lists is None:
                validity, nulls = _validity(layer.validity, rest, count)
                slots.append(Slots(count, validity, nulls))
            else:
                list_slots = _lists(layer, layer.lists, rest, count, type)
                slots.append(list_slots)
                count = layer.lists.num_child_slots
        slots.reverse()
        return nest(self._leaf(chain, slots[0]), slots[1:], chain)

    def _leaf(self, chain: Chain, own: Slots) -> pa.Array:
        values, count = self._layout.values, own.num_slots
        match values:
            case None:
                if own.null_count != count:
                    raise CorruptFile("a page without values, some of which are not NULL")
                return pa.nulls(count, chain.leaf)
            case MiniBlock():
                return chain.leaf_array(_Chunks(values, self._head, count).block(), own)
            case ConstantLayout():
                if count > numbers.MAX_WITHOUT_BYTES:
                    raise UnsupportedFeature(f"{count} values without bytes are not supported")
                page = constant.ConstantPage(values, count, ())
                return chain.leaf_array(page.block(count, chain), own)
            case FullZip():
                flat = Chain(chain.leaf, (), chain.stored, chain.finish)
                zipped = full_zip.FullZipPage(
                    values, self._ranges, count, self._head[1 : _num_value_buffers(self._layout)]
                )
                size = self._ranges[0].end - self._ranges[0].start
                return _under(run(zipped.decode(row_ranges.single(0, count), flat, size), self._slices), own)

    def _slices(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        start = self._ranges[0].start
        return [self._head[0].slice(where.start - start, where.end - where.start) for where in ranges]


def _under(array: pa.Array, own: Slots) -> pa.Array:
    """Applies NULLs to an array without NULLs."""
    if own.validity is None:
        return array
    # this import takes a third of the time of importing all modules of a reader, for a rare layout
    import pyarrow.compute as pc

    flags = pa.Array.from_buffers(pa.bool_(), own.num_slots, [None, own.validity])
    return pc.if_else(flags, array, pa.scalar(None, array.type))


def _validity(encoded: Positions, rest: Iterator[pa.Buffer], count: int) -> tuple[pa.Buffer | None, int]:
    """Returns a bitmap of `count` slots, and the number of NULLs; no bitmap without NULLs."""
    positions = _positions(encoded, rest, count)
    flags = np.full(count, not encoded.are_valid)
    flags[positions] = encoded.are_valid
    num_nulls = count - int(np.count_nonzero(flags))
    return (bitmap(flags) if num_nulls else None), num_nulls


def _positions(encoded: Positions, rest: Iterator[pa.Buffer], count: int) -> I64:
    positions = numbers.decode(encoded.encoding, _next(encoded.encoding, rest), encoded.count)
    if not len(positions):
        return positions
    if int(positions[0]) < 0 or int(positions[-1]) >= count or not ascend(positions, strictly=True):
        raise CorruptFile(f"positions that do not ascend, or pass the end of {count} slots")
    return positions


def _lists(layer: SparseLayer, lists: SparseLists, rest: Iterator[pa.Buffer], count: int, type: pa.DataType) -> Slots:
    positions = _positions(lists.non_empty, rest, count)
    counts = numbers.decode(lists.counts, _next(lists.counts, rest), len(positions))
    validity, nulls = _validity(layer.validity, rest, count)
    if (counts <= 0).any() or counts.sum(dtype=np.float64) != lists.num_child_slots:
        raise CorruptFile(f"lists of other than {lists.num_child_slots} values")
    lengths = np.zeros(count + 1, np.int64)
    lengths[positions + 1] = counts
    np.cumsum(lengths, out=lengths)
    width = np.int64 if pa.types.is_large_list(type) else np.int32
    return Slots(count, validity, nulls, pa.py_buffer(lengths.astype(width)))


def _next(encoding: Encoding, rest: Iterator[pa.Buffer]) -> pa.Buffer | None:
    if not numbers.has_buffer(encoding):
        return None
    return next(rest)


class _Chunks:
    """All chunks of a page: their levels, and their values."""

    def __init__(self, layout: MiniBlock, head: Sequence[pa.Buffer], num_items: int | None = None) -> None:
        # in a sparse page, the layers determine the number of values
        self._num_items = layout.num_items if num_items is None else num_items
        if num_items is not None and layout.num_items not in (0, num_items):
            raise CorruptFile(f"{layout.num_items} values for {num_items} slots")
        self._layout = layout
        self._data = head[1]
        self._table = _kernels.ChunkTable(
            head[0],
            self._num_items,
            large=True,
            num_bytes=self._data.size,
            has_rep=layout.repetition is not None,
            has_def=layout.definition is not None,
            num_buffers=layout.num_buffers,
        )
        self._chunks = _kernels.Chunks(self._table, self._data, 0)
        self._dictionary = head[2] if layout.dictionary is not None else None

    def levels(self) -> tuple[Levels | None, Levels | None]:
        """Returns the repetition and definition levels of all entries."""
        layout, num_chunks = self._layout, self._table.num_chunks
        kinds = [kind for kind in (layout.repetition, layout.definition) if kind is not None]
        if not kinds or num_chunks == 0:
            return None, None
        counts = _kernels.num_levels(self._chunks, 0, num_chunks).tolist()
        parts: list[list[npt.NDArray[np.uint16]]] = [[] for _ in kinds]
        for start, count in zip(self._table.byte_offsets().tolist(), counts, strict=False):
            fixed = np.frombuffer(self._data, "<u2", 1 + len(kinds), offset=start)
            at = start + _pad(2 * len(fixed) + 4 * layout.num_buffers)
            for kind_number, (encoding, size) in enumerate(zip(kinds, fixed[1:].tolist(), strict=True)):
                if at + size > self._data.size:
                    raise CorruptFile("levels that pass the end of their chunk")
                levels = numbers.decode(encoding, self._data.slice(at, size), count)
                if len(levels) and int(levels.max()) > 0xFFFF:
                    raise CorruptFile(f"a level of {levels.max()}")
                parts[kind_number].append(levels.astype(np.uint16))
                at = _pad(at + size)
        joined = [np.concatenate(part) for part in parts]
        rep = joined[0] if layout.repetition is not None else None
        return rep, joined[-1] if layout.definition is not None else None

    def block(self) -> Block:
        """Returns the values."""
        block = self._values(self._layout.values)
        if self._dictionary is None or self._layout.dictionary is None:
            return block
        count = self._layout.num_dictionary_items
        if count > mini_block.MAX_DICTIONARY_ITEMS:
            raise CorruptFile(f"a dictionary of {count} items is not possible")
        if not isinstance(block, FixedWidth) or block.bits_per_value not in (8, 16, 32, 64):
            raise CorruptFile(f"dictionary indices encoded as {self._layout.values}")
        items = decode_block(self._layout.dictionary, self._dictionary, count)
        _kernels.check_indices(block.data, block.bits_per_value, block.num_values, items.num_values)
        return DictionaryValues(block.num_values, block, items)

    def _values(self, encoding: Encoding) -> Block:
        match encoding:
            case Rle() if not is_of_v2_2(encoding):
                parts = [
                    numbers.runs(encoding, values, lengths, count)
                    for (values, lengths), count in zip(self._buffers(2), self._counts, strict=True)
                ]
                return FixedWidth(self._num_items, numbers.run_bits(encoding), pa.py_buffer(b"".join(parts)))
            case OffsetVariable():
                return self._strings(encoding)
            case Fsst(symbol_table=table, values=OffsetVariable() as inner):
                return fsst.per_value(Fsst(table, Variable(_BITS)), self._strings(inner))
        items = row_ranges.single(0, self._num_items)
        rows = ChunkRows(self._table, self._data, self._chunks, items, self._num_items, self._data.size)
        return decode_mini_block(encoding, rows)

    @property
    def _counts(self) -> list[int]:
        counts: list[int] = np.diff(self._table.item_starts()).tolist()
        return counts

    def _buffers(self, number: int) -> list[list[pa.Buffer]]:
        """Returns this many value buffers of each chunk."""
        if self._layout.num_buffers != number:
            raise CorruptFile(f"chunks of {self._layout.num_buffers} buffers, expected {number}")
        num_chunks = self._table.num_chunks
        ranges = [self._chunks.value_buffer_ranges(buffer, 0, num_chunks).tolist() for buffer in range(number)]
        return [[self._data.slice(start, end - start) for start, end in each] for each in zip(*ranges, strict=True)]

    def _strings(self, encoding: OffsetVariable) -> VariableWidth:
        has_buffer = numbers.has_buffer(encoding.offsets)
        lengths = [np.zeros(1, np.int64)]
        data: list[pa.Buffer] = []
        for buffers, count in zip(self._buffers(1 + has_buffer), self._counts, strict=True):
            bounds = numbers.decode(encoding.offsets, buffers[0] if has_buffer else None, count + 1)
            if int(bounds[0]) < 0 or int(bounds[-1]) > buffers[-1].size or not ascend(bounds):
                raise CorruptFile(f"offsets of strings descend or pass the end of their {buffers[-1].size} bytes")
            lengths.append(np.diff(bounds))
            data.append(buffers[-1].slice(int(bounds[0]), int(bounds[-1] - bounds[0])))
        offsets = np.cumsum(np.concatenate(lengths))
        return VariableWidth(self._num_items, _BITS, pa.py_buffer(offsets), pa.py_buffer(b"".join(data)))


def _pad(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT
