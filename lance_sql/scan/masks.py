"""Answers of a filter as row ranges."""

import pyarrow as pa

from lance_sql import _kernels
from lance_sql.encodings.blocks import bitmap_and
from lance_sql.row_ranges import RowRanges


def true_ranges(mask: pa.BooleanArray) -> RowRanges:
    """The positions where the mask is true; false and NULL do not count."""
    validity, values = mask.buffers()
    if mask.null_count:
        values = bitmap_and(values, validity, mask.offset + len(mask))
    ranges: RowRanges = _kernels.mask_to_ranges(values, mask.offset, len(mask))
    return ranges
