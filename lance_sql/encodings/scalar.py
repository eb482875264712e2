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
    packed = np.frombuffer(values.data, np.uint8)
    trials = _trials(values.num_values, nulls)
    first = int(packed[trials[0] // 8] >> trials[0] % 8 & 1)
    if ((packed[trials // 8] >> trials % 8 & 1) != first).any():
        return None
    bits = np.unpackbits(packed, count=values.num_values, bitorder="little")
    if nulls is not None:
        bits = bits[~nulls]
    return (bytes([first]),) if (bits == first).all() else None


def _bytes(values: FixedWidth, nulls: npt.NDArray[np.bool_] | None) -> tuple[bytes, ...] | None:
    table = np.frombuffer(values.data, np.uint8).reshape(values.num_values, values.bits_per_value // 8)
    trials = _trials(values.num_values, nulls)
    first = table[trials[0]]
    if (table[trials] != first).any():
        return None
    if nulls is not None:
        table = table[~nulls]
    return (first.tobytes(),) if (table == first).all() else None


def _string(values: VariableWidth, nulls: npt.NDArray[np.bool_] | None) -> tuple[bytes, ...] | None:
    raw = memoryview(values.data)
    bounds = variable.bounds_of(values)
    trials = _trials(values.num_values, nulls)
    some = {bytes(raw[bounds[i] : bounds[i + 1]]) for i in trials}
    if len(some) > 1:
        return None
    (first,) = some
    starts, lengths = bounds[:-1], bounds[1:] - bounds[:-1]
    if nulls is not None:
        starts, lengths = starts[~nulls], lengths[~nulls]
    if (lengths != len(first)).any():
        return None
    data = np.frombuffer(values.data, np.uint8)
    if any((data[starts + i] != byte).any() for i, byte in enumerate(first)):
        return None
    return (np.array([0, len(first)], f"<i{values.offset_bits // 8}").tobytes(), first)


def _trials(count: int, nulls: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
    """A few slots whose content counts, from all over the page."""
    if nulls is None:
        return np.linspace(0, count - 1, _TRIALS).astype(np.int64)
    slots = np.flatnonzero(~nulls)
    return slots[np.linspace(0, len(slots) - 1, _TRIALS).astype(np.int64)]
