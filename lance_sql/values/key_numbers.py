"""Keys as numbers: one for each distinct key, over the rows of one table or of several.

Values are equal as `equal_values` has it, but -0.0 is 0.0 and every NaN is one. The parts of a key have the same types
on all sides: see `format.casts.common_type`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql.values.arrays import I64


def numbered(sides: Sequence[Sequence[pa.Array]], *, nulls_are_equal: bool) -> list[I64]:
    """A number for each row of each side.

    sides: the key columns of each, which are not nested
    nulls_are_equal: NULL is a value like others; otherwise a key with a NULL in it is like no other
    """
    lengths = [len(side[0]) for side in sides]
    total = sum(lengths)
    numbers = np.zeros(total, np.int64)
    is_null = np.zeros(total, np.bool_)
    for column in zip(*sides, strict=True):
        together = pa.concat_arrays([plain_values(array) for array in column])
        if together.null_count:
            is_null |= together.is_null().to_numpy(zero_copy_only=False)
        encoded = together.dictionary_encode()
        count = len(encoded.dictionary)
        indices = encoded.indices.cast(pa.int64()).fill_null(count).to_numpy()
        # numbers are below the number of rows, and so is the count: no product overflows before 2^31 rows are held
        _, numbers = np.unique(numbers * (count + 1) + indices, return_inverse=True)
    numbers = numbers.astype(np.int64)
    if not nulls_are_equal:
        numbers[is_null] = total + np.arange(int(is_null.sum()))
    return list(np.split(numbers, np.cumsum(lengths)[:-1]))


def number(keys: pa.Table, *, nulls_are_equal: bool) -> I64:
    """A number for each row of one table."""
    columns = [
        pa.concat_arrays([plain_values(chunk) for chunk in column.chunks] or [plain_values(pa.nulls(0, column.type))])
        for column in keys.columns
    ]
    (numbers,) = numbered([columns], nulls_are_equal=nulls_are_equal)
    return numbers


def plain_values(array: pa.Array) -> pa.Array:
    """Values that Arrow ranks, and has a dictionary of, with one zero and one NaN."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        import pyarrow.compute as pc

        wide = array.cast(pa.float64())
        nan = pa.scalar(float("nan"), pa.float64())
        return pc.if_else(pc.is_nan(wide), nan, pc.add(wide, 0.0))
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary())
    return array
