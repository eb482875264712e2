"""Conversion of UUIDs to text and back."""

from __future__ import annotations

from uuid import UUID

import pyarrow as pa

_BYTES = pa.binary(16)


def from_text(array: pa.Array) -> pa.Array:
    """Parses the 16 bytes of each text.

    raises: pa.ArrowInvalid for text that is not a UUID
    """
    try:
        values = [None if value is None else UUID(value.strip()).bytes for value in array.to_pylist()]
    except ValueError as error:
        raise pa.ArrowInvalid(f"text is not a UUID: {error}") from error
    return pa.array(values, _BYTES)


def to_text(array: pa.Array) -> pa.Array:
    """Formats each UUID in its usual form.

    array: fixed_size_binary[16]
    """
    texts = [None if value is None else str(UUID(bytes=value)) for value in array.to_pylist()]
    return pa.array(texts, pa.large_string())
