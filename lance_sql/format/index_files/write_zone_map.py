"""Building of a zone map, from rows in order.

    fragment   | zone 0            | zone 1            |     rows_per_zone physical rows each, including deleted ones

Bounds are valid for readers that order floats by their bits, as pylance 14 does, and for those that handle NaN: a zone
with a NaN gets NaN as its maximum, one with a negative NaN -inf as its minimum. The zeros are equal, so that a zero
bound becomes the wider one.

Source: indices, zone map; writing indices.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql import _kernels
from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.file.zone_statistics import Numbers, key_kind, key_values
from lance_sql.format.index_files import order, row_sets, writing
from lance_sql.format.index_files.zone_map import FILE
from lance_sql.store import Store
from lance_sql.values.arrays import I64, U64

ROWS_PER_ZONE: Final = 8192


_FRAGMENT_SHIFT: Final = np.uint64(32)
_OFFSETS: Final = np.uint64(2**32 - 1)


class ZoneMapBuilder:
    """Takes the values of the live rows of some fragments, in the order of their addresses."""

    def __init__(self, type: pa.DataType, *, rows_per_zone: int = ROWS_PER_ZONE) -> None:
        """
        raises: UnsupportedFeature for types without bounds
        """
        order.check(type)
        self._type = type
        self._rows_per_zone = rows_per_zone
        self._zones = _NumberZones(type) if _NumberZones.are_possible(type) else _ValueZones(type)
        self._null_rows: list[U64] = []

    def add(self, values: pa.Array, addresses: U64) -> None:
        """Adds rows.

        addresses: ascending over all calls
        """
        if values.null_count:
            self._null_rows.append(addresses[values.is_null().to_numpy(zero_copy_only=False)])
        if len(values):
            self._zones.add(values, *self._cut(addresses))

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
        keys, zone_columns = self._zones.finish()
        fragment_ids = keys >> _FRAGMENT_SHIFT
        starts = (keys & _OFFSETS) * np.uint64(self._rows_per_zone)
        rows = np.array([num_rows[number] for number in fragment_ids.tolist()], np.uint64)
        lengths = np.minimum(np.uint64(self._rows_per_zone), rows - starts)
        columns = [*zone_columns, pa.array(fragment_ids), pa.array(starts), pa.array(lengths)]
        return (
            writing.write(
                store,
                f"{folder}/{FILE}",
                schema,
                [pa.RecordBatch.from_arrays(columns, schema=schema)] if len(keys) else (),
                file_version=file_version,
                notes={"rows_per_zone": str(self._rows_per_zone), "null_bitmap": "1"},
                buffers=[row_sets.serialize(nulls)],
            ),
        )

    def _cut(self, addresses: U64) -> tuple[U64, I64]:
        """Returns the zones of some rows, as fragment id << 32 | number, and the start and end of each zone's rows."""
        first, last = int(addresses[0]), int(addresses[-1])
        if first >> 32 == last >> 32:
            above = first >> 32 << 32
            zones = np.arange((first - above) // self._rows_per_zone, (last - above) // self._rows_per_zone + 1)
            starts = (zones * self._rows_per_zone).astype(np.uint64) + np.uint64(above)
            edges = np.append(np.searchsorted(addresses, starts), len(addresses))
            keys = zones.astype(np.uint64) + np.uint64(above)
        else:
            zone_keys = (addresses & _OFFSETS) // np.uint64(self._rows_per_zone)
            zone_keys += addresses >> _FRAGMENT_SHIFT << _FRAGMENT_SHIFT
            edges = np.concatenate(([0], np.flatnonzero(zone_keys[1:] != zone_keys[:-1]) + 1, [len(zone_keys)]))
            keys = zone_keys[edges[:-1]]
        filled = edges[1:] > edges[:-1]
        return keys[filled], np.append(edges[:-1][filled], len(addresses)).astype(np.int64)


class _NumberZones:
    """The bounds of numbers and times, computed by the kernels."""

    def __init__(self, type: pa.DataType) -> None:
        kind = key_kind(type)
        assert kind is not None
        self._type = type
        self._kind = kind
        self._keys: list[U64] = []
        self._bounds: list[Numbers] = []

    @staticmethod
    def are_possible(type: pa.DataType) -> bool:
        """Whether the keys of the type represent its values fully."""
        kind = key_kind(type)
        return kind is not None and not kind.is_prefix and kind.num_bits <= 64

    def add(self, values: pa.Array, keys: U64, edges: I64) -> None:
        """Adds the values of some zones, the first of which may continue an earlier one.

        edges: start of each zone, then end of the last one: int64[zones + 1]
        """
        kind = self._kind
        validity, stored = values.buffers()
        run_bounds = _kernels.bound_runs(
            kind.order, kind.num_bits, stored, validity if values.null_count else None, values.offset, edges
        )
        negative = np.zeros(len(keys), np.int64)
        for zone in np.flatnonzero(run_bounds[:, 3]).tolist():
            part = values.slice(int(edges[zone]), int(edges[zone + 1] - edges[zone])).drop_null().to_numpy()
            negative[zone] = (np.isnan(part) & np.signbit(part)).sum()
        self._keys.append(keys)
        self._bounds.append(np.column_stack((run_bounds, np.diff(edges), negative)))

    def finish(self) -> tuple[U64, list[pa.Array]]:
        """Returns the zones, with the bounds and the numbers of NULLs and NaN of each."""
        if not self._keys:
            return np.empty(0, np.uint64), []
        keys, numbers = np.concatenate(self._keys), np.concatenate(self._bounds)
        firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        lows, highs = (np.ascontiguousarray(numbers[:, column]).view(np.uint64) for column in (0, 1))
        bounds = np.minimum.reduceat(lows, firsts), np.maximum.reduceat(highs, firsts)
        num_valid, num_nans, num_rows, num_negative = np.add.reduceat(numbers[:, 2:], firsts, axis=0).T
        least, greatest = key_values(*bounds, num_valid > num_nans, self._kind, self._type)
        if pa.types.is_floating(self._type):
            least, greatest = _floats_for_readers(least, greatest, num_nans, num_negative)
        counts = [pa.array(each.astype(np.uint32)) for each in (num_rows - num_valid, num_nans)]
        return keys[firsts], [least, greatest, *counts]


@dataclass(slots=True)
class _Zone:
    """The statistics of a zone so far; bounds as scalars, None without a value."""

    key: int
    least: pa.Scalar | None = None
    greatest: pa.Scalar | None = None
    nulls: int = 0
    nans: int = 0
    negative_nans: int = 0


class _ValueZones:
    """The bounds of all other values, computed by Arrow; with the members of `_NumberZones`."""

    def __init__(self, type: pa.DataType) -> None:
        self._type = type
        self._zones: list[_Zone] = []

    def add(self, values: pa.Array, keys: U64, edges: I64) -> None:
        for key, (first, end) in zip(keys.tolist(), itertools.pairwise(edges.tolist()), strict=True):
            self._add(key, values.slice(first, end - first))

    def _add(self, key: int, values: pa.Array) -> None:
        last = self._zones[-1] if self._zones else None
        if last is None or last.key != key:
            last = _Zone(key)
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

    def finish(self) -> tuple[U64, list[pa.Array]]:
        zones = self._zones
        least = pa.array([zone.least for zone in zones], self._type)
        greatest = pa.array([zone.greatest for zone in zones], self._type)
        counted = np.array([(each.nulls, each.nans, each.negative_nans) for each in zones], np.int64)
        nulls, nans, negative = counted.reshape(-1, 3).T
        if pa.types.is_floating(self._type):
            least, greatest = _floats_for_readers(least, greatest, nans, negative)
        counts = [pa.array(each, pa.uint32()) for each in (nulls, nans)]
        return np.array([zone.key for zone in zones], np.uint64), [least, greatest, *counts]


def bounds(values: pa.Array) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    """Returns the smallest and the greatest value that is not NULL; None without any.

    values: without NaN
    """
    if values.null_count == len(values):
        return None, None
    keys = order.keys(values) if not pa.types.is_floating(values.type) else values
    if pa.types.is_float16(values.type):
        keys = values.cast(pa.float32())
    extremes = pc.min_max(keys)
    return tuple(_value(extremes[name], values.type) for name in ("min", "max"))


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


def _floats_for_readers(
    least: pa.Array, greatest: pa.Array, nans: I64, negative_nans: I64
) -> tuple[pa.Array, pa.Array]:
    """Extends bounds of numbers by NaN, for readers of both kinds; see the module."""
    type = least.type
    has_numbers = least.is_valid().to_numpy(zero_copy_only=False)
    dtype = type.to_pandas_dtype()
    lows, highs = (np.where(has_numbers, _filled(each), dtype(0)) for each in (least, greatest))
    lows, highs = np.where(lows == 0, dtype(-0.0), lows), np.where(highs == 0, dtype(0.0), highs)
    has_negative, has_positive = negative_nans > 0, nans > negative_nans
    # without a number the other bound is that of the NaN alone
    highs = np.where(has_negative & ~has_numbers, dtype(-np.inf), highs)
    lows = np.where(has_positive & ~has_numbers, dtype(np.inf), lows)
    lows = np.where(has_negative, dtype(-np.inf), lows)
    highs = np.where(has_positive, dtype(np.nan), highs)
    mask = ~(has_numbers | has_negative | has_positive)
    return pa.array(lows.astype(dtype), type, mask=mask), pa.array(highs.astype(dtype), type, mask=mask)


def _filled(bounds: pa.Array) -> npt.NDArray[np.floating]:
    """Fills missing bounds with an arbitrary number."""
    numbers: npt.NDArray[np.floating] = bounds.to_numpy(zero_copy_only=False)
    return numbers
