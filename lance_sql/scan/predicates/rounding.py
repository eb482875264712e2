"""Integers and decimals in floating point, as SQL casts them: the nearest number.

Arrow's cast of decimals is no such cast: it multiplies by a rounded power of ten, and one in three decimals with four
digits after the point becomes a neighbour of the number that its text stands for.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Kind: TypeAlias = type[np.float32] | type[np.float64]

_EXACT_INTEGER: Final = 1 << 53
"""Up to here every integer is a double."""

_EXACT_SCALE: Final = 22
"""Up to here every power of ten is a double."""


def nearest(number: int | Decimal, kind: Kind) -> np.float32 | np.float64:
    """A number as a value of a floating-point type; too large a one is infinite."""
    with np.errstate(over="ignore"):
        if isinstance(number, Decimal):
            double = float(number)
            return np.float64(double) if kind is np.float64 else _single(double, number)
        if -(1 << 63) <= number < 1 << 63:
            return kind(np.int64(number))
        try:
            return kind(float(number))
        except OverflowError:
            return kind(np.inf if number > 0 else -np.inf)


def scaled(unscaled: int, scale: int, kind: Kind) -> np.float32 | np.float64:
    """`unscaled` / 10**`scale` for a decimal of SQL; it never falls when `unscaled` rises."""
    if scale == 0:
        return nearest(unscaled, kind)
    double = unscaled / 10**scale
    return np.float64(double) if kind is np.float64 else _single(double, Fraction(unscaled, 10**scale))


def _single(double: float, exact: Fraction | Decimal) -> np.float32:
    """The nearest single, of which the nearest double does not always tell."""
    single = np.float32(double)
    if not np.isfinite(single) or abs(double) < _LEAST:
        return single
    exact = Fraction(exact)
    if exact == double:
        return single
    near = (single, np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf)))
    return min(near, key=lambda candidate: abs(Fraction(float(candidate)) - exact))


_LEAST: Final = 2.0**-150
"""What is below it is zero as a single, and its digits may be many."""


def cast_decimals(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Decimals of any width as an array of float32 or float64; NULL stays NULL."""
    kind = np.float32 if target.bit_width == 32 else np.float64
    doubles, exact = _quotients(array)
    numbers = doubles.astype(kind)
    if kind is np.float32:
        # a double in the middle between two singles does not tell which of them is nearer
        exact &= doubles.view(np.uint64) & _SINGLE_REST != _SINGLE_HALF
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(~(exact | is_null)):
        numbers[row] = nearest(array[int(row)].as_py(), kind)
    return pa.array(numbers, target, mask=is_null)


_SINGLE_REST: Final = np.uint64((1 << 29) - 1)
_SINGLE_HALF: Final = np.uint64(1 << 28)
"""The bits of a double that a single does not have, and their first."""


def _quotients(array: pa.Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Each decimal as a quotient of two doubles, and whether both are exact."""
    scale = array.type.scale
    if not pa.types.is_decimal128(array.type) or not 0 <= scale <= _EXACT_SCALE:
        return np.zeros(len(array)), np.zeros(len(array), np.bool_)
    halves = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low, high = halves[:, 0], halves[:, 1]
    exact = (high == low >> 63) & (low >= -_EXACT_INTEGER) & (low <= _EXACT_INTEGER)
    return low / np.float64(10.0**scale), exact
