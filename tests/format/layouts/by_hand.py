"""Pages built by hand, and reading rows of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, at
from lance_sql.format.encodings.tree import Encoding, Flat, InlineBitpacking, OutOfLineBitpacking, Rle, Variable
from lance_sql.format.file.located_rows import InPages
from lance_sql.format.file.open_column import OpenColumn, with_finished_leaves
from lance_sql.format.layouts.blob import BlobPage
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.reading import run
from lance_sql.format.layouts.stored_page import StoredPage, head_ranges
from lance_sql.format.layouts.tree import Blob, FullZip, Layers, MiniBlock, PageLayout, max_repetition
from lance_sql.format.layouts.wire_v2_1 import layout_to_wire
from lance_sql.store import ByteRange
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges
from tests.kernels import oracles
from tests.kernels.pages import Chunk, build

from .shredding import Array, Shredded

FLAT16 = Flat(16)
_IN_FRONT = 24


class HandPage:
    """A page in its own file; counts fetched bytes."""

    def __init__(self, layout: PageLayout, buffers: Sequence[bytes], num_rows: int, in_front: bytes = bytes(_IN_FRONT)):
        self._file = in_front + b"".join(buffers)
        self._ranges = []
        end = len(in_front)
        for buffer in buffers:
            self._ranges.append(ByteRange(end, end + len(buffer)))
            end += len(buffer)
        # a test may ask for more rows than the page has
        self.num_rows = self._opened_rows = num_rows
        encoding = layout_to_wire(layout)
        with at(page=0):
            head = self.fetch(head_ranges(encoding, self._ranges))
        self._page = StoredPage(encoding, self._ranges, num_rows, head)
        self._blobs = BlobPage(layout, self._page, num_rows) if isinstance(layout, Blob) else None

    def fetch(self, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        whole = pa.py_buffer(self._file)
        assert all(0 <= start <= end <= whole.size for start, end in ranges)
        return [whole.slice(start, end - start) for start, end in ranges]

    def planned(self, rows: RowRanges, chain: Chain) -> list[ByteRange]:
        """Returns the bytes that each range of rows needs."""
        reader = self._column(chain).reader
        spans = [_kernels.spans([(reader, np.ascontiguousarray(rows[i : i + 1]))])[0] for i in range(len(rows))]
        return [ByteRange(start, end) for parts in spans for _, start, end in parts]

    def read(self, chain: Chain, rows: RowRanges | None = None) -> pa.Array:
        rows = np.ascontiguousarray(row_ranges.single(0, self.num_rows) if rows is None else rows)
        if self._blobs is not None:
            with at(page=0):
                return run(self._blobs.decode(rows, chain, 0), self.fetch)
        if self.num_rows > self._opened_rows:
            raise CorruptFile(f"{self.num_rows} rows of {self._opened_rows}")
        column = self._column(chain)
        pages = range(1)
        column.require_readers(pages)
        ((form, _, _),) = column.pieces(rows, pages)
        assert form is not None
        with at(page=0):
            (spans,) = _kernels.spans([(column.reader, rows)])
        parts = [(page, self._file[start:end], start) for page, start, end in spans]
        _, arrays, failure = _kernels.read_rows([], [(column.reader, rows, parts)], None)
        if failure is not None:
            raise CorruptFile(failure[3])
        array = column.imported(arrays[0], form)
        if chain.finish is not None:
            array = with_finished_leaves(array, chain, chain.finish)
        array.validate(full=True)
        assert array.type == chain.type
        return array

    def requested(self, chain: Chain, rows: RowRanges) -> list[ByteRange]:
        """Returns the ranges that reading blobs requests, in all rounds."""
        assert self._blobs is not None
        requested: list[ByteRange] = []

        def fetch(ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
            requested.extend(ranges)
            return self.fetch(ranges)

        run(self._blobs.decode(rows, chain, 0), fetch)
        return requested

    def _column(self, chain: Chain) -> OpenColumn:
        """Returns a column of the page alone."""
        stored = chain.in_kernels
        is_nested = bool(chain.outer) or chain.is_empty_struct
        starts = np.array([0, self.num_rows // chain.items_per_row])
        column = OpenColumn(None, starts, stored, InPages("", ""), key=None, is_nested=is_nested)
        with at(page=0):
            column.open(0, self._page)
        return column


def some_rows(rng: np.random.Generator, num_rows: int) -> RowRanges:
    """A few ranges of the rows of a page."""
    chosen = np.flatnonzero(rng.random(num_rows) < rng.choice([0.02, 0.3, 0.8]))
    return row_ranges.from_sorted(chosen if len(chosen) else np.array([int(rng.integers(num_rows))]))


def take(array: pa.Array, rows: RowRanges) -> pa.Array:
    return array.take(pa.array(row_ranges.expand(rows)))


LEVEL_ENCODINGS: dict[str, Encoding] = {
    "plain": FLAT16,
    "packed": OutOfLineBitpacking(16, 4),
    "group": InlineBitpacking(16),
    "runs": Rle(FLAT16, Flat(8)),
}


def encode_levels(levels: Array | None, encoding: Encoding) -> bytes | None:
    if levels is None:
        return None
    match encoding:
        case OutOfLineBitpacking(num_bits=num_bits):
            return oracles.pack_groups(levels, num_bits, raw_tail=True)
        case InlineBitpacking():
            return oracles.inline_group(levels, 3)
        case Rle():
            return oracles.run_block(levels)
        case _:
            return levels.tobytes()


def mini_block(
    shredded: Shredded,
    layers: Layers,
    num_rows: int,
    chunk_items: int,
    levels: Encoding = FLAT16,
    *,
    large: bool = True,
    depth: int = 1,
    **others: Any,
) -> HandPage:
    """int32 items in chunks of `chunk_items`."""
    items = np.array([item or 0 for item in shredded.items], "<i4")
    ends = _chunk_ends(shredded, chunk_items)
    chunks, index = [], []
    start = first_item = 0
    for end in ends:
        last_item = first_item + int(shredded.visible[start:end].sum())
        rep = None if shredded.rep is None else shredded.rep[start:end]
        defs = None if shredded.def_ is None else shredded.def_[start:end]
        has_levels = rep is not None or defs is not None
        chunks.append(
            Chunk(
                last_item - first_item,
                [items[first_item:last_item].tobytes()],
                encode_levels(rep, levels),
                encode_levels(defs, levels),
                end - start if has_levels else 0,
            )
        )
        index.append(_rows_of_chunk(shredded, layers, start, end))
        start, first_item = end, last_item
    page = build(chunks, large=large)
    layout = MiniBlock(
        **{
            "layers": layers,
            "values": Flat(32),
            "repetition": None if shredded.rep is None else levels,
            "definition": None if shredded.def_ is None else levels,
            "dictionary": None,
            "num_dictionary_items": 0,
            "num_buffers": 1,
            "repetition_index_depth": depth if shredded.rep is not None else 0,
            "num_items": len(items),
            "has_large_chunk": large,
            **others,
        }
    )
    buffers = [page.metadata, page.data]
    if layout.repetition_index_depth:
        buffers.append(np.array(index, "<u8").tobytes())
    return HandPage(layout, buffers, num_rows)


def _chunk_ends(shredded: Shredded, chunk_items: int) -> list[int]:
    """Chunks end right behind their last item; the last one takes everything that is left."""
    owners = np.flatnonzero(shredded.visible)
    ends = [int(owners[i]) + 1 for i in range(chunk_items - 1, len(owners), chunk_items)]
    if ends and len(owners) % chunk_items == 0:
        ends.pop()
    return [*ends, shredded.num_entries]


def _rows_of_chunk(shredded: Shredded, layers: Layers, start: int, end: int) -> tuple[int, int]:
    """Rows that end in entries `[start, end)`, and the entries left over for the next chunk."""
    if shredded.rep is None:
        return 0, 0
    row_starts = np.flatnonzero(shredded.rep == max_repetition(layers))
    row_ends = np.append(row_starts[1:], shredded.num_entries)
    ending = int(np.count_nonzero((row_ends > start) & (row_ends <= end)))
    goes_on = end < shredded.num_entries and end not in row_starts
    begun = row_starts[(row_starts >= start) & (row_starts < end)]
    return ending, end - int(begun[-1] if len(begun) else start) if goes_on else 0


def full_zip(
    shredded: Shredded,
    layers: Layers,
    num_rows: int,
    *,
    variable: bool,
    index_bytes: int = 4,
    bits: tuple[int, int] | None = None,
) -> HandPage:
    """int32 items, or their digits as strings; bits: of repetition and definition levels."""
    rep = np.zeros(shredded.num_entries, np.uint16) if shredded.rep is None else shredded.rep
    defs = np.zeros(shredded.num_entries, np.uint16) if shredded.def_ is None else shredded.def_
    bits = bits or (int(rep.max(initial=0)).bit_length(), int(defs.max(initial=0)).bit_length())
    items = iter(shredded.items)
    data = b""
    starts = []
    for r, d, visible in zip(rep.tolist(), defs.tolist(), shredded.visible.tolist(), strict=True):
        if r == max_repetition(layers):
            starts.append(len(data))
        item = next(items) if visible else None
        value: bytes | None = None
        if variable and visible and d == 0:
            value = str(item).encode()
        elif not variable and visible:
            value = (item or 0).to_bytes(4, "little")
        data += oracles.zip_entry(r, d, bits, 4 if variable else 0, value)
    layout = FullZip(
        layers,
        values=Variable(32) if variable else Flat(32),
        bits_rep=bits[0],
        bits_def=bits[1],
        bits_per_value=None if variable else 32,
        bits_per_offset=32 if variable else None,
        num_items=shredded.num_entries,
        num_visible_items=len(shredded.items),
    )
    index = np.array([*starts, len(data)], f"<u{index_bytes}").tobytes()
    has_index = variable or max_repetition(layers) > 0
    return HandPage(layout, [data, index] if has_index else [data], num_rows)
