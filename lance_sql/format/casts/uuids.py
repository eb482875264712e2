"""Conversion of UUIDs to text and back, for whole columns."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from lance_sql.values.arrays import U8, BoolMask

_BYTES: Final = pa.binary(16)
_LENGTH: Final = 36
_DIGITS: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_HYPHENS: Final = np.array([8, 13, 18, 23])
_PLACES: Final = np.setdiff1d(np.arange(_LENGTH), _HYPHENS)
"""Places of the 32 digits in the usual form."""

_NO_DIGIT: Final = 255
_VALUES: Final = np.full(256, _NO_DIGIT, np.uint8)
_VALUES[_DIGITS] = np.arange(16)
_VALUES[np.frombuffer(b"ABCDEF", np.uint8)] = np.arange(10, 16)


def from_text(array: pa.Array) -> pa.Array:
    """Parses the 16 bytes of each text.

    raises: pa.ArrowInvalid for text that is not a UUID
    """
    texts = array.cast(pa.large_string())
    valid = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    stored = np.zeros((len(texts), 16), np.uint8)
    is_usual = valid & (np.diff(starts) == _LENGTH)
    rows = np.flatnonzero(is_usual)
    if len(rows):
        characters = np.frombuffer(data, np.uint8)
        if len(rows) == len(texts):
            characters = characters[starts[0] : starts[-1]].reshape(-1, _LENGTH)
        else:
            characters = characters[starts[rows, None] + np.arange(_LENGTH)]
        parsed, is_parsed = _parsed(characters)
        stored[rows] = parsed
        is_usual[rows] = is_parsed
    # with braces, without hyphens, or wrong
    for row in np.flatnonzero(valid & ~is_usual).tolist():
        try:
            stored[row] = np.frombuffer(UUID(array[row].as_py().strip()).bytes, np.uint8)
        except ValueError as error:
            raise pa.ArrowInvalid(f"text is not a UUID: {error}") from error
    validity = pa.py_buffer(np.packbits(valid, bitorder="little")) if texts.null_count else None
    return pa.Array.from_buffers(_BYTES, len(texts), [validity, pa.py_buffer(stored)])


def _parsed(characters: U8) -> tuple[U8, BoolMask]:
    """Parses texts of 36 characters: uint8[n, 36]. Returns the bytes, and whether each is in the usual form."""
    digits = _VALUES[characters[:, _PLACES]]
    is_usual = (digits != _NO_DIGIT).all(axis=1) & (characters[:, _HYPHENS] == ord("-")).all(axis=1)
    return np.asarray(digits[:, ::2] << 4 | digits[:, 1::2], np.uint8), np.asarray(is_usual, np.bool_)


def to_text(array: pa.Array) -> pa.Array:
    """Formats each UUID in its usual form.

    array: fixed_size_binary[16]
    """
    count = len(array)
    valid = np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    data = array.buffers()[1]
    stored = np.zeros((count, 16), np.uint8)
    if count and data is not None:
        stored = np.frombuffer(data, np.uint8)[16 * array.offset :][: 16 * count].reshape(count, 16)
    texts = np.full((count, _LENGTH), ord("-"), np.uint8)
    texts[:, _PLACES] = _DIGITS[np.stack([stored >> 4, stored & 15], axis=2).reshape(count, 32)]
    offsets = np.arange(count + 1, dtype=np.int64) * _LENGTH
    validity = pa.py_buffer(np.packbits(valid, bitorder="little")) if array.null_count else None
    return pa.Array.from_buffers(
        pa.large_string(), count, [validity, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(texts))]
    )
