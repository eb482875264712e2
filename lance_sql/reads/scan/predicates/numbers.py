"""NumPy comparisons of numbers, dates and times, which are much faster than Arrow's for a few thousand values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.values import kinds
from lance_sql.values.arrays import BoolMask

from .tree import COMPARISONS


def numbers(array: pa.Array) -> npt.NDArray[np.generic] | None:
    """Returns the stored values, without a copy; None if one is NULL, and for other types."""
    dtype = _dtype(array.type)
    if dtype is None or array.null_count:
        return None
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def integers(array: pa.Array) -> npt.NDArray[np.generic] | None:
    """Returns the values like `numbers`, for types with one order, without NaN; None for others."""
    values = numbers(array)
    return None if values is None or values.dtype.kind == "f" else values


def compared(op: str, values: npt.NDArray[np.generic], value: int | float) -> BoolMask:
    """Computes `values op value`, by IEEE 754 for floats."""
    answers: BoolMask = COMPARISONS[op](values, value)
    return answers


def _dtype(type: pa.DataType) -> np.dtype[np.generic] | None:
    if pa.types.is_float32(type) or pa.types.is_float64(type):
        return np.dtype(f"f{type.bit_width // 8}")
    if pa.types.is_unsigned_integer(type):
        return np.dtype(f"u{type.bit_width // 8}")
    if pa.types.is_signed_integer(type) or kinds.is_clock(type):
        return np.dtype(f"i{type.bit_width // 8}")
    return None
