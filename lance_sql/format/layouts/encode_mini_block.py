"""Encoding of mini-block pages: values and levels are split into chunks. See `tree.MiniBlock` for the layout."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.chunked import ChunkCodec, Parts, Starts, uniform_starts
from lance_sql.format.encodings.dictionary import ItemsBlock
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts.encode_levels import encode_levels
from lance_sql.format.layouts.nest import Levels
from lance_sql.format.layouts.shredded import Buffers, ShreddedPage
from lance_sql.format.layouts.tree import MiniBlock, max_definition, max_repetition, max_visible

MAX_CHUNK_LEVELS = 32767
"""Maximum entries of a chunk whose levels fit into 65535 bytes in any encoding."""

_FEWEST_ITEMS = 2
"""Minimum items of a chunk; only the last one may have fewer."""


def encode(
    page: ShreddedPage, codec: ChunkCodec, dictionary: ItemsBlock | None, rules: PageRules
) -> tuple[MiniBlock, Buffers] | None:
    """Encodes the page with values in `codec`; returns None if its levels or values do not fit into chunks."""
    for log2_items in range(codec.log2_items, 0, -1):
        if encoded := _encode(page, codec, log2_items, dictionary, rules):
            return encoded
        if rules.has_large_chunk:
            break
    return None


def _encode(
    page: ShreddedPage, codec: ChunkCodec, log2_items: int, dictionary: ItemsBlock | None, rules: PageRules
) -> tuple[MiniBlock, Buffers] | None:
    cut = _cut(page, log2_items, rules)
    if cut is None:
        return None
    items, entries = cut
    values = codec.encode(items)
    rep = encode_levels(page.repetition, entries, rules) if page.repetition is not None else None
    defs = encode_levels(page.definition, entries, rules) if page.definition is not None else None
    starts = _chunk_starts(rep and rep[1], defs and defs[1], values.buffers, rules)
    words = _chunk_words(items, starts, rules)
    if words is None or (not rules.has_large_chunk and max(int(b.sizes.max()) for b in values.buffers) > 0xFFFF):
        return None
    chunks = pa.allocate_buffer(int(starts[-1]))
    has_levels = rep is not None or defs is not None
    _kernels.assemble_chunks(
        starts,
        np.diff(entries).astype(np.uint16) if has_levels else np.zeros(len(items) - 1, np.uint16),
        (rep[1].data, rep[1].starts) if rep else None,
        (defs[1].data, defs[1].starts) if defs else None,
        [(part.data, part.starts) for part in values.buffers],
        rules.has_large_chunk,
        chunks,
    )
    buffers: Buffers = (words, chunks)
    if dictionary is not None:
        buffers += (dictionary.data,)
    if page.repetition is not None:
        buffers += (_repetition_index(page.repetition, entries, max_repetition(page.layers)),)
    layout = MiniBlock(
        layers=page.layers,
        values=values.encoding,
        repetition=rep[0] if rep else None,
        definition=defs[0] if defs else None,
        dictionary=dictionary.encoding if dictionary else None,
        num_dictionary_items=dictionary.num_items if dictionary else 0,
        num_buffers=len(values.buffers),
        repetition_index_depth=1 if page.repetition is not None else 0,
        num_items=len(page.values),
        has_large_chunk=rules.has_large_chunk,
    )
    return layout, buffers


def _cut(page: ShreddedPage, log2_items: int, rules: PageRules) -> tuple[Starts, Starts] | None:
    """Returns the first item and the first entry of each chunk; None if too many entries without items prevent a split.

    A chunk ends directly after its last item; the last one takes the rest.
    """
    num_items = len(page.values)
    items = uniform_starts(num_items, log2_items)
    if page.repetition is None or page.definition is None or max_visible(page.layers) == max_definition(page.layers):
        return items, items
    owners = np.flatnonzero(page.definition <= max_visible(page.layers))
    most = _most_levels(page, rules)
    while True:
        entries = np.concatenate(([0], owners[items[1:-1] - 1] + 1, [page.num_entries]))
        heavy = np.flatnonzero(np.diff(entries) > most)
        if len(heavy) == 0:
            return items, entries
        counts = items[heavy + 1] - items[heavy]
        if (counts <= _FEWEST_ITEMS).any():
            return None
        halves = 1 << np.ceil(np.log2(counts)).astype(np.int64) - 1
        items = np.sort(np.concatenate((items, items[heavy] + halves)))


def _most_levels(page: ShreddedPage, rules: PageRules) -> int:
    """Returns the maximum entries of a chunk: their levels leave most of it to the values."""
    bits = max_repetition(page.layers).bit_length() + max_definition(page.layers).bit_length()
    return min(MAX_CHUNK_LEVELS, rules.max_chunk_bytes * 8 * 3 // 8 // bits)


def _chunk_starts(rep: Parts | None, defs: Parts | None, values: tuple[Parts, ...], rules: PageRules) -> Starts:
    """Returns the start of each chunk in bytes."""
    num_sizes = len(values)
    header = 2 + 2 * (rep is not None) + 2 * (defs is not None) + num_sizes * (4 if rules.has_large_chunk else 2)
    sizes = np.full(len(values[0].starts) - 1, _padded(header), np.int64)
    for part in (rep, defs, *values):
        if part is not None:
            sizes += _padded(part.sizes)
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _padded(size: "int | Starts") -> "int | Starts":
    return (size + 7) // 8 * 8


def _chunk_words(items: Starts, starts: Starts, rules: PageRules) -> bytes | None:
    """Returns size and number of items of each chunk in one word; None if a chunk is too large for a word."""
    if len(starts) == 2:
        size = int(starts[1])
        if size > rules.max_chunk_bytes:
            return None
        return ((size // 8 - 1) << 4).to_bytes(4 if rules.has_large_chunk else 2, "little")
    sizes = np.diff(starts)
    if int(sizes.max()) > rules.max_chunk_bytes:
        return None
    log2 = np.zeros(len(sizes), np.int64)
    log2[:-1] = np.round(np.log2(np.diff(items)[:-1]))
    words: bytes = (((sizes // 8 - 1) << 4) | log2).astype("<u4" if rules.has_large_chunk else "<u2").tobytes()
    return words


def _repetition_index(repetition: Levels, entries: Starts, max_rep: int) -> bytes:
    """Returns for each chunk the rows that end in it, and the entries of a row that continues in the next."""
    row_starts = np.flatnonzero(repetition == max_rep)
    row_ends = np.append(row_starts[1:], len(repetition))
    first, end = entries[:-1], entries[1:]
    ending = np.searchsorted(row_ends, end, "right") - np.searchsorted(row_ends, first, "right")
    next_row = np.searchsorted(row_starts, end)
    begins = (next_row < len(row_starts)) & (row_starts[np.minimum(next_row, len(row_starts) - 1)] == end)
    goes_on = (end < len(repetition)) & ~begins
    left_over = np.where(goes_on, end - np.maximum(row_starts[next_row - 1], first), 0)
    return np.stack((ending, left_over), axis=1).astype("<u8").tobytes()
