"""Learned statistics in a folder, one file for each data file:

    LSTATS01 | BLAKE2b of the rest, 16 bytes | length of the identity, identity, count of columns, columns
    column = its number, order, bits, prefix or not, rows per zone, rows (little endian), then its numbers

A file in the folder is a cache entry: one that is damaged, of another file or another release is ignored.

Source: `zone_statistics`, for the numbers.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from lance_sql import _kernels
from lance_sql._kernels import ValueOrder
from lance_sql.format.file.zone_statistics import ROWS_PER_ZONE, KeyKind, Numbers, new_bounds

_LOG: Final = logging.getLogger("lance_sql")

MAX_BYTES: Final = 64 << 20
"""A larger file is not read."""

_MAGIC: Final = b"LSTATS01"
_DIGEST_BYTES: Final = 16
_LENGTHS: Final = struct.Struct("<II")
_COLUMN: Final = struct.Struct("<QIIIIQ")
_NUMBERS: Final = 6


@dataclass(frozen=True, slots=True)
class StoredStatistics:
    """The statistics of a column.

    numbers: as returned by `_kernels.ZoneBounds.numbers`
    """

    num_rows: int
    numbers: Numbers

    def to_bounds(self, kind: KeyKind) -> _kernels.ZoneBounds | None:
        """Returns the statistics as extensible bounds, or None if the numbers are inconsistent."""
        try:
            bounds = new_bounds(kind, self.num_rows)
            bounds.add_numbers(self.numbers)
        except _kernels.InvalidDataError:
            return None
        return bounds


Columns = Mapping[tuple[int, KeyKind], StoredStatistics]


@dataclass(frozen=True, slots=True)
class StatisticsFolder:
    """A folder of such files, created with the first one. Any number of processes may share it."""

    path: str

    def load(self, identity: str) -> Columns:
        """Loads the statistics of a data file; nothing if there is no valid file."""
        try:
            with open(self._path_of(identity), "rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError:
            return {}
        try:
            return _parse(content, identity.encode())
        except ValueError as error:
            _LOG.warning("%s is not used: %s", self._path_of(identity), error)
            return {}

    def save(self, identity: str, columns: Columns) -> None:
        """Replaces the statistics of a data file atomically.

        raises: OSError
        """
        path = self._path_of(identity)
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        try:
            os.makedirs(self.path, exist_ok=True)
            with open(temporary, "xb") as file:
                file.write(with_checksum(serialize(columns, identity.encode())))
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise OSError(f"statistics cannot be stored in {self.path}: {error.strerror}") from error

    def _path_of(self, identity: str) -> str:
        name = hashlib.blake2b(identity.encode(), digest_size=_DIGEST_BYTES).hexdigest()
        return os.path.join(self.path, f"{name}.stats")


def serialize(columns: Columns, identity: bytes) -> bytes:
    """Serializes the content of a file, without its header."""
    parts = [_LENGTHS.pack(len(identity), len(columns)), identity]
    for (number, kind), known in columns.items():
        parts.append(_COLUMN.pack(number, kind.order, kind.num_bits, kind.is_prefix, ROWS_PER_ZONE, known.num_rows))
        parts.append(known.numbers.astype("<i8").tobytes())
    return b"".join(parts)


def with_checksum(content: bytes) -> bytes:
    """Returns the file with this content."""
    return _MAGIC + _digest(content) + content


def _parse(content: bytes, identity: bytes) -> dict[tuple[int, KeyKind], StoredStatistics]:
    """
    raises: ValueError with the reason
    """
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    start = len(_MAGIC) + _DIGEST_BYTES
    if content[: len(_MAGIC)] != _MAGIC:
        raise ValueError("it was written by another release")
    rest = memoryview(content)[start:]
    if content[len(_MAGIC) : start] != _digest(rest):
        raise ValueError("its checksum is wrong")
    try:
        length, count = _LENGTHS.unpack_from(rest)
        at = _LENGTHS.size + length
        if rest[_LENGTHS.size : at] != identity:
            raise ValueError("it belongs to another file")
        statistics = {}
        for _ in range(count):
            number, order, bits, is_prefix, rows_per_zone, num_rows = _COLUMN.unpack_from(rest, at)
            at += _COLUMN.size
            if rows_per_zone != ROWS_PER_ZONE:
                raise ValueError(f"it has zones of {rows_per_zone} rows")
            size = -(-num_rows // ROWS_PER_ZONE) * _NUMBERS * 8
            if size > len(rest) - at:
                raise ValueError("it is cut short")
            numbers = np.frombuffer(rest[at : at + size], "<i8").astype(np.int64).reshape(-1, _NUMBERS)
            statistics[number, KeyKind(ValueOrder(order), bits, bool(is_prefix))] = StoredStatistics(num_rows, numbers)
            at += size
    except struct.error as error:
        raise ValueError("it is cut short") from error
    if at != len(rest):
        raise ValueError("it has bytes after its end")
    return statistics


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
