"""Detection of pages with a single value."""

import numpy as np

from lance_sql.format.encodings import variable
from lance_sql.format.encodings.blocks import Block, FixedWidth, VariableWidth
from lance_sql.values.arrays import I64, U8, BoolMask

_TRIALS = 16
_COMPARED_BYTES = 1 << 20


def scalar_of(values: Block, nulls: BoolMask | None) -> tuple[bytes, ...] | None:
    """Returns the only value that is not NULL, as the Arrow buffers of an array of it, or None if values differ.

    nulls: marks slots whose content is ignored; at least one slot is not marked
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


def _bit(values: FixedWidth, nulls: BoolMask | None) -> tuple[bytes, ...] | None:
    packed = np.frombuffer(values.data, np.uint8)
    trials = _trials(values.num_values, nulls)
    first = int(packed[trials[0] // 8] >> trials[0] % 8 & 1)
    if ((packed[trials // 8] >> trials % 8 & 1) != first).any():
        return None
    bits = np.unpackbits(packed, count=values.num_values, bitorder="little")
    if nulls is not None:
        bits = bits[~nulls]
    return (bytes([first]),) if (bits == first).all() else None


def _bytes(values: FixedWidth, nulls: BoolMask | None) -> tuple[bytes, ...] | None:
    table = np.frombuffer(values.data, np.uint8).reshape(values.num_values, values.bits_per_value // 8)
    if nulls is None:
        if table[0].tobytes() != table[-1].tobytes():
            return None
        if len(table) == 1:
            return (table.tobytes(),)
    trials = _trials(values.num_values, nulls)
    first = table[trials[0]]
    if (table[trials] != first).any():
        return None
    if nulls is not None:
        table = table[~nulls]
    # compares each with the one before it: long arrays instead of short rows
    raw, width = table.reshape(-1), table.shape[1]
    return (first.tobytes(),) if (raw[width:] == raw[:-width]).all() else None


def _string(values: VariableWidth, nulls: BoolMask | None) -> tuple[bytes, ...] | None:
    raw = memoryview(values.data)
    bounds = variable.bounds_of(values)
    if values.num_values == 1:
        first = bytes(raw[bounds[0] : bounds[1]])
    else:
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
        if not _are_all(np.frombuffer(values.data, np.uint8), starts, np.frombuffer(first, np.uint8)):
            return None
    return (np.array([0, len(first)], f"<i{values.offset_bits // 8}").tobytes(), first)


def _are_all(data: U8, starts: I64, value: U8) -> bool:
    """Whether the bytes at each of `starts` are equal to those of `value`.

    Compares pieces of bounded size, so that the number of steps depends only on the number of bytes.
    """
    if not len(value):
        return True
    candidates = np.lib.stride_tricks.sliding_window_view(data, len(value))
    step = max(_COMPARED_BYTES // len(value), 1)
    return all((candidates[starts[i : i + step]] == value).all() for i in range(0, len(starts), step))


def _trials(count: int, nulls: BoolMask | None) -> I64:
    """Returns a few slots that are not NULL, spread over the page."""
    if nulls is None:
        return np.arange(_TRIALS) * (count - 1) // (_TRIALS - 1)
    slots = np.flatnonzero(~nulls)
    return slots[np.arange(_TRIALS) * (len(slots) - 1) // (_TRIALS - 1)]
