"""Casts of numbers to floating point like in SQL: the nearest value, rounded once, with ties to even.

Arrow's casts do not do that for numbers with more digits than the target. They multiply decimals by a rounded power of
ten, so that one in three with four digits after the point becomes a neighbor of the correct number. They also cast text
to halves through singles.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.values import kinds
from lance_sql.values.arrays import BoolMask

Kind: TypeAlias = type[np.float32] | type[np.float64]

_EXACT_INTEGER: Final = 1 << 53
"""Every integer up to this is exact as a double."""

_EXACT_SCALE: Final = 22
"""Every power of ten up to this is exact as a double."""


def nearest(number: int | Decimal, kind: Kind) -> np.float32 | np.float64:
    """Rounds a number to a floating-point type; a too large one becomes infinite."""
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
    """Returns `unscaled` / 10**`scale` for a decimal of SQL. The result is monotonic in `unscaled`."""
    if scale == 0:
        return nearest(unscaled, kind)
    double = unscaled / 10**scale
    return np.float64(double) if kind is np.float64 else _single(double, Fraction(unscaled, 10**scale))


def _single(double: float, exact: Fraction | Decimal) -> np.float32:
    """Returns the nearest single, which the nearest double does not always determine."""
    single = np.float32(double)
    if not np.isfinite(single) or abs(double) < _LEAST:
        return single
    exact = Fraction(exact)
    if exact == double:
        return single
    near = (single, np.nextafter(single, np.float32(-np.inf)), np.nextafter(single, np.float32(np.inf)))
    return min(near, key=lambda candidate: abs(Fraction(float(candidate)) - exact))


_LEAST: Final = 2.0**-150
"""Numbers below this are zero as singles, and may have many digits."""


def to_float(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts numbers, or numeric text, to the nearest values of a floating-point type; NULL stays NULL.

    raises: pa.ArrowInvalid for text that is not a number; pa.ArrowNotImplementedError for other types
    """
    source = array.type
    if pa.types.is_decimal(source):
        return _narrowed(array, target) if pa.types.is_float16(target) else cast_decimals(array, target)
    if kinds.is_text(source):
        array = array.cast(pa.large_string())
        return _narrowed(array, target) if pa.types.is_float16(target) else array.cast(target)
    if pa.types.is_boolean(source):
        array = array.cast(pa.uint8())
    return array.cast(target, safe=False)


def cast_decimals(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts decimals of any width to float32 or float64; NULL stays NULL."""
    if array.type.bit_width < 128:
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    kind = np.float32 if target.bit_width == 32 else np.float64
    doubles, exact = _quotients(array)
    numbers = doubles.astype(kind)
    if kind is np.float32:
        # a double halfway between two singles does not determine the nearer one
        exact &= doubles.view(np.uint64) & _SINGLE_REST != _SINGLE_HALF
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    others = np.flatnonzero(~(exact | is_null))
    if len(others):
        # Arrow parses text exactly
        numbers[others] = array.take(pa.array(others)).cast(pa.string()).cast(target).to_numpy()
    return pa.array(numbers, target, mask=is_null)


_SINGLE_REST: Final = np.uint64((1 << 29) - 1)
_SINGLE_HALF: Final = np.uint64(1 << 28)
"""Masks of the double bits that a single lacks, and of the first of them."""


def _quotients(array: pa.Array) -> tuple[npt.NDArray[np.float64], BoolMask]:
    """Returns each decimal as a quotient of two doubles, and whether both are exact."""
    scale = array.type.scale
    if not pa.types.is_decimal128(array.type) or not 0 <= scale <= _EXACT_SCALE:
        return np.zeros(len(array)), np.zeros(len(array), np.bool_)
    halves = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low, high = halves[:, 0], halves[:, 1]
    exact = (high == low >> 63) & (low >= -_EXACT_INTEGER) & (low <= _EXACT_INTEGER)
    return low / np.float64(10.0**scale), exact


def _narrowed(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts decimals or text to halves through doubles, which is exact except halfway between two halves."""
    doubles = to_float(array, pa.float64())
    halves = doubles.cast(target)
    numbers = doubles.fill_null(0).to_numpy()
    with np.errstate(over="ignore"):
        below, above = (np.nextafter(numbers, end).astype(np.float16) for end in (-np.inf, np.inf))
    middle = np.flatnonzero((below != above) & np.isfinite(numbers))
    if not len(middle):
        return halves
    narrowed = halves.fill_null(pa.scalar(0.0, target)).to_numpy().copy()
    for row in middle:
        value = array[int(row)].as_py()
        exact = None if value is None else Fraction(value)
        if exact is not None and exact != Fraction(float(numbers[row])):
            narrowed[row] = below[row] if exact < Fraction(float(numbers[row])) else above[row]
    return pa.array(narrowed, target, mask=array.is_null().to_numpy(zero_copy_only=False))
