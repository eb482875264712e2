"""A store that compares the bytes that it reads with the checksums of when they were written.

    get_ranges, tail    blocks of 1 MiB that the bytes are in, on their first read in the process

It returns no local paths and mappings of data, deletion and index files, so that every byte of them passes through it.
Files without a checksum, such as those of other writers, are read like others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, at
from lance_sql.runtime import ports
from lance_sql.runtime.caches import LruCache
from lance_sql.store import checksums
from lance_sql.store.canonical import canonical_location
from lance_sql.store.checksums import BLOCK_BYTES, Checksum
from lance_sql.store.contract import ByteRange, MappedFile, Store, check_ranges
from lance_sql.store.delegating import IMMUTABLE, DelegatingStore

_HASH_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class _Recorded:
    """Checksums of a location.

    records: by the path of each record
    files: all of them
    """

    records: Mapping[str, Mapping[str, Checksum]]
    files: Mapping[str, Checksum]


# a bit for each block
_compared: Final[LruCache[tuple[str, str, str | None], int]] = LruCache("compared blocks", most_entries=65_536)
_recorded: Final[LruCache[str, _Recorded]] = LruCache("checksums of files", most_entries=64)
# their records are written before a version has them
_without: Final[LruCache[tuple[str, str], bool]] = LruCache("files without a checksum", most_entries=65_536)


class ComparedStore(DelegatingStore):
    """The files of another store, compared. Thread-safe and picklable if that one is."""

    def __init__(self, files: Store) -> None:
        super().__init__(files)
        self.location = canonical_location(files)

    def __reduce__(self) -> tuple[type[ComparedStore], tuple[Store]]:
        return ComparedStore, (self._files,)

    @property
    def gap(self) -> int:
        # a block that is not needed would be compared as well
        return min(self._files.gap, BLOCK_BYTES)

    def local_path(self, path: str) -> str | None:
        return None if path.startswith(IMMUTABLE) else self._files.local_path(path)

    def mapped(self, path: str) -> MappedFile | None:
        return None if path.startswith(IMMUTABLE) else self._files.mapped(path)

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        checksum = self._checksum(path)
        if checksum is None:
            return self._files.get_ranges(path, ranges)
        with at(file=path):
            check_ranges(ranges, checksum.size_bytes)
        key = (self.location, path, self._files.identity(path))
        runs = _runs(ranges, _compared.get(key) or 0, checksum.size_bytes)
        contents = self._files.get_ranges(path, runs) if runs else []
        for run, content in zip(runs, contents, strict=True):
            self._compare(key, checksum, run.start, content)
        found = [_slice(wanted, runs, contents) for wanted in ranges]
        missing = [wanted for wanted, content in zip(ranges, found, strict=True) if content is None]
        others = iter(self._files.get_ranges(path, missing) if missing else ())
        return [next(others) if content is None else content for content in found]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        checksum = self._checksum(path)
        if checksum is None:
            return self._files.tail(path, num_bytes, size=size)
        written = checksum.size_bytes
        start = max(written - num_bytes, 0)
        begin = start // BLOCK_BYTES * BLOCK_BYTES if num_bytes else written
        actual, content = self._files.tail(path, written - begin)
        if actual != written:
            with at(file=path):
                raise CorruptFile(f"the file has {actual} bytes, {written} were written")
        self._compare((self.location, path, self._files.identity(path)), checksum, begin, content)
        return actual, content.slice(start - begin if num_bytes else 0)

    def _compare(self, key: tuple[str, str, str | None], checksum: Checksum, start: int, content: pa.Buffer) -> None:
        """Compares blocks, the first of which begins at `start`, and notes that they were.

        raises: CorruptFile
        """
        first = start // BLOCK_BYTES
        hashes = np.frombuffer(checksums.of(content).hashes, "<u8")
        expected = np.frombuffer(checksum.hashes, "<u8", len(hashes), first * _HASH_BYTES)
        differing = np.flatnonzero(hashes != expected)
        if len(differing):
            block = first + int(differing[0])
            begin = block * BLOCK_BYTES
            end = min(begin + BLOCK_BYTES, checksum.size_bytes)
            with at(file=key[1]):
                raise CorruptFile(
                    f"checksum mismatch in block {block}, bytes {begin} to {end} of {checksum.size_bytes}: 'lance-sql"
                    " verify --deep' finds all damage"
                )
        _compared.put(key, (_compared.get(key) or 0) | ((1 << len(hashes)) - 1) << first)

    def _checksum(self, path: str) -> Checksum | None:
        """Returns the checksum of a file; None if it has none."""
        if not path.startswith(IMMUTABLE) or _without.get((self.location, path)):
            return None
        known = _recorded.get(self.location)
        if known is None or path not in known.files:
            # files may have been written since
            records = ports.READ_CHECKSUMS.load()(self._files, {} if known is None else known.records)
            known = _Recorded(records, {name: each for files in records.values() for name, each in files.items()})
            _recorded.put(self.location, known)
        found = known.files.get(path)
        if found is None:
            _without.put((self.location, path), True)
        return found


def _runs(ranges: Sequence[ByteRange], compared: int, size: int) -> list[ByteRange]:
    """Returns the blocks of some ranges that were not compared yet, neighbors together."""
    blocks = 0
    for start, end in ranges:
        first, last = start // BLOCK_BYTES, -(-end // BLOCK_BYTES)
        blocks |= ((1 << max(last - first, 0)) - 1) << first
    blocks &= ~compared
    runs: list[ByteRange] = []
    block = 0
    while blocks >> block:
        block += _trailing_zeros(blocks >> block)
        length = _trailing_zeros(~(blocks >> block))
        runs.append(ByteRange(block * BLOCK_BYTES, min((block + length) * BLOCK_BYTES, size)))
        block += length
    return runs


def _trailing_zeros(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _slice(wanted: ByteRange, runs: Sequence[ByteRange], contents: Sequence[pa.Buffer]) -> pa.Buffer | None:
    """Returns the bytes of a range, if one of the runs has all of them."""
    for run, content in zip(runs, contents, strict=True):
        if run.start <= wanted.start and wanted.end <= run.end:
            return content.slice(wanted.start - run.start, wanted.end - wanted.start)
    return None
