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

import json
import math
import struct

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature, at

_SCALAR, _OBJECT, _ARRAY = 1, 2, 4
_NULL, _STRING, _NUMBER, _FALSE, _TRUE, _NESTED = range(6)
# Each level takes two frames of the Python stack.
_MAX_DEPTH = 200
_INTEGER_WIDTHS = (1, 2, 4, 8)
# Size of the kernel's buffer: bytes for each byte of text, and for each text.
_GROWTH, _LEAST_BYTES = 4, 24


def to_text(array: pa.Array) -> pa.Array:
    """Converts each value to JSON text; null stays null.

    array: binary or large_binary
    returns: string[n]
    raises: CorruptFile for bytes that are not JSONB; UnsupportedFeature for a number of another kind, and for
        more than 2 GiB of text
    """
    # Values are trees of any shape, so this is work per row.
    with at():
        texts = pa.array([None if value is None else text_of(value) for value in array.to_pylist()], pa.string())
    if not isinstance(texts, pa.StringArray):
        raise UnsupportedFeature("more than 2 GiB of JSON text in one batch: write smaller batches")
    return texts


def text_of(value: bytes) -> str:
    """Converts one stored value to JSON text, without spaces.

    raises: CorruptFile, UnsupportedFeature
    """
    pieces: list[str] = []
    _container(memoryview(value), pieces, 0)
    return "".join(pieces)


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


def _container(data: memoryview, out: list[str], depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise UnsupportedFeature(f"JSON nested more than {_MAX_DEPTH} levels deep")
    if len(data) < 4:
        raise CorruptFile(f"a JSON value of {len(data)} bytes has no header")
    (header,) = struct.unpack_from(">I", data)
    kind, count = header >> 29, header & 0x1FFFFFFF
    if kind == _SCALAR:
        ((entry, payload),) = _entries(data, 1)
        _scalar(entry, payload, out, depth)
    elif kind == _ARRAY:
        out.append("[")
        for i, (entry, payload) in enumerate(_entries(data, count)):
            if i:
                out.append(",")
            _scalar(entry, payload, out, depth)
        out.append("]")
    elif kind == _OBJECT:
        _object(_entries(data, 2 * count), count, out, depth)
    else:
        raise CorruptFile(f"a JSON value of the unknown kind {kind}")


def _object(entries: list[tuple[int, memoryview]], count: int, out: list[str], depth: int) -> None:
    out.append("{")
    for i in range(count):
        if i:
            out.append(",")
        kind, key = entries[i]
        if kind != _STRING:
            raise CorruptFile(f"a JSON key of type {kind} is not a string")
        _scalar(kind, key, out, depth)
        out.append(":")
        _scalar(*entries[count + i], out, depth)
    out.append("}")


def _entries(data: memoryview, count: int) -> list[tuple[int, memoryview]]:
    """Returns type and payload of each entry after the header."""
    start = 4 + 4 * count
    if start > len(data):
        raise CorruptFile(f"a JSON value of {len(data)} bytes cannot have {count} entries")
    entries = []
    for word in struct.unpack_from(f">{count}I", data, 4):
        end = start + (word & 0x0FFFFFFF)
        if end > len(data):
            raise CorruptFile(f"a JSON entry ends at byte {end} of {len(data)}")
        entries.append(((word >> 28) & 7, data[start:end]))
        start = end
    return entries


def _scalar(kind: int, payload: memoryview, out: list[str], depth: int) -> None:
    if kind == _NESTED:
        _container(payload, out, depth + 1)
    elif kind == _STRING:
        out.append(json.dumps(str(payload, "utf-8"), ensure_ascii=False))
    elif kind == _NUMBER:
        out.append(_number(payload))
    elif kind in (_NULL, _FALSE, _TRUE):
        out.append({_NULL: "null", _FALSE: "false", _TRUE: "true"}[kind])
    else:
        raise CorruptFile(f"a JSON entry of the unknown type {kind}")


def _number(payload: memoryview) -> str:
    if not payload:
        raise CorruptFile("a JSON number of no bytes")
    tag, digits = payload[0], bytes(payload[1:])
    if tag == 0x00 and not digits:
        return "0"
    if tag in (0x20, 0x30) and not digits:
        # JSON has no infinity.
        return "null"
    if tag in (0x40, 0x50) and len(digits) in _INTEGER_WIDTHS:
        return str(int.from_bytes(digits, "big", signed=tag == 0x40))
    if tag == 0x60 and len(digits) == 8:
        (number,) = struct.unpack(">d", digits)
        return repr(number) if math.isfinite(number) else "null"
    raise UnsupportedFeature(f"a JSON number of kind {tag:#04x} with {len(digits)} bytes")
