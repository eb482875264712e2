"""Checksums of files: computed while a file is written, and compared by `verify`.

    bytes of a file    block 0         block 1         rest
    checksum           xxHash64        xxHash64        xxHash64        seed 0, 8 bytes each, little-endian

A hash for each block locates differences in a long file, not only their existence. xxHash64 detects accidental damage.
It does not protect against a person who changes the file and its checksum on purpose.

Source: xxHash fast digest algorithm, XXH64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.store.contract import ByteRange, Sink, Store
from lance_sql.store.requests import concurrently
from lance_sql.values.arrays import U64

BLOCK_BYTES: Final = 1 << 20
_HASH_BYTES: Final = 8
# Bytes per read request, and the maximum number of requests at once if the store has concurrency.
_READ_BYTES: Final = 8 << 20
_MOST_REQUESTS: Final = 8


@dataclass(frozen=True, slots=True)
class Checksum:
    """Size and hashes of a file at the time it was written.

    hashes: one for each block of 1 MiB and for the rest of the file
    """

    size_bytes: int
    hashes: bytes

    @property
    def is_consistent(self) -> bool:
        """Whether the number of hashes matches the number of blocks in a file of this size."""
        return len(self.hashes) == _HASH_BYTES * (-(-self.size_bytes // BLOCK_BYTES))


class Hasher:
    """Computes the checksum of bytes that arrive piece by piece."""

    def __init__(self) -> None:
        self._size = 0
        self._blocks = _kernels.BlockHasher(BLOCK_BYTES)

    def update(self, data: bytes | pa.Buffer | memoryview) -> None:
        """Adds bytes without copying them."""
        self._size += memoryview(data).nbytes
        self._blocks.update(data)

    def finish(self) -> Checksum:
        """Returns the checksum of all added bytes."""
        return Checksum(self._size, self._blocks.finish())


class HashingSink:
    """A sink that computes the checksum of its file.

    checksum: of the written bytes; None before `close`
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._hasher = Hasher()
        self.checksum: Checksum | None = None

    def write(self, data: bytes | pa.Buffer | memoryview) -> None:
        self._hasher.update(data)
        self._sink.write(data)

    def tell(self) -> int:
        return self._sink.tell()

    def close(self) -> None:
        self._sink.close()
        self.checksum = self._hasher.finish()

    def abort(self) -> None:
        self._sink.abort()


def of(data: bytes | pa.Buffer) -> Checksum:
    """Returns the checksum of a whole file."""
    hasher = Hasher()
    hasher.update(data)
    return hasher.finish()


def differences(store: Store, path: str, checksum: Checksum) -> list[ByteRange]:
    """Returns the blocks of a file that differ from the written ones, as ranges of bytes that do not touch.

    checksum: of the written file, consistent
    raises: errors of reading the file, such as CorruptFile for one with fewer bytes
    """
    ranges: list[ByteRange] = []
    for start, hashes in _blocks(store, path, checksum.size_bytes):
        first = start // BLOCK_BYTES
        expected = np.frombuffer(checksum.hashes, "<u8", len(hashes), first * _HASH_BYTES)
        for number in np.flatnonzero(hashes != expected).tolist():
            begin = start + number * BLOCK_BYTES
            end = min(begin + BLOCK_BYTES, checksum.size_bytes)
            if ranges and ranges[-1].end == begin:
                ranges[-1] = ByteRange(ranges[-1].start, end)
            else:
                ranges.append(ByteRange(begin, end))
    return ranges


def _blocks(store: Store, path: str, size: int) -> Iterator[tuple[int, U64]]:
    """Yields the hashes of a file's blocks, several at a time, and where the first of them begins."""

    def hashes(start: int) -> U64:
        (data,) = store.get_ranges(path, [ByteRange(start, min(start + _READ_BYTES, size))])
        return np.frombuffer(of(data).hashes, "<u8").astype(np.uint64)

    at_once = min(store.concurrency, _MOST_REQUESTS)
    starts = range(0, size, _READ_BYTES)
    for first in range(0, len(starts), at_once):
        group = starts[first : first + at_once]
        yield from zip(group, concurrently([partial(hashes, start) for start in group], at_once), strict=True)
