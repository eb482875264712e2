"""Parts of valid calls of the readers of pages: layers, symbols, compressed values, and the call itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from lance_sql.format.encodings import general
from lance_sql.format.encodings.tree import (
    Compression,
)
from lance_sql.format.layouts.tree import (
    Layer,
    PageLayout,
)
from lance_sql.format.layouts.wire_v2_1 import layout_to_wire

SYMBOLS = [b"abc", b"ab", b"c", b"longest!"]
ITEMS = (Layer.NULLABLE_ITEM, Layer.ALL_VALID_ITEM)
"""Of values that may be NULL, and of others."""
STRUCTS = (Layer.NULLABLE_ITEM, Layer.NULLABLE_ITEM)
LISTS = (Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST)


def compressed(compression: Compression, values: Sequence[bytes]) -> list[bytes]:
    return [general.compress(compression, pa.py_buffer(value)) for value in values]


def page_call(
    layout: PageLayout,
    head: Sequence[bytes],
    data_at: int | None,
    num_rows: int,
    format: tuple[bool, int],
    *,
    data: bytes = b"",
    **others: Any,
) -> Values:
    """data_at: the number of the buffer of values"""
    heads = [*head, None, None, None][:3]
    variable, bits = format
    return {
        "message": layout_to_wire(layout),
        "num_rows": num_rows,
        "head0": heads[0],
        "head1": heads[1],
        "head2": heads[2],
        "data": data,
        "data_at": data_at,
        "kind": 0,
        "variable": variable,
        "format_bits": bits,
        "list_size": None,
        "index_bits": 0,
        "makes_items": 0,
        "are_places": 0,
        "outer": b"",
        "is_nested": 0,
        "rows": np.array([0, min(7, num_rows // 3), num_rows // 2, num_rows], np.int64).tobytes(),
        "flags": np.array([1, 0, 0, 1, 1, 1, 0], np.uint8).tobytes(),
        "test": 3 if variable else 0,
        "order": 0,
        "key": bytes([5] + [0] * 15),
        **others,
    }
