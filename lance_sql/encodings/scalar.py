"""Pages of one value: finding out that all values are the same."""

import numpy as np
import numpy.typing as npt

from lance_sql.encodings import variable
from lance_sql.encodings.blocks import Block, FixedWidth, VariableWidth

_TRIALS = 16


def scalar_of(values: Block, nulls: npt.NDArray[np.bool_] | None) -> tuple[bytes, ...] | None:
    """The one value that all which are not NULL have, as the Arrow buffers of an array of it; None where they differ.

    nulls: marks slots whose content does not count; at least one does
    """
    match values:
        case FixedWidth(bits_per_value=1):
            return _bit(values, nulls)
        case FixedWidth() if values.bits_per_value % 8 == 0:
            return _bytes(values, nulls)
        case VariableWidth():
            return _string(values, nulls)
        case _:
            return None


def _bit(values: FixedWidth, nulls: npt.NDArray[np.bool_] | None) -> tuple[bytes, ...] | None:
    bits = np.unpackbits(np.frombuffer(values.data, np.uint8), count=values.num_values, bitorder="little")
    if nulls is not None:
        bits = bits[~nulls]
    first = int(bits[0])
    return (bytes([first]),) if (bits == first).all() else None


def _bytes(values: FixedWidth, nulls: npt.NDArray[np.bool_] | None) -> tuple[bytes, ...] | None:
    table = np.frombuffer(values.data, np.uint8).reshape(values.num_values, values.bits_per_value // 8)
    first = table[_trials(values.num_values, nulls)[0]]
    if (table[_trials(values.num_values, nulls)] != first).any():
        return None
    if nulls is not None:
        table = table[~nulls]
    return (first.tobytes(),) if (table == first).all() else None


def _string(values: VariableWidth, nulls: npt.NDArray[np.bool_] | None) -> tuple[bytes, ...] | None:
    starts, lengths = variable.starts(values), variable.lengths(values)
    trials = _trials(values.num_values, nulls)
    size = int(lengths[trials[0]])
    if (lengths[trials] != size).any():
        return None
    if nulls is not None:
        starts, lengths = starts[~nulls], lengths[~nulls]
    if (lengths != size).any():
        return None
    data = np.frombuffer(values.data, np.uint8)
    first = data[starts[0] : starts[0] + size]
    # a column of bytes at a time: most pages differ in one of the first
    if any((data[starts + i] != first[i]).any() for i in range(size)):
        return None
    return (np.array([0, size], f"<i{values.offset_bits // 8}").tobytes(), first.tobytes())


def _trials(count: int, nulls: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
    """A few slots whose content counts, from all over the page."""
    slots = np.flatnonzero(~nulls) if nulls is not None else np.arange(count)
    return slots[np.linspace(0, len(slots) - 1, _TRIALS).astype(np.int64)]
