"""Mutations of inputs, in addition to those of tables in tests/damaged."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from fuzz.inputs import Values
from tests.damaged import messages
from tests.damaged.tables import DAMAGES, encode_varint

_WHOLE = 4096
"""A file of up to so many bytes is cut at each of them."""

_COUNTS = (0, 1, 7, 63, 64, 255, 1023, 1024, 1025, 2**16, 2**31 - 1, 2**32, 2**40, 2**47, 2**48, 2**63 - 1, -1)


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """One to three changes of the bytes."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        kind = int(rng.integers(len(DAMAGES) + 4))
        if kind < len(DAMAGES):
            # these change bytes in place, and need some
            changed.extend(bytes(max(0, 20 - len(changed))) if not changed else b"")
            if len(changed) > 20:
                DAMAGES[kind](rng, changed, int(rng.integers(len(changed))))
            else:
                changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        else:
            changed = (_cut, _repeat, _exchange, _insert)[kind - len(DAMAGES)](rng, changed)
    return bytes(changed)


def _cut(rng: np.random.Generator, data: bytearray) -> bytearray:
    return data[: int(rng.integers(len(data) + 1))]


def _repeat(rng: np.random.Generator, data: bytearray) -> bytearray:
    start, end = np.sort(rng.integers(0, len(data) + 1, 2)).tolist()
    return data[:end] + data[start:end][:1024] + data[end:]


def _exchange(rng: np.random.Generator, data: bytearray) -> bytearray:
    """Two neighbouring blocks in the other order."""
    a, b, c = np.sort(rng.integers(0, len(data) + 1, 3)).tolist()
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _insert(rng: np.random.Generator, data: bytearray) -> bytearray:
    at = int(rng.integers(len(data) + 1))
    return data[:at] + encode_varint(1 << int(rng.integers(65)) % 64) + data[at:]


def damage_count(rng: np.random.Generator, count: int) -> int:
    """Another count: near, half, twice, or absurd."""
    match int(rng.integers(4)):
        case 0:
            return _COUNTS[int(rng.integers(len(_COUNTS)))]
        case 1:
            return count // 2
        case 2:
            return 2 * count
    return max(0, count + int(rng.integers(-9, 10)))


def cuts(data: bytes) -> Iterator[int]:
    """The lengths to which a file is cut: each, or those where its parts end."""
    if len(data) <= _WHOLE:
        yield from range(len(data))
    else:
        yield from range(0, len(data), 256)
        yield from range(len(data) - 256, len(data))


def data_file_cuts(data: bytes) -> Iterator[int]:
    """The lengths at which a page buffer begins or ends, or one byte away, and those within the footer."""
    if is_legacy(data):
        yield from cuts(data)
        return
    bounds = {0, *range(max(0, len(data) - 40), len(data))}
    for column in messages.column_messages(data):
        for page in column.pages:
            for position, size in zip(page.buffer_offsets, page.buffer_sizes, strict=True):
                bounds |= {position, position + size}
    near = {bound + step for bound in bounds for step in (-1, 0, 1)}
    yield from sorted(length for length in near if 0 <= length < len(data))


def is_legacy(data: bytes) -> bool:
    """Whether a data file is of version 0.1, which has no column metadata."""
    major, minor = struct.unpack_from("<HH", data, len(data) - 8)
    return bool(major == 0 and minor < 3)


def cut(values: Values, name: str, length: int) -> Values:
    """The input with one part cut."""
    data = values[name]
    assert isinstance(data, bytes)
    return {**values, name: data[:length]}
