"""Encoding of pages of few numbers, for many columns in one call: the result of `encode`, in a fraction of the time.

A wide table has thousands of columns, and in a short batch a page of a few kilobytes for each. Most of them are numbers
without NULLs that are bit-packed, uncompressed, or constant. This module encodes no other pages, and leaves them to
`encode`.
"""

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings import choose
from lance_sql.format.encodings.tree import Encoding, InlineBitpacking
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts.shredded import EncodedPage
from lance_sql.format.layouts.tree import ConstantLayout, Layer, MiniBlock
from lance_sql.format.layouts.wire_v2_1 import layout_to_wire

MOST_VALUES = choose.FEW_VALUES
"""Maximum values of a page: for more of them, the values dominate the time."""

_WIDTHS = (8, 16, 32, 64)


def are_numbers(type: pa.DataType) -> bool:
    """Whether pages of a type are supported here: numbers, times and dates of whole words."""
    return bool(pa.types.is_primitive(type)) and type.bit_width in _WIDTHS


def encode_pages(pages: Sequence[pa.Array | None], rules: PageRules) -> list[EncodedPage | None]:
    """Encodes pages of values without NULLs, levels and encoding options of the field.

    pages: fewer than MOST_VALUES values each, of types that `are_numbers` accepts; None is skipped
    """
    encoded_pages: list[EncodedPage | None] = [None] * len(pages)
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    words: list[pa.Buffer] = []
    for page_number, values in enumerate(pages):
        words.append(_EMPTY)
        data = None if values is None else values.buffers()[1]
        if values is not None and data is not None and len(values):
            bits = values.type.bit_width
            words[page_number] = data.slice(values.offset * bits // 8)
            alike[bits, len(values)].append(page_number)
    for (bits, count), page_numbers in alike.items():
        for encoding, log2_items, chosen in choose.numbers([words[i] for i in page_numbers], bits, count, rules):
            own = [page_numbers[i] for i in chosen]
            if encoding is None:
                for page_number in own:
                    value = bytes(memoryview(words[page_number])[: bits // 8])
                    encoded_pages[page_number] = EncodedPage(_layout_of_one(value), (), count)
                continue
            layout, is_packed = _layout(encoding, count, rules), isinstance(encoding, InlineBitpacking)
            pages_of = [words[page_number] for page_number in own]
            encoded = _kernels.number_pages(pages_of, bits, count, log2_items, is_packed, rules.has_large_chunk)
            for page_number, buffers in zip(own, encoded, strict=True):
                encoded_pages[page_number] = EncodedPage(layout, buffers, count)
    return encoded_pages


_EMPTY = pa.py_buffer(b"")
_LAYERS = (Layer.ALL_VALID_ITEM,)


def _layout_of_one(value: bytes) -> bytes:
    layout = ConstantLayout(_LAYERS, value, repetition=None, definition=None, num_rep_values=0, num_def_values=0)
    return layout_to_wire(layout)


def _layout(values: Encoding, num_items: int, rules: PageRules) -> bytes:
    return layout_to_wire(
        MiniBlock(
            layers=_LAYERS,
            values=values,
            repetition=None,
            definition=None,
            dictionary=None,
            num_dictionary_items=0,
            num_buffers=1,
            repetition_index_depth=0,
            num_items=num_items,
            has_large_chunk=rules.has_large_chunk,
        )
    )
