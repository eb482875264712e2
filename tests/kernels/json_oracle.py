"""The meaning of stored JSON in Python: the text of a document, and its value."""

from __future__ import annotations

import json
import math
import struct

SCALAR, OBJECT, ARRAY = 1, 2, 4
NULL, STRING, NUMBER, FALSE, TRUE, NESTED = range(6)
MAX_DEPTH = 200
_WIDTHS = (1, 2, 4, 8)


class RefusedError(Exception):
    """Bytes that are not stored JSON, or of a kind that is not supported."""


def text_of(value: bytes) -> str:
    """Converts one stored document to JSON text, without spaces.

    raises: RefusedError
    """
    pieces: list[str] = []
    _container(value, pieces, 0)
    return "".join(pieces)


def _container(data: bytes, out: list[str], depth: int) -> None:
    if depth > MAX_DEPTH or len(data) < 4:
        raise RefusedError
    (header,) = struct.unpack_from(">I", data)
    kind, count = header >> 29, header & 0x1FFFFFFF
    if kind == SCALAR:
        ((entry, payload),) = _entries(data, 1)
        _entry(entry, payload, out, depth)
    elif kind == ARRAY:
        out.append("[")
        for i, (entry, payload) in enumerate(_entries(data, count)):
            out.append("," * (i > 0))
            _entry(entry, payload, out, depth)
        out.append("]")
    elif kind == OBJECT:
        entries = _entries(data, 2 * count)
        out.append("{")
        for i in range(count):
            out.append("," * (i > 0))
            (kind, key), (entry, payload) = entries[i], entries[count + i]
            if kind != STRING:
                raise RefusedError
            _entry(kind, key, out, depth)
            out.append(":")
            _entry(entry, payload, out, depth)
        out.append("}")
    else:
        raise RefusedError


def _entries(data: bytes, count: int) -> list[tuple[int, bytes]]:
    start = 4 + 4 * count
    if start > len(data):
        raise RefusedError
    entries = []
    for word in struct.unpack_from(f">{count}I", data, 4):
        end = start + (word & 0x0FFFFFFF)
        if end > len(data):
            raise RefusedError
        entries.append(((word >> 28) & 7, data[start:end]))
        start = end
    return entries


def _entry(kind: int, payload: bytes, out: list[str], depth: int) -> None:
    if kind == NESTED:
        _container(payload, out, depth + 1)
    elif kind == STRING:
        try:
            out.append(json.dumps(payload.decode(), ensure_ascii=False))
        except UnicodeDecodeError as error:
            raise RefusedError from error
    elif kind == NUMBER:
        out.append(_number(payload))
    elif kind in (NULL, FALSE, TRUE):
        out.append({NULL: "null", FALSE: "false", TRUE: "true"}[kind])
    else:
        raise RefusedError


def _number(payload: bytes) -> str:
    tag, digits = payload[:1], payload[1:]
    if tag == b"\x00" and not digits:
        return "0"
    if tag in (b"\x20", b"\x30") and not digits:
        # JSON has no infinity
        return "null"
    if tag in (b"\x40", b"\x50") and len(digits) in _WIDTHS:
        return str(int.from_bytes(digits, "big", signed=tag == b"\x40"))
    if tag == b"\x60" and len(digits) == 8:
        (number,) = struct.unpack(">d", digits)
        return repr(number) if math.isfinite(number) else "null"
    raise RefusedError
