"""Filter results as masks, flags and row ranges."""

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import bitmap_and
from lance_sql.values.arrays import U8
from lance_sql.values.row_ranges import RowRanges


def from_flags(flags: U8) -> pa.BooleanArray:
    """Converts flags to a mask that is true where a byte is 1, and false where it is 0."""
    bits = pa.py_buffer(np.packbits(flags, bitorder="little"))
    return pa.BooleanArray.from_buffers(pa.bool_(), len(flags), [None, bits], 0)


def to_flags(mask: pa.BooleanArray) -> U8:
    """Converts a mask to a byte for each row: 1 where it is true; 0 where it is false or NULL."""
    validity, values = mask.buffers()
    if mask.null_count:
        values = bitmap_and(values, validity, mask.offset + len(mask))
    bits = np.unpackbits(np.frombuffer(values, np.uint8), count=mask.offset + len(mask), bitorder="little")
    return bits[mask.offset :]


def num_runs(flags: U8) -> int:
    """Counts the runs of ones."""
    return int(flags[0]) + int(np.count_nonzero(flags[1:] > flags[:-1]))


def both(one: pa.BooleanArray, other: pa.BooleanArray) -> pa.BooleanArray:
    """Returns a mask that is true where both masks are; else false or NULL.

    one: without NULLs
    """
    import pyarrow.compute as pc

    return pc.and_kleene(one, other)


def true_ranges(mask: pa.BooleanArray) -> RowRanges:
    """Returns the positions where the mask is true; false and NULL do not count."""
    validity, values = mask.buffers()
    if mask.null_count:
        values = bitmap_and(values, validity, mask.offset + len(mask))
    ranges: RowRanges = _kernels.mask_to_ranges(values, mask.offset, len(mask))
    return ranges
