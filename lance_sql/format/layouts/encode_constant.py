"""Encoding of constant pages: one scalar for every item, or only nulls, with any levels.

Buffers of the page: the scalar unless it is inline or absent, then repetition and definition levels, if any.
Source: message ConstantLayout.
"""

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.file_versions import PageRules
from lance_sql.format.layouts.encode_levels import encode_levels
from lance_sql.format.layouts.nest import Levels
from lance_sql.format.layouts.shredded import Buffers, ShreddedPage
from lance_sql.format.layouts.tree import ConstantLayout, Layer

MAX_INLINE_BYTES = 32


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
