"""Types of NumPy arrays that many modules share, the order of their values, and their values as columns."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

BoolMask: TypeAlias = npt.NDArray[np.bool_]
"""A boolean for each row, value or key."""

"""A mask with a byte for each row, 1 or 0, in the form that the kernels fill."""

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
I64: TypeAlias = npt.NDArray[np.int64]
F32: TypeAlias = npt.NDArray[np.float32]


def ascend(values: I64) -> bool:
    """Whether each of the values is at least the one before. Their differences may overflow."""
    return not (values[1:] < values[:-1]).any()


def as_column(values: npt.NDArray[np.generic], type: pa.DataType) -> pa.Array:
    """Returns numbers or times as a column without NULLs, whose values have the width of `type`, without a copy of
    contiguous ones. Unlike `pyarrow.array`, keeps Python's lock."""
    return pa.Array.from_buffers(type, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))], 0)
