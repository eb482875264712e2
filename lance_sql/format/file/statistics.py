"""Statistics of the pages of a column, available without reading the values: they describe the values as read."""

from dataclasses import dataclass

import pyarrow as pa

from lance_sql.values.arrays import I64


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
