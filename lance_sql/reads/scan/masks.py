"""Filter results as masks, flags and row ranges."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import bitmap_and
from lance_sql.values.arrays import U8
from lance_sql.values.row_ranges import RowRanges


def to_flags(mask: pa.BooleanArray) -> U8:
    """Converts a mask to a byte for each row: 1 where it is true; 0 where it is false or NULL."""
    validity, values = mask.buffers()
    if mask.null_count:
        values = bitmap_and(values, validity, mask.offset + len(mask))
    bits = np.unpackbits(np.frombuffer(values, np.uint8), count=mask.offset + len(mask), bitorder="little")
    return bits[mask.offset :]


def num_runs(mask: pa.BooleanArray) -> int:
    """Counts the runs of rows where the mask is true."""
    flags = to_flags(mask)
    return int(flags[0]) + int(np.count_nonzero(flags[1:] > flags[:-1]))


def true_ranges(mask: pa.BooleanArray) -> RowRanges:
    """Returns the positions where the mask is true; false and NULL do not count."""
    validity, values = mask.buffers()
    if mask.null_count:
        values = bitmap_and(values, validity, mask.offset + len(mask))
    ranges: RowRanges = _kernels.mask_to_ranges(values, mask.offset, len(mask))
    return ranges
