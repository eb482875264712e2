"""Comparison of the rows of two tables, which can be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lance_sql.health.differences.compared_columns import ColumnRule, SharedColumns
from lance_sql.health.differences.differing_rows import RowDifferences
from lance_sql.health.differences.matching import EqualRows, RuledKey
from lance_sql.health.differences.pairing import pair, pair_in_order
from lance_sql.testing.tables import POSITION, AssertedRows
from lance_sql.values import keys


@dataclass(frozen=True)
class Comparison:
    """Comparison of two tables with the same columns.

    rules: by column
    key: columns that identify rows; if empty, rows are compared in any order, as often as they occur
    in_order: without a key, compare rows at equal positions
    """

    expected: AssertedRows
    actual: AssertedRows
    rules: Mapping[str, ColumnRule]
    key: tuple[str, ...] = ()
    in_order: bool = False

    def differences(self, max_rows: int) -> RowDifferences:
        """Reads both tables. Missing rows count as deleted, unexpected ones as inserted.

        max_rows: the maximum number of missing, unexpected and updated rows in the result; all are counted
        raises: RepeatedKey when two rows of one table have the same key; InvalidArgument for a column that is no key
        """
        schema = self.expected.schema
        for name in self.key:
            is_json = name in self.expected.json or name in self.actual.json
            keys.check(name, schema.field(name).type, is_json=is_json)
        shared = SharedColumns(
            {name: name for name in schema.names}, dict(zip(schema.names, schema.types, strict=True)), ()
        )
        comparisons = {name: rule.same for name, rule in self.rules.items()}
        differences = RowDifferences(shared, self.key, max_rows, comparisons, POSITION)
        readers = self.expected.reader(), self.actual.reader()
        if self.in_order and not self.key:
            meetings = pair_in_order(*readers)
        else:
            by_key = RuledKey(self.key, ("the expected table", "the actual table"), self.rules)
            meetings = pair(*readers, by_key if self.key else EqualRows(self.rules))
        differences.add(meetings, counts_rewritten=False)
        return differences
