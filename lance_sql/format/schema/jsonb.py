r"""Conversion of stored JSON (JSONB) to text, and back.

    value    u32 header: kind in bits 29..31, count n in bits 0..28; entries, u32 each; their payloads
    kind 1   scalar   one entry
    kind 2   object   n entries for the keys, then n for the values
    kind 4   array    n entries
    entry    type in bits 28..30, length of the payload in bits 0..27
    type     0 null, 1 string (UTF-8, no escapes), 2 number, 3 false, 4 true, 5 nested array or object
    number   a tag byte, then big-endian data: 00 zero, 20 infinity, 30 -infinity, 40 int, 50 uint, 60 float64

All integers are big endian. `{"b":1,"a":2}` is 40000002 10000001 10000001 20000002 20000002 61 62 5002 5001.

Source: extension type lance.json, JSONB values.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql._kernels import JsonFaultKind
from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature

# Size of the kernel's buffer: bytes for each byte of text, and for each text.
_GROWTH, _LEAST_BYTES = 4, 24


def to_text(array: pa.Array) -> pa.Array:
    """Converts each value to JSON text, without spaces; null stays null.

    array: binary or large_binary
    returns: string[n]
    raises: CorruptFile for bytes that are not JSONB; UnsupportedFeature for a number of another kind, for more than
        200 levels, and for more than 2 GiB of text
    """
    made, fault = _kernels.json_texts(array.cast(pa.large_binary()))
    if made is None:
        assert fault is not None
        raise error_of(fault)
    return pa.Array._import_from_c(made.address, pa.string())


def error_of(fault: _kernels.JsonFault) -> CorruptFile | UnsupportedFeature:
    """Returns the error for a document that cannot be read."""
    kind, _, message = fault
    return UnsupportedFeature(message) if kind == JsonFaultKind.UNSUPPORTED else CorruptFile(message)


def to_text_inside(array: pa.Array) -> pa.Array:
    """Converts like `to_text`, for values inside structs and lists: if one of these is NULL, files have no bytes,
    which become NULL as well."""
    import pyarrow.compute as pc

    lengths = pc.binary_length(array)
    if pc.min(lengths).as_py() == 0:
        array = pc.if_else(pc.equal(lengths, 0), pa.scalar(None, array.type), array)
    return to_text(array)


class InvalidJson(InvalidArgument):
    """A text that is not JSON, or JSON that cannot be stored; `index` is its position in the array."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"text {index} is not JSON: {reason}")
        self.index = index
        self.reason = reason


def from_text(array: pa.Array) -> pa.Array:
    """Converts each JSON text to its stored form; null stays null. Sorts keys and removes spaces.

    array: strings of any kind
    returns: large_binary[n]
    raises: InvalidJson for the first invalid text, and for repeated keys, halves of surrogate pairs, values of
        256 MiB or more, and more than 200 levels
    """
    texts = array.cast(pa.large_string())
    valid = texts.is_valid().to_numpy(zero_copy_only=False)
    _, ends, data = texts.buffers()
    count = len(texts)
    offsets = np.zeros(1, np.int64) if count == 0 else np.frombuffer(ends, np.int64)[texts.offset :][: count + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    out_offsets = np.empty(count + 1, np.int64)
    out = pa.allocate_buffer(_GROWTH * (last - first) + _LEAST_BYTES * count)
    characters = data.slice(first, last - first) if data is not None else b""
    index, reason = _kernels.jsonb_from_text(offsets - first, characters, valid, out_offsets, out)
    if index >= 0:
        raise InvalidJson(index, reason)
    stored = pa.py_buffer(bytes(memoryview(out)[: out_offsets[-1]]))
    validity = pa.py_buffer(np.packbits(valid, bitorder="little")) if texts.null_count else None
    return pa.Array.from_buffers(pa.large_binary(), count, [validity, pa.py_buffer(out_offsets), stored])
