"""Conversion between dates, times, timestamps, durations and intervals: exactly, or with an error."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql.values import kinds
from lance_sql.values.arrays import I64


def are_moments(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether `convert` supports values of one type as the other."""
    if pa.types.is_duration(target):
        return bool(pa.types.is_duration(source) or pa.types.is_interval(source))
    if pa.types.is_time(target):
        return bool(pa.types.is_time(source) or pa.types.is_timestamp(source))
    return kinds.has_date(target) and kinds.has_date(source)


def convert(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts times to another unit, and timestamps also to the day or the time of day in the zone of the column.

    raises: pa.ArrowInvalid for a time out of range, or between two of the units, and for intervals of months
    """
    import pyarrow.compute as pc

    source = array.type
    if pa.types.is_timestamp(source) and pa.types.is_timestamp(target) and source.unit == target.unit:
        # the same counts in any zone
        return array.cast(target)
    loses_zone = pa.types.is_timestamp(source) and source.tz is not None and not pa.types.is_timestamp(target)
    if loses_zone:
        array = pc.local_timestamp(array)
    wanted, width = _unit(target), np.int32 if target.bit_width == 32 else np.int64
    counts, unit = (_lengths(array, wanted), wanted) if pa.types.is_interval(source) else _counts(array)
    if pa.types.is_timestamp(source) and not pa.types.is_timestamp(target):
        # a time before the epoch belongs to the day before
        days, of_day = np.divmod(counts, kinds.NANOSECONDS_PER_DAY // unit)
        counts, unit = (of_day, unit) if pa.types.is_time(target) else (days, kinds.NANOSECONDS_PER_DAY)
    if unit >= wanted:
        factor = unit // wanted
        limits = np.iinfo(width)
        if ((counts > limits.max // factor) | (counts < -(-int(limits.min) // factor))).any():
            raise pa.ArrowInvalid(f"a time is out of the range of {target}")
        counts = counts * factor
    else:
        counts, rest = np.divmod(counts, wanted // unit)
        if rest.any():
            raise pa.ArrowInvalid(f"a time is not a whole number of units of {target}")
        if ((counts > np.iinfo(width).max) | (counts < np.iinfo(width).min)).any():
            raise pa.ArrowInvalid(f"a time is out of the range of {target}")
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(counts.astype(width), mask=mask).view(target)


def _unit(type: pa.DataType) -> int:
    """Returns the unit in nanoseconds."""
    if pa.types.is_date(type):
        return kinds.NANOSECONDS_PER_DAY if pa.types.is_date32(type) else kinds.NANOSECONDS["ms"]
    return kinds.NANOSECONDS[type.unit]


def _counts(array: pa.Array) -> tuple[I64, int]:
    """Returns each value as a number of units, 0 for NULL, and the unit."""
    storage = pa.int32() if array.type.bit_width == 32 else pa.int64()
    return array.view(storage).fill_null(0).to_numpy().astype(np.int64), _unit(array.type)


def _lengths(array: pa.Array, unit: int) -> I64:
    """Returns the lengths of intervals in units of some nanoseconds; a day has 24 hours, as in comparisons of SQL."""
    parts = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
    values = np.frombuffer(array.buffers()[1], parts)[array.offset : array.offset + len(array)]
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    values = np.where(valid, values, np.zeros((), parts))
    if values["months"].any():
        raise pa.ArrowInvalid("an interval of months has no fixed length")
    days = values["days"].astype(np.int64)
    rest, below = np.divmod(values["nanoseconds"], unit)
    if below.any():
        raise pa.ArrowInvalid("an interval is not a whole number of units")
    whole_days = days * (kinds.NANOSECONDS_PER_DAY // unit)
    total = whole_days + rest
    # detects overflow of the product or the sum by reversing it
    if (whole_days // (kinds.NANOSECONDS_PER_DAY // unit) != days).any() or (
        (whole_days ^ total) & (rest ^ total) < 0
    ).any():
        raise pa.ArrowInvalid("an interval is out of range")
    lengths: I64 = total
    return lengths
