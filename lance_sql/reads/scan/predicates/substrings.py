"""Substring search: the kernels search all texts of an array at once."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lance_sql import _kernels
from lance_sql.values import kinds


def contain(texts: pa.Array, pattern: str | bytes) -> pa.BooleanArray:
    """Tests whether each text contains the pattern; NULL where it is NULL."""
    if not kinds.has_offsets(texts.type) or not pattern or len(texts) == 0:
        return pc.match_substring(texts, pattern)
    offset_bytes = kinds.offset_bits(texts.type) // 8
    validity, offsets, data = texts.buffers()
    num_texts = len(texts)
    content = data if data is not None else b""
    first = offset_bytes * texts.offset
    bits = pa.allocate_buffer((num_texts + 7) // 8)
    text = pattern.encode() if isinstance(pattern, str) else pattern
    own_offsets = offsets.slice(first, offset_bytes * (num_texts + 1))
    _kernels.contains(own_offsets, 8 * offset_bytes, num_texts, content, text, bits)
    matches = pa.Array.from_buffers(pa.bool_(), num_texts, [None, bits])
    return matches if validity is None or not texts.null_count else pc.if_else(texts.is_valid(), matches, None)
