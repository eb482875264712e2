"""Which rows of two tables differ, and where."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_sql.errors import InvalidArgument

Positions: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tolerance:
    """How far floats may be apart: |actual - expected| <= atol + rtol * |expected|."""

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not value >= 0:
                raise InvalidArgument(f"{name} is {value}; it must be at least 0")

    @property
    def is_exact(self) -> bool:
        return self.rtol == 0.0 == self.atol


@dataclass(frozen=True)
class Differences:
    """Rows by their positions in both tables.

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
        """Rows of either table that differ."""
        return len(self.changed) + len(self.missing) + len(self.unexpected)

    @property
    def columns(self) -> list[str]:
        """The columns in which rows differ that both tables have."""
        return list(dict.fromkeys(name for _, _, names in self.changed for name in names))


def by_position(actual: pa.Table, expected: pa.Table, tolerance: Tolerance) -> Differences:
    """Compares the first rows, the second ones, and so on."""
    count = min(actual.num_rows, expected.num_rows)
    places = np.arange(count)
    changed = _changed(actual, expected, places, places, tolerance)
    return Differences(changed, range(count, expected.num_rows), range(count, actual.num_rows))


def by_key(actual: pa.Table, expected: pa.Table, key: Sequence[str], tolerance: Tolerance) -> Differences:
    """Compares rows of equal keys.

    raises: InvalidArgument when two rows of one table have the same key
    """
    mine, theirs = (_by_key(table, key, name) for table, name in ((actual, "actual"), (expected, "expected")))
    common = [each for each in theirs if each in mine]
    pairs = np.array([mine[each] for each in common], np.int64), np.array([theirs[each] for each in common], np.int64)
    return Differences(
        _changed(actual, expected, *pairs, tolerance),
        [place for each, place in theirs.items() if each not in mine],
        [place for each, place in mine.items() if each not in theirs],
    )


def as_sets(actual: pa.Table, expected: pa.Table, tolerance: Tolerance) -> Differences:
    """Compares the rows in any order; rows that are there several times are to be there as often."""
    mine, theirs = _order(actual, tolerance), _order(expected, tolerance)
    if actual.num_rows == expected.num_rows and not _changed(actual, expected, mine, theirs, tolerance):
        return Differences((), (), ())
    left: dict[Hashable, list[int]] = {}
    for place, row in enumerate(_rows(actual)):
        left.setdefault(row, []).append(place)
    missing = []
    for place, row in enumerate(_rows(expected)):
        places = left.get(row)
        if places:
            places.pop()
        else:
            missing.append(place)
    unexpected = sorted(place for places in left.values() for place in places)
    if tolerance.is_exact:
        return Differences((), missing, unexpected)
    return _without_close(actual, expected, unexpected, missing, tolerance)


def _without_close(
    actual: pa.Table, expected: pa.Table, unexpected: list[int], missing: list[int], tolerance: Tolerance
) -> Differences:
    """Without rows for which the other table has one within the tolerance."""
    mine, theirs = actual.take(unexpected).to_pylist(), expected.take(missing).to_pylist()
    kept = list(range(len(mine)))
    not_found = []
    for place, row in zip(missing, theirs, strict=True):
        match = next((i for i in kept if all(_equal(mine[i][name], row[name], tolerance) for name in row)), None)
        if match is None:
            not_found.append(place)
        else:
            kept.remove(match)
    return Differences((), not_found, [unexpected[i] for i in kept])


def _by_key(table: pa.Table, key: Sequence[str], name: str) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for place, row in enumerate(_rows(table.select(list(key)))):
        if row in found:
            shown = ", ".join(f"{column}={table[column][place].as_py()!r}" for column in key)
            raise InvalidArgument(f"Two rows of the {name} table have the key {shown}: give columns that are unique")
        found[row] = place
    return found


def _rows(table: pa.Table) -> Iterator[Hashable]:
    columns = [[_hashable(value) for value in column.to_pylist()] for column in table.columns]
    return iter(zip(*columns, strict=True)) if columns else iter([()] * table.num_rows)


def _hashable(value: Any) -> Hashable:
    if isinstance(value, float):
        # NaN is equal to itself, and -0.0 to 0.0
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((name, _hashable(each)) for name, each in value.items())
    known: Hashable = value
    return known


def _order(table: pa.Table, tolerance: Tolerance) -> Positions:
    """Positions of the rows in an order that depends on their values only; floats count last where they may differ."""
    columns = [(str(number), _sortable(column)) for number, column in enumerate(table.columns)]
    if not tolerance.is_exact:
        columns.sort(key=lambda column: pa.types.is_floating(column[1].type))
    if not columns:
        return np.arange(table.num_rows)
    keys = [(name, "ascending") for name, _ in columns]
    indices = pc.sort_indices(pa.table(dict(columns)), keys)
    found: Positions = indices.to_numpy().astype(np.int64)
    return found


def _sortable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type) or pa.types.is_interval(column.type):
        return pa.chunked_array([pa.array(map(repr, column.to_pylist()), pa.large_string())])
    return column.cast(pa.int64()) if pa.types.is_duration(column.type) else column


def _changed(
    actual: pa.Table, expected: pa.Table, mine: Positions, theirs: Positions, tolerance: Tolerance
) -> list[tuple[int, int, tuple[str, ...]]]:
    """The pairs of rows that differ, with the columns where they do."""
    found: dict[int, list[str]] = {}
    for name in expected.column_names:
        ours, wanted = (table[name].take(pa.array(places)) for table, places in ((actual, mine), (expected, theirs)))
        for place in _differing(ours, wanted, tolerance).tolist():
            found.setdefault(place, []).append(name)
    return [(int(mine[place]), int(theirs[place]), tuple(found[place])) for place in sorted(found)]


def _differing(actual: pa.ChunkedArray, expected: pa.ChunkedArray, tolerance: Tolerance) -> Positions:
    if actual.equals(expected):
        return np.empty(0, np.int64)
    pairs = zip(actual.to_pylist(), expected.to_pylist(), strict=True)
    return np.array([i for i, (ours, wanted) in enumerate(pairs) if not _equal(ours, wanted, tolerance)], np.int64)


def _equal(actual: Any, expected: Any, tolerance: Tolerance) -> bool:
    if isinstance(actual, float) and isinstance(expected, float):
        if math.isnan(actual) or math.isnan(expected):
            return math.isnan(actual) and math.isnan(expected)
        return actual == expected or abs(actual - expected) <= tolerance.atol + tolerance.rtol * abs(expected)
    if isinstance(actual, list) and isinstance(expected, list):
        return len(actual) == len(expected) and all(map(_equal, actual, expected, [tolerance] * len(actual)))
    if isinstance(actual, dict) and isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(
            _equal(actual[name], expected[name], tolerance) for name in actual
        )
    if isinstance(actual, Decimal) and isinstance(expected, Decimal):
        return actual == expected
    return type(actual) is type(expected) and bool(actual == expected)
