"""Building a zone map, while rows pass in their order.

    fragment   | zone 0            | zone 1            |     rows_per_zone physical rows each, whatever was deleted

Bounds hold for readers that order floats by their bits, as pylance 14 does, and for those that know of NaN: a zone with
a NaN gets NaN as its maximum, one with a negative NaN -inf as its minimum. The zeros are equal, so that a bound of
either becomes the wider one.

Source: indices, zone map; writing indices.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.file.writer import WrittenFile
from lance_sql.index_files import order, row_sets, writing
from lance_sql.index_files.zone_map import FILE
from lance_sql.store import Store

ROWS_PER_ZONE: Final = 8192

U64 = npt.NDArray[np.uint64]


@dataclass(slots=True)
class _Zone:
    """What is known of a zone so far; bounds as scalars, None without a value."""

    fragment_id: int
    start: int
    least: pa.Scalar | None = None
    greatest: pa.Scalar | None = None
    nulls: int = 0
    nans: int = 0
    negative_nans: int = 0


class ZoneMapBuilder:
    """Takes the values of the live rows of some fragments, in the order of their addresses."""

    def __init__(self, type: pa.DataType, *, rows_per_zone: int = ROWS_PER_ZONE) -> None:
        """
        raises: UnsupportedFeature for types without bounds
        """
        order.check(type)
        self._type = type
        self._rows_per_zone = rows_per_zone
        self._zones: list[_Zone] = []
        self._null_rows: list[U64] = []

    def add(self, values: pa.Array, addresses: U64) -> None:
        """Takes some rows.

        addresses: above those before
        """
        if values.null_count:
            self._null_rows.append(addresses[values.is_null().to_numpy(zero_copy_only=False)])
        zones = (addresses & np.uint64(2**32 - 1)) // np.uint64(self._rows_per_zone)
        keys = (addresses >> np.uint64(32) << np.uint64(32)) | zones
        edges = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
        for first, end in itertools.pairwise(edges):
            if end > first:
                self._add(int(keys[first]), values.slice(first, end - first))

    def write(
        self, store: Store, folder: str, *, file_version: str, num_rows: Mapping[int, int]
    ) -> tuple[WrittenFile, ...]:
        """Writes the files of the index.

        num_rows: physical rows by fragment id
        """
        schema = pa.schema(
            [
                ("min", self._type),
                ("max", self._type),
                ("null_count", pa.uint32()),
                ("nan_count", pa.uint32()),
                ("fragment_id", pa.uint64()),
                ("zone_start", pa.uint64()),
                ("zone_length", pa.uint64()),
            ]
        )
        nulls = np.concatenate([np.empty(0, np.uint64), *self._null_rows])
        return (
            writing.write(
                store,
                f"{folder}/{FILE}",
                schema,
                self._batches(schema, num_rows),
                file_version=file_version,
                notes={"rows_per_zone": str(self._rows_per_zone), "null_bitmap": "1"},
                buffers=[row_sets.serialize(nulls)],
            ),
        )

    def _add(self, key: int, values: pa.Array) -> None:
        fragment_id, start = key >> 32, (key & (2**32 - 1)) * self._rows_per_zone
        last = self._zones[-1] if self._zones else None
        if last is None or (last.fragment_id, last.start) != (fragment_id, start):
            last = _Zone(fragment_id, start)
            self._zones.append(last)
        last.nulls += values.null_count
        if pa.types.is_floating(self._type):
            numbers = values.drop_null()
            floats = numbers.to_numpy(zero_copy_only=False)
            is_nan = np.isnan(floats)
            last.nans += int(is_nan.sum())
            last.negative_nans += int((is_nan & np.signbit(floats)).sum())
            values = numbers.filter(pa.array(~is_nan))
        least, greatest = bounds(values)
        last.least = _lesser(last.least, least)
        last.greatest = _greater(last.greatest, greatest)

    def _batches(self, schema: pa.Schema, num_rows: Mapping[int, int]) -> Iterator[pa.RecordBatch]:
        for first in range(0, len(self._zones), 1 << 16):
            zones = self._zones[first : first + (1 << 16)]
            pairs = [_bounds_for_readers(zone, self._type) for zone in zones]
            ends = [min(zone.start + self._rows_per_zone, num_rows[zone.fragment_id]) for zone in zones]
            columns = [
                pa.array([least for least, _ in pairs], self._type),
                pa.array([greatest for _, greatest in pairs], self._type),
                pa.array([zone.nulls for zone in zones], pa.uint32()),
                pa.array([zone.nans for zone in zones], pa.uint32()),
                pa.array([zone.fragment_id for zone in zones], pa.uint64()),
                pa.array([zone.start for zone in zones], pa.uint64()),
                pa.array([end - zone.start for zone, end in zip(zones, ends, strict=True)], pa.uint64()),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def bounds(values: pa.Array) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    """The smallest and the greatest value that is not NULL; None without any.

    values: without NaN
    """
    if values.null_count == len(values):
        return None, None
    keys = order.keys(values) if not pa.types.is_floating(values.type) else values
    if pa.types.is_float16(values.type):
        keys = values.cast(pa.float32())
    found = pc.min_max(keys)
    return tuple(_value(found[name], values.type) for name in ("min", "max"))


def _value(key: pa.Scalar, type: pa.DataType) -> pa.Scalar:
    array = pa.array([key], key.type)
    if pa.types.is_floating(type) or pa.types.is_boolean(type):
        return array.cast(type)[0]
    return (array if array.type == type else array.view(type))[0]


def _lesser(one: pa.Scalar | None, other: pa.Scalar | None) -> pa.Scalar | None:
    if one is None or other is None:
        return one if other is None else other
    return bounds(pa.array([one, other], one.type))[0]


def _greater(one: pa.Scalar | None, other: pa.Scalar | None) -> pa.Scalar | None:
    if one is None or other is None:
        return one if other is None else other
    return bounds(pa.array([one, other], one.type))[1]


def _bounds_for_readers(zone: _Zone, type: pa.DataType) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    if not pa.types.is_floating(type):
        return zone.least, zone.greatest
    infinity, nan, zero = (np.array([number], type.to_pandas_dtype()) for number in (np.inf, np.nan, 0.0))
    least, greatest = zone.least, zone.greatest
    if least is not None and least.as_py() == 0:
        least = _scalar(-zero, type)
    if greatest is not None and greatest.as_py() == 0:
        greatest = _scalar(zero, type)
    if zone.negative_nans:
        least = _scalar(-infinity, type)
        greatest = greatest or least
    if zone.nans > zone.negative_nans:
        least = least or _scalar(infinity, type)
        greatest = _scalar(nan, type)
    return least, greatest


def _scalar(value: npt.NDArray[np.floating], type: pa.DataType) -> pa.Scalar:
    return pa.array(value, type)[0]
