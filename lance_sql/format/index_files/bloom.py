"""Bloom filters: a filter for each zone that excludes most absent values.

    fragment_id   zone_start   zone_length   has_null   bloom_filter_data

A filter is a split block bloom filter over xxHash64: blocks of eight words of 32 bits, in each of which a value sets a
bit.

Source: indices, bloom filter; Parquet, split block bloom filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.index_files import zones
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.format.index_files.zones import Zones
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U32, U64, BoolMask

FILE: Final = "bloomfilter.lance"
BLOCK_BYTES: Final = 32
MAX_ZONES: Final = 1 << 22
SALT: Final = np.array(
    [0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31], np.uint64
)
_BYTES_AT_ONCE: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """The filters of a file, read on demand.

    has_null: whether each zone has NULLs: bool[zones]
    """

    zones: Zones
    has_null: BoolMask
    file: IndexFile

    @property
    def num_bytes(self) -> int:
        """Approximate memory."""
        return self.zones.num_bytes + len(self.has_null)

    def may_contain(self, hashes: U64, asked: BoolMask) -> BoolMask:
        """Returns whether each zone may contain a value with one of these hashes.

        asked: the zones to check; the answer for others is True
        raises: CorruptFile
        """
        answers = np.ones(len(self.zones), np.bool_)
        zone_indices = np.flatnonzero(asked)
        at_once = max(1, int(_BYTES_AT_ONCE / max(self.file.row_bytes(["bloom_filter_data"]), 1)))
        for start in range(0, len(zone_indices), at_once):
            part = zone_indices[start : start + at_once]
            (filters,) = self.file.read(["bloom_filter_data"], row_ranges.from_sorted(part))
            with at(file=self.file.path, column="bloom_filter_data"):
                for zone_index, content in zip(part.tolist(), filters, strict=True):
                    data = content.as_buffer() if content.is_valid else None
                    if data is None or data.size == 0 or data.size % BLOCK_BYTES:
                        raise CorruptFile(f"a bloom filter of {0 if data is None else data.size} bytes")
                    answers[zone_index] = contains(np.frombuffer(data, "<u4").reshape(-1, 8), hashes).any()
        return answers


def read(file: IndexFile) -> BloomFilters:
    """Opens the filters of a file.

    raises: CorruptFile; UnsupportedFeature for too many zones
    """
    with at(file=file.path):
        if file.num_rows > MAX_ZONES:
            raise UnsupportedFeature(f"bloom filters of {file.num_rows} zones are not supported")
    file_zones = zones.read(file)
    (has_null,) = file.read(["has_null"])
    with at(file=file.path):
        return BloomFilters(file_zones, has_null.cast(pa.bool_()).fill_null(True).to_numpy(zero_copy_only=False), file)


def contains(blocks: U32, hashes: U64) -> BoolMask:
    """Returns whether a filter may contain a value of each hash.

    blocks: uint32[blocks, 8]
    """
    numbers, bits = positions(hashes, len(blocks))
    may_hold: BoolMask = ((blocks[numbers].astype(np.uint64) & bits) != 0).all(axis=1)
    return may_hold


def positions(hashes: U64, num_blocks: int) -> tuple[I64, U64]:
    """Returns the block of each hash, and its bit in each of the block's words: int64[n], uint64[n, 8]."""
    numbers = ((hashes >> np.uint64(32)) * np.uint64(num_blocks)) >> np.uint64(32)
    low = hashes & np.uint64(0xFFFFFFFF)
    shifts = ((low[:, None] * SALT[None, :]) & np.uint64(0xFFFFFFFF)) >> np.uint64(27)
    return numbers.astype(np.int64), np.uint64(1) << shifts
