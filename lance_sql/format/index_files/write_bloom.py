"""Building of bloom filters, zone by zone, from rows in order.

Source: indices, bloom filter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import bloom_values, row_sets, writing
from lance_sql.format.index_files.bloom import BLOCK_BYTES, FILE
from lance_sql.store import Store
from lance_sql.values.arrays import U64

ITEMS_PER_ZONE: Final = 8192
PROBABILITY: Final = 0.00057
"""Probability of a false positive."""

_AS_THEY_ARE: Final = {"lance-encoding:compression": "none"}
"""Compressing filters would save a tenth, and take longer than everything else."""


@dataclass(slots=True)
class _Zone:
    fragment_id: int
    start: int
    has_null: bool
    filter: bytearray


class BloomBuilder:
    """Takes the values of the live rows of some fragments, in the order of their addresses."""

    def __init__(self, type: pa.DataType, *, rows_per_zone: int = ITEMS_PER_ZONE) -> None:
        """
        raises: UnsupportedFeature for types without bloom filters
        """
        bloom_values.check(type)
        self._rows_per_zone = rows_per_zone
        self._num_bytes = filter_bytes(rows_per_zone, PROBABILITY)
        self._zones: list[_Zone] = []
        self._null_rows: list[U64] = []

    def add(self, values: pa.Array, addresses: U64) -> None:
        """Adds rows.

        addresses: ascending over all calls
        """
        is_null = values.is_null().to_numpy(zero_copy_only=False)
        if values.null_count:
            self._null_rows.append(addresses[is_null])
        zones = (addresses & np.uint64(2**32 - 1)) // np.uint64(self._rows_per_zone)
        keys = (addresses >> np.uint64(32) << np.uint64(32)) | zones
        edges = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
        for first, end in itertools.pairwise(edges):
            if end > first:
                part = values.slice(first, end - first)
                zone = self._zone(int(keys[first]))
                zone.has_null |= part.null_count > 0
                _kernels.bloom_insert(bloom_values.hashes(part), zone.filter)

    def write(
        self, store: Store, folder: str, *, file_version: str, num_rows: Mapping[int, int]
    ) -> tuple[WrittenFile, ...]:
        """Writes the files of the index.

        num_rows: physical rows by fragment id
        """
        schema = pa.schema(
            [
                ("fragment_id", pa.uint64()),
                ("zone_start", pa.uint64()),
                ("zone_length", pa.uint64()),
                ("has_null", pa.bool_()),
                pa.field("bloom_filter_data", pa.binary(), metadata=_AS_THEY_ARE),
            ]
        )
        notes = {
            "bloomfilter_item": str(self._rows_per_zone),
            "bloomfilter_probability": str(PROBABILITY),
            "null_bitmap": "1",
        }
        nulls = np.concatenate([np.empty(0, np.uint64), *self._null_rows])
        return (
            writing.write(
                store,
                f"{folder}/{FILE}",
                schema,
                self._batches(schema, num_rows),
                file_version=file_version,
                notes=notes,
                buffers=[row_sets.serialize(nulls)],
            ),
        )

    def _zone(self, key: int) -> _Zone:
        fragment_id, start = key >> 32, (key & (2**32 - 1)) * self._rows_per_zone
        last = self._zones[-1] if self._zones else None
        if last is None or (last.fragment_id, last.start) != (fragment_id, start):
            last = _Zone(fragment_id, start, False, bytearray(self._num_bytes))
            self._zones.append(last)
        return last

    def _batches(self, schema: pa.Schema, num_rows: Mapping[int, int]) -> Iterator[pa.RecordBatch]:
        for first in range(0, len(self._zones), 256):
            zones = self._zones[first : first + 256]
            ends = [min(zone.start + self._rows_per_zone, num_rows[zone.fragment_id]) for zone in zones]
            columns = [
                pa.array([zone.fragment_id for zone in zones], pa.uint64()),
                pa.array([zone.start for zone in zones], pa.uint64()),
                pa.array([end - zone.start for zone, end in zip(zones, ends, strict=True)], pa.uint64()),
                pa.array([zone.has_null for zone in zones], pa.bool_()),
                pa.array([bytes(zone.filter) for zone in zones], pa.binary()),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def filter_bytes(num_items: int, probability: float) -> int:
    """Returns the bytes of a filter with this probability of false positives: a power of two."""
    bits = num_items * -8 / math.log(1 - probability ** (1 / 8))
    return max(BLOCK_BYTES, int(2 ** math.ceil(math.log2(bits / 8))))
