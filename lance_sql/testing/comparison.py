"""Comparison of the rows of two tables."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument
from lance_sql.testing.comparable import comparable, hashable
from lance_sql.values import keys
from lance_sql.values.arrays import I64

Positions: TypeAlias = I64


@dataclass(frozen=True)
class Tolerance:
    """Tolerance for floats: |actual - expected| <= atol + rtol * |expected|."""

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < math.inf:
                raise InvalidArgument(f"{name} is {value}; it must be a number of at least 0")

    @property
    def is_exact(self) -> bool:
        return self.rtol == 0.0 == self.atol


@dataclass(frozen=True)
class Differences:
    """Differing rows, by their positions in both tables.

    changed: pairs (actual, expected) of the same row, with the columns that differ
    missing: of the expected table
    unexpected: of the actual table
    """

    changed: Sequence[tuple[int, int, tuple[str, ...]]]
    missing: Sequence[int]
    unexpected: Sequence[int]

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing or self.unexpected)

    @property
    def num_rows(self) -> int:
        """Number of differing rows of either table."""
        return len(self.changed) + len(self.missing) + len(self.unexpected)

    @property
    def columns(self) -> list[str]:
        """Columns in which rows of both tables differ."""
        return list(dict.fromkeys(name for _, _, names in self.changed for name in names))


EXACT = Tolerance()
"""Equal values only."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerance of each column.

    default: of columns that are not named
    """

    default: Tolerance = EXACT
    columns: Mapping[str, Tolerance] = field(default_factory=dict)

    def of(self, column: str) -> Tolerance:
        return self.columns.get(column, self.default)

    @property
    def is_exact(self) -> bool:
        return self.default.is_exact and all(each.is_exact for each in self.columns.values())


def by_position(actual: pa.Table, expected: pa.Table, tolerance: Tolerances) -> Differences:
    """Compares rows at equal positions."""
    actual, expected = _comparable(actual), _comparable(expected)
    count = min(actual.num_rows, expected.num_rows)
    positions = np.arange(count)
    changed = _changed(actual, expected, positions, positions, tolerance)
    return Differences(changed, range(count, expected.num_rows), range(count, actual.num_rows))


def by_key(actual: pa.Table, expected: pa.Table, key: Sequence[str], tolerance: Tolerances) -> Differences:
    """Compares rows of equal keys.

    raises: InvalidArgument when two rows of one table have the same key
    """
    for name in key:
        keys.check(name, expected.schema.field(name).type)
    numbers = keys.numbered([keys.columns_of(table, key) for table in (actual, expected)], nulls_are_equal=True)
    for table, own, title in zip((actual, expected), numbers, ("actual", "expected"), strict=True):
        again = keys.repeated(own)
        if len(again):
            shown = ", ".join(f"{column}={table[column][int(again[0])]}" for column in key)
            raise InvalidArgument(f"Two rows of the {title} table have the key {shown}: give columns that are unique")
    pairs = keys.pairs(*numbers)
    missing, unexpected = (
        np.delete(np.arange(table.num_rows), at).tolist()
        for table, at in zip((expected, actual), reversed(pairs), strict=True)
    )
    return Differences(_changed(_comparable(actual), _comparable(expected), *pairs, tolerance), missing, unexpected)


def as_sets(actual: pa.Table, expected: pa.Table, tolerance: Tolerances) -> Differences:
    """Compares the rows in any order; duplicate rows must occur equally often."""
    actual, expected = _comparable(actual), _comparable(expected)
    mine, theirs = _order(actual, tolerance), _order(expected, tolerance)
    if actual.num_rows == expected.num_rows and not _changed(actual, expected, mine, theirs, tolerance):
        return Differences((), (), ())
    left: dict[Hashable, list[int]] = {}
    for position, row in enumerate(_rows(actual)):
        left.setdefault(row, []).append(position)
    missing = []
    for position, row in enumerate(_rows(expected)):
        positions = left.get(row)
        if positions:
            positions.pop()
        else:
            missing.append(position)
    unexpected = sorted(position for positions in left.values() for position in positions)
    if tolerance.is_exact:
        return Differences((), missing, unexpected)
    return _without_close(actual, expected, unexpected, missing, tolerance)


def equal_values(actual: Any, expected: Any, tolerance: Tolerance = EXACT) -> bool:
    """Whether two values of `comparable` are equal; NaN equals NaN."""
    if isinstance(actual, float) and isinstance(expected, float):
        if not (math.isfinite(actual) and math.isfinite(expected)):
            # an infinity is infinitely far from every other number
            return actual == expected or (math.isnan(actual) and math.isnan(expected))
        return actual == expected or abs(actual - expected) <= tolerance.atol + tolerance.rtol * abs(expected)
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        return len(actual) == len(expected) and all(map(equal_values, actual, expected, [tolerance] * len(actual)))
    if isinstance(actual, dict) and isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(
            equal_values(actual[name], expected[name], tolerance) for name in actual
        )
    return type(actual) is type(expected) and bool(actual == expected)


def _comparable(table: pa.Table) -> pa.Table:
    return pa.table([comparable(column) for column in table.columns], table.column_names)


def _without_close(
    actual: pa.Table, expected: pa.Table, unexpected: list[int], missing: list[int], tolerance: Tolerances
) -> Differences:
    """Returns the differences without rows that match one of the other table within the tolerance."""
    mine, theirs = actual.take(unexpected).to_pylist(), expected.take(missing).to_pylist()
    left = list(range(len(mine)))
    unmatched = []
    for position, row in zip(missing, theirs, strict=True):
        match = next((i for i in left if _is_close(mine[i], row, tolerance)), None)
        if match is None:
            unmatched.append(position)
        else:
            left.remove(match)
    return Differences((), unmatched, [unexpected[i] for i in left])


def _is_close(mine: Mapping[str, Any], theirs: Mapping[str, Any], tolerance: Tolerances) -> bool:
    return all(equal_values(mine[name], theirs[name], tolerance.of(name)) for name in theirs)


def _rows(table: pa.Table) -> Iterator[Hashable]:
    columns = [[hashable(value) for value in column.to_pylist()] for column in table.columns]
    return iter(zip(*columns, strict=True)) if columns else iter([()] * table.num_rows)


def _order(table: pa.Table, tolerance: Tolerances) -> Positions:
    """Returns the positions of the rows in an order by their values; with a tolerance, floats are compared last."""
    columns = [(str(number), _sortable(column)) for number, column in enumerate(table.columns)]
    if not tolerance.is_exact:
        columns.sort(key=lambda column: pa.types.is_floating(column[1].type))
    if not columns:
        return np.arange(table.num_rows)
    keys = [(name, "ascending") for name, _ in columns]
    indices = pc.sort_indices(pa.table(dict(columns)), keys)
    positions: Positions = indices.to_numpy().astype(np.int64)
    return positions


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type) or pa.types.is_interval(column.type):
        return pa.chunked_array([pa.array(map(repr, column.to_pylist()), pa.large_string())])
    return column


def _changed(
    actual: pa.Table, expected: pa.Table, mine: Positions, theirs: Positions, tolerance: Tolerances
) -> list[tuple[int, int, tuple[str, ...]]]:
    """Returns the pairs of rows that differ, with the differing columns."""
    columns: dict[int, list[str]] = {}
    for name in expected.column_names:
        ours, wanted = (table[name].take(pa.array(rows)) for table, rows in ((actual, mine), (expected, theirs)))
        for pair in _differing(ours, wanted, tolerance.of(name)).tolist():
            columns.setdefault(pair, []).append(name)
    return [(int(mine[pair]), int(theirs[pair]), tuple(columns[pair])) for pair in sorted(columns)]


def _differing(actual: pa.ChunkedArray, expected: pa.ChunkedArray, tolerance: Tolerance) -> Positions:
    if actual.equals(expected):
        return np.empty(0, np.int64)
    pairs = zip(actual.to_pylist(), expected.to_pylist(), strict=True)
    return np.array(
        [i for i, (ours, wanted) in enumerate(pairs) if not equal_values(ours, wanted, tolerance)], np.int64
    )
