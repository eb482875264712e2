"""Zone maps: the bounds of the values of each zone.

    min   max   null_count   nan_count   fragment_id   zone_start   zone_length

Source: indices, zone map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature, at
from lance_sql.format.file.statistics import PageStatistics
from lance_sql.format.index_files import zones
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.format.index_files.zones import Zones

FILE: Final = "zonemap.lance"
MAX_BYTES: Final = 256 << 20
"""Larger zone maps are not read, because the whole zone map is cached."""


@dataclass(frozen=True, slots=True)
class ZoneMap:
    """The statistics of the values of each zone.

    type: of the bounds in the file
    """

    zones: Zones
    statistics: PageStatistics
    type: pa.DataType
    num_bytes: int


def read(file: IndexFile) -> ZoneMap:
    """Reads the zone map in a file.

    raises: CorruptFile; UnsupportedFeature for one that is too large
    """
    return file.once(ZoneMap, lambda: _read(file))


def _read(file: IndexFile) -> ZoneMap:
    with at(file=file.path):
        if file.num_rows * (file.row_bytes(["min", "max"]) + 40) > MAX_BYTES:
            raise UnsupportedFeature(f"a zone map of {file.num_rows} zones is not supported")
    file_zones = zones.read(file)
    mins, maxs, null_counts, nan_counts = file.read(["min", "max", "null_count", "nan_count"])
    type = mins.type
    with at(file=file.path):
        if maxs.type != type:
            raise CorruptFile(f"minima of type {type}, maxima of {maxs.type}")
        nulls = null_counts.cast(pa.int64())
        nans = nan_counts.cast(pa.int64())
        if pa.types.is_nested(type):
            # the bounds of a struct are placeholders
            mins = maxs = pa.nulls(file.num_rows, type)
        elif pa.types.is_floating(type):
            mins, maxs = _without_nan(mins), _without_nan(maxs)
        num_values = pa.array(file_zones.ends - file_zones.starts)
    # copies, because these arrays may be in the mapping of the file
    statistics = PageStatistics(num_values, nulls, mins, maxs, nan_counts=nans).take(np.arange(file.num_rows))
    size = file_zones.num_bytes + mins.nbytes + maxs.nbytes + 32 * file.num_rows
    return ZoneMap(file_zones, statistics, type, size)


def _without_nan(bounds: pa.Array) -> pa.Array:
    """Removes NaN maximums. They only mark zones with a NaN, which `nan_counts` does as well."""
    values = bounds.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return bounds.take(pa.array(np.arange(len(bounds)), mask=np.isnan(values)))
