"""Buffers made by hand, decoded in each of the three contexts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.errors import at
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.layouts.matching import items_of
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.tree import FullZip, Layer, MiniBlock
from tests.format.layouts.by_hand import HandPage
from tests.kernels.pages import Chunk, build, decoded_block

Array = np.ndarray[Any, Any]

_LAYERS = (Layer.ALL_VALID_ITEM,)


def mini_block(
    encoding: Encoding,
    chunks: Sequence[tuple[int, Sequence[bytes]]],
    type: pa.DataType,
    ranges: Sequence[tuple[int, int]] | None = None,
) -> pa.Array:
    """The items in `ranges` (all of them without) of a page with these chunks: (items, value buffers) each."""
    page = build([Chunk(count, buffers) for count, buffers in chunks], large=True)
    layout = MiniBlock(
        layers=_LAYERS,
        values=encoding,
        repetition=None,
        definition=None,
        dictionary=None,
        num_dictionary_items=0,
        num_buffers=page.num_buffers,
        repetition_index_depth=0,
        num_items=page.num_items,
        has_large_chunk=True,
    )
    wanted = np.array(ranges, np.int64).reshape(-1, 2) if ranges is not None else None
    return HandPage(layout, [page.metadata, page.data], page.num_items).read(Chain(type), wanted)


def block(encoding: Encoding, data: bytes, count: int, type: pa.DataType) -> pa.Array:
    with at(page=0):
        array = items_of(decoded_block(encoding, data, count), type)
    array.validate(full=True)
    return array


def fixed_values(encoding: Encoding, data: bytes, count: int, type: pa.DataType) -> pa.Array:
    """Adjacent values of a full-zip page, without levels."""
    bits = 8 * len(data) // count
    layout = FullZip(_LAYERS, encoding, 0, 0, bits, None, count, count)
    return HandPage(layout, [data], count).read(Chain(type))


def variable_values(encoding: Encoding, values: Sequence[bytes], type: pa.DataType, bits: int = 32) -> pa.Array:
    """Values of a full-zip page after their lengths, without levels."""
    entries = [len(value).to_bytes(bits // 8, "little") + value for value in values]
    index = np.cumsum([0, *map(len, entries)]).astype("<u8")
    layout = FullZip(_LAYERS, encoding, 0, 0, None, bits, len(values), len(values))
    return HandPage(layout, [b"".join(entries), index.tobytes()], len(values)).read(Chain(type))


def lz4(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + bytes(pa.Codec("lz4_raw").compress(data, asbytes=True))


def zstd(data: bytes, *, with_size: bool = True) -> bytes:
    return (struct.pack("<Q", len(data)) if with_size else b"") + bytes(pa.Codec("zstd").compress(data, asbytes=True))
