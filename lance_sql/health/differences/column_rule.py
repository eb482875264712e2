"""Equality of values as tests mean it: by the rules of SQL, within tolerances, without the case or spaces of texts.

Numbers are equal as in SQL: NaN is NaN, -0.0 is 0.0, and an infinity is only near itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.json_texts import as_returned
from lance_sql.format.schema import Field
from lance_sql.values.arrays import BoolMask
from lance_sql.values.equal_values import same


@dataclass(frozen=True)
class ColumnRule:
    """Rule for the values of one column.

    rtol, atol: tolerance of floats, also inside nested values: |actual - expected| <= atol + rtol * |expected|
    json: the column of a table if it has JSON, whose texts are compared as documents
    """

    rtol: float = 0.0
    atol: float = 0.0
    ignores_case: bool = False
    ignores_spaces: bool = False
    json: Field | None = None

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < math.inf:
                raise InvalidArgument(f"{name}={value} is not a number of at least 0")

    @property
    def has_tolerance(self) -> bool:
        return self.rtol > 0.0 or self.atol > 0.0

    def same(self, expected: pa.Array, actual: pa.Array) -> BoolMask:
        """Compares two arrays of one type and length, row by row."""
        return same(self.normalized(expected), self.normalized(actual), self._close)

    def normalized(self, values: pa.Array) -> pa.Array:
        """Returns texts without the ignored case or spaces, and JSON in one form."""
        if self.json is not None:
            values = as_returned(self.json, values)
        if self.ignores_case:
            values = pc.utf8_lower(values)
        if self.ignores_spaces:
            values = pc.utf8_trim_whitespace(pc.replace_substring_regex(values, r"\s+", " "))
        return values

    def _close(self, expected: pa.Array, actual: pa.Array) -> BoolMask:
        wanted, ours = (each.cast(pa.float64()).to_numpy(zero_copy_only=False) for each in (expected, actual))
        equal: BoolMask = (wanted == ours) | (np.isnan(wanted) & np.isnan(ours))
        if self.has_tolerance:
            with np.errstate(invalid="ignore", over="ignore"):
                near = np.abs(ours - wanted) <= self.atol + self.rtol * np.abs(wanted)
            equal |= near & np.isfinite(wanted) & np.isfinite(ours)
        return equal
