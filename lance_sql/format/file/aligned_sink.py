"""The bytes of a data file that is written to a store: buffers begin at multiples of 64."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lance_sql.store import ByteRange, Store
from lance_sql.store.checksums import Checksum, HashingSink

_ALIGNMENT: Final = 64
_ZEROS: Final = bytes(_ALIGNMENT)


class AlignedSink:
    """A new file that is written from its first byte to its last one."""

    def __init__(self, store: Store, path: str) -> None:
        self._sink = HashingSink(store.create(path))

    def write(self, data: bytes | pa.Buffer) -> ByteRange:
        """Appends bytes, and returns their range in the file."""
        start = self._sink.tell()
        self._sink.write(data)
        return ByteRange(start, self._sink.tell())

    def write_aligned(self, data: bytes | pa.Buffer) -> ByteRange:
        """Appends bytes at a multiple of 64, and returns their range in the file."""
        gap = -self._sink.tell() % _ALIGNMENT
        if gap:
            self._sink.write(_ZEROS[:gap])
        return self.write(data)

    def put(self, data: bytes | pa.Buffer) -> int:
        """Appends bytes like `write_aligned`, and returns their position."""
        return self.write_aligned(data).start

    def tell(self) -> int:
        return self._sink.tell()

    def close(self) -> Checksum:
        """Makes the file complete and durable, and returns the checksum of all its bytes."""
        self._sink.close()
        assert self._sink.checksum is not None
        return self._sink.checksum

    def abort(self) -> None:
        """Removes the written bytes."""
        self._sink.abort()
