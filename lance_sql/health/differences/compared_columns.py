"""Columns of two schemas: their changes, and the types for comparing shared ones.

Equality of values as tests mean it: by the rules of SQL, within tolerances, without the case or spaces of texts.

Numbers are equal as in SQL: NaN is NaN, -0.0 is 0.0, and an infinity is only near itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.format.casts.common_type import common_type
from lance_sql.format.casts.json_texts import as_returned
from lance_sql.format.schema import Field
from lance_sql.health.differences.difference import ColumnChange
from lance_sql.values.arrays import BoolMask
from lance_sql.values.equal_values import same


@dataclass(frozen=True)
class SharedColumns:
    """Columns that both tables have.

    before: their names in the first table, by their names in the second
    types: in which they are compared
    not_compared: shared columns whose types have no common type
    """

    before: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    not_compared: tuple[str, ...]


def changes(before: pa.Schema, after: pa.Schema, names_before: Mapping[str, str]) -> tuple[ColumnChange, ...]:
    """Returns the changes of the columns.

    names_before: by name in `after` the name in `before`, for columns that both have
    """
    shared_names = set(names_before.values())
    column_changes = [
        ColumnChange("dropped", field.name, str(field.type), None) for field in before if field.name not in shared_names
    ]
    for field in after:
        if field.name not in names_before:
            column_changes.append(ColumnChange("added", field.name, None, str(field.type)))
            continue
        earlier = before.field(names_before[field.name])
        if earlier.name != field.name:
            column_changes.append(ColumnChange("renamed", field.name, earlier.name, field.name))
        if earlier.type != field.type:
            column_changes.append(ColumnChange("type", field.name, str(earlier.type), str(field.type)))
        if earlier.nullable != field.nullable:
            column_changes.append(ColumnChange("nullable", field.name, _nullable(earlier), _nullable(field)))
    return tuple(column_changes)


def _nullable(field: pa.Field) -> str:
    return "nullable" if field.nullable else "not null"


def shared(before: pa.Schema, after: pa.Schema, names_before: Mapping[str, str]) -> SharedColumns:
    """Returns the shared columns, in types that hold the values of both."""
    types: dict[str, pa.DataType] = {}
    not_compared = []
    for name, earlier in names_before.items():
        common = common_type(before.field(earlier).type, after.field(name).type)
        if common is None:
            not_compared.append(name)
        else:
            types[name] = common
    return SharedColumns({name: names_before[name] for name in types}, types, tuple(not_compared))


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
