"""Statistics that files of version 0.1 store, as those of the values as read.

Both can differ: version 0.1 stores no NULLs of fixed width, so that the page of [1, NULL, 3] reads as [1, 0, 3]
despite a minimum of 1. In such cases, statistics are unknown.
"""

import numpy as np
import pyarrow as pa

from lance_sql.format.file.statistics import PageStatistics
from lance_sql.values.arrays import I64, BoolMask


def of_written(
    num_values: I64, null_counts: pa.Array, mins: pa.Array, maxs: pa.Array, *, nulls_are_kept: bool
) -> PageStatistics:
    """Converts the statistics written into a file of version 0.1 to those of the values as read.

    null_counts: of the arrays given to the writer
    nulls_are_kept: a written NULL reads as NULL
    """
    count = len(num_values)
    known = np.ones(count, np.bool_)
    if not nulls_are_kept:
        known = null_counts.fill_null(1).to_numpy(zero_copy_only=False) == 0
    unknown_nulls = pa.nulls(count, pa.int64())
    return PageStatistics(pa.array(num_values), unknown_nulls, _where(known, mins), _where(known, maxs))


def _where(known: BoolMask, bounds: pa.Array) -> pa.Array:
    """Returns the reliable bounds; NaN is not a bound."""
    usable = known & bounds.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(bounds.type):
        usable &= ~np.isnan(bounds.to_numpy(zero_copy_only=False))
    return bounds.take(pa.array(np.arange(len(bounds)), mask=~usable))
