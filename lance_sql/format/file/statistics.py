"""Statistics of the pages of a column, available without reading the values.

They describe the values as read, which can differ from those written: version 0.1 stores no NULLs of fixed width, so
that the page of [1, NULL, 3] reads as [1, 0, 3] despite a minimum of 1. In such cases, statistics are unknown.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql.values.arrays import I64, BoolMask


@dataclass(frozen=True, slots=True)
class PageStatistics:
    """One entry for each page; NULL means unknown.

    num_values: int64
    null_counts: int64
    mins, maxs: of the column's type; every value that is neither NULL nor NaN lies between them, both ends included.
        They need not be values of the page.
    nan_counts: int64; None if unknown
    """

    num_values: pa.Array
    null_counts: pa.Array
    mins: pa.Array
    maxs: pa.Array
    nan_counts: pa.Array | None = None

    def take(self, pages: I64) -> "PageStatistics":
        """Returns the entries of these pages, in this order, with repetitions."""
        index = pa.array(pages)
        return PageStatistics(
            self.num_values.take(index),
            self.null_counts.take(index),
            self.mins.take(index),
            self.maxs.take(index),
            None if self.nan_counts is None else self.nan_counts.take(index),
        )


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
