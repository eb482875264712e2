"""Pairs of equal rows, for tables without a key: as many as there are on both sides.

Rows are equal by the rules of their columns. With a tolerance, rows that are equal in all other columns form a group:

    exact      rows of a group with equal floats
    sorted     the rest in the order of the floats, the first with the first, the second with the second
    first fit  the rest: each expected row with the first one that is close in all columns
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.health.differences.column_rule import ColumnRule
from lance_sql.health.differences.pairing import UniqueKey
from lance_sql.runtime.cached_property import cached_property
from lance_sql.values import keys, selection
from lance_sql.values.arrays import I64, BoolMask


@dataclass(frozen=True)
class RuledKey(UniqueKey):
    """Pairs rows with keys that are equal by the rules of their columns.

    rules: by column
    """

    rules: Mapping[str, ColumnRule] = field(default_factory=dict)

    def keys(self, rows: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        return _normalized(rows, self.columns, self.rules)


@dataclass(frozen=True)
class EqualRows:
    """Pairs rows that are equal by the rules of all columns.

    rules: by column
    """

    rules: Mapping[str, ColumnRule]
    pairs_may_differ: ClassVar[bool] = False

    @cached_property
    def _near(self) -> list[str]:
        """Columns with a tolerance."""
        return [name for name, rule in self.rules.items() if rule.has_tolerance]

    def keys(self, rows: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        return _normalized(rows, [name for name in self.rules if name not in self._near], self.rules)

    def pairs(self, before: pa.Table, after: pa.Table) -> tuple[I64, I64]:
        """
        before: the expected rows
        """
        tables = (before, after)
        left, right = self._numbered(tables, list(self.rules))
        pairs = [keys.pairs_once(left, right)]
        if self._near:
            rest = [np.delete(np.arange(table.num_rows), at) for table, at in zip(tables, pairs[0], strict=True)]
            groups = self._numbered(tables, [name for name in self.rules if name not in self._near])
            pairs.append(self._close_in_order(tables, groups, rest))
            rest = [np.setdiff1d(each, at) for each, at in zip(rest, pairs[1], strict=True)]
            pairs.append(self._first_fits(tables, groups, rest))
        at_before, at_after = (np.concatenate(each) for each in zip(*pairs, strict=True))
        return at_before, at_after

    def _numbered(self, tables: tuple[pa.Table, pa.Table], names: list[str]) -> list[I64]:
        if not names:
            return [np.zeros(table.num_rows, np.int64) for table in tables]
        return keys.numbered([_normalized(table, names, self.rules) for table in tables], nulls_are_equal=True)

    def _close_in_order(self, tables: _Tables, groups: list[I64], rest: list[I64]) -> tuple[I64, I64]:
        """Pairs rows of a group in the order of their floats, if they are close."""
        sides = []
        for table, group, rows in zip(tables, groups, rest, strict=True):
            floats = [_floats(table, name, rows) for name in self._near]
            order = np.lexsort([*reversed(floats), group[rows]])
            sides.append((rows[order], group[rows][order]))
        (mine, left), (theirs, right) = sides
        at_mine, at_theirs = keys.pairs_once(left, right)
        at_mine, at_theirs = mine[at_mine], theirs[at_theirs]
        close = self._are_close(tables, at_mine, at_theirs)
        return at_mine[close], at_theirs[close]

    def _first_fits(self, tables: _Tables, groups: list[I64], rest: list[I64]) -> tuple[I64, I64]:
        """Pairs rows of a group, in the order of their first floats, each with the first one that is close."""
        (expected, actual), rule = rest, self.rules[self._near[0]]
        wanted, ours = (
            _floats(table, self._near[0], rows) for table, rows in zip(tables, (expected, actual), strict=True)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            margin = np.where(np.isfinite(wanted), (rule.atol + rule.rtol * np.abs(wanted)) * (1 + 1e-9), 0.0)
        # candidates of a row lie between its bounds, by group and float
        kinds = np.repeat([0, 1, 2], [len(expected), len(actual), len(expected)])
        values = np.concatenate((wanted - margin, ours, wanted + margin))
        in_groups = np.concatenate((groups[0][expected], groups[1][actual], groups[0][expected]))
        order = np.lexsort((kinds, values, in_groups))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.cumsum(kinds[order] == 1)
        starts, ends = rank[: len(expected)], rank[len(rank) - len(expected) :]
        candidates, is_free = actual[order[kinds[order] == 1] - len(expected)], np.ones(len(actual), np.bool_)
        pairs: list[tuple[int, int]] = []
        with_candidates = np.flatnonzero(ends > starts)
        for number in with_candidates[np.argsort(starts[with_candidates], kind="stable")].tolist():
            free = starts[number] + np.flatnonzero(is_free[starts[number] : ends[number]])
            row = int(expected[number])
            close = np.flatnonzero(self._are_close(tables, np.full(len(free), row), candidates[free]))
            if len(close):
                is_free[free[close[0]]] = False
                pairs.append((row, int(candidates[free[close[0]]])))
        at = np.array(pairs, np.int64).reshape(-1, 2)
        return at[:, 0], at[:, 1]

    def _are_close(self, tables: _Tables, at_before: I64, at_after: I64) -> BoolMask:
        close: BoolMask = np.ones(len(at_before), np.bool_)
        for name in self._near:
            columns = (table[name].take(pa.array(at)) for table, at in zip(tables, (at_before, at_after), strict=True))
            close &= self.rules[name].same(*map(selection.whole, columns))
        return close


def _normalized(
    rows: pa.RecordBatch | pa.Table, names: Sequence[str], rules: Mapping[str, ColumnRule]
) -> list[pa.Array]:
    return keys.columns_of(pa.table([rules[name].normalized(rows.column(name)) for name in names], list(names)))


_Tables: TypeAlias = tuple[pa.Table, pa.Table]


def _floats(table: pa.Table, name: str, rows: I64) -> npt.NDArray[np.float64]:
    """Returns floats of some rows, NaN for NULL; zeros for nested values, which have no order."""
    column = table[name].take(pa.array(rows))
    if not pa.types.is_floating(column.type):
        return np.zeros(len(rows))
    return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
